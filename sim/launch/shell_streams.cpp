// Texts that a script reads and edits: files in its folder, here-documents that it wrote, and the output of sed.
#include <algorithm>
#include <sstream>

#include "engine/base/text.hpp"
#include "sim/launch/shell_state.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

// Represents "s/FROM/TO/g"; FROM is plain text, not a pattern.
struct Replacement {
  std::string from, to;
  bool replaces_all = false;
};

std::optional<Replacement> replacement_of(const std::string& expression) {
  if (expression.size() < 4 || expression[0] != 's') return std::nullopt;
  const char delimiter = expression[1];
  std::vector<std::string> parts{""};
  for (std::size_t i = 2; i < expression.size(); ++i) {
    if (expression[i] == '\\' && i + 1 < expression.size() && expression[i + 1] == delimiter)
      parts.back() += expression[++i];
    else if (expression[i] == delimiter && parts.size() < 3)
      parts.emplace_back();
    else
      parts.back() += expression[i];
  }
  const bool is_literal = parts[0].find_first_of("*[]^$\\+?|") == std::string::npos && !parts[0].empty();
  if (parts.size() != 3 || !is_literal || parts[1].find_first_of("\\&") != std::string::npos) return std::nullopt;
  if (!parts[2].empty() && parts[2] != "g") return std::nullopt;
  return Replacement{parts[0], parts[1], parts[2] == "g"};
}

// Whether the text has the pattern at `at`; "." stands for any character of the line.
bool is_at(const std::string& text, std::size_t at, const std::string& pattern) {
  if (text.size() - at < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] == '.' ? text[at + i] == '\n' : text[at + i] != pattern[i]) return false;
  return true;
}

// Like sed, replaces line by line: the first occurrence in each line, or all.
std::string replaced(const std::string& text, const Replacement& replacement) {
  std::string result;
  bool is_done = false;  // in this line
  for (std::size_t i = 0; i < text.size();) {
    if (!is_done && is_at(text, i, replacement.from)) {
      result += replacement.to;
      i += replacement.from.size();
      is_done = !replacement.replaces_all;
      continue;
    }
    if (text[i] == '\n') is_done = false;
    result += text[i++];
  }
  return result;
}

constexpr std::size_t kLongestText = 1 << 20;

void apply_replacement(Word& text, const Word& expression) {
  const auto replacement = replacement_of(expression.text);
  if (!replacement) {
    text.add_unknown("sed " + one_line(expression.text));
    return;
  }
  text.text = replaced(text.text, *replacement);
  if (text.text.size() > kLongestText) text = {"", "sed", text.place};
  if (text.text.find(replacement->to) != std::string::npos) text.add_unknown(expression.unknown);
}

}  // namespace

std::optional<Word> ShellState::file_text(const Word& path) const {
  for (const std::string& name :
       {path.text, path.text.compare(0, 2, "./") == 0 ? path.text.substr(2) : "./" + path.text}) {
    const auto written = script_.written_files.find(name);
    if (written != script_.written_files.end()) return written->second;
  }
  if (!surroundings_.read_file || path.text.empty()) return std::nullopt;
  std::vector<std::string> paths{path.text};
  if (path.text.front() != '/') {
    for (const std::string& folder : script_.folders) paths.push_back(folder + "/" + path.text);
    if (!folder_.empty()) paths.insert(paths.begin(), folder_ + "/" + path.text);
  }
  for (const std::string& one : paths) {
    const auto text = surroundings_.read_file(one);
    if (!text || text->size() > kLongestText) continue;
    return Word{*text, "", {path.text, 1}};
  }
  return std::nullopt;
}

void ShellState::add_folder(const std::string& folder) {
  constexpr std::size_t kMostFolders = 32;
  std::vector<std::string>& all = script_.folders;
  if (!folder.empty() && all.size() < kMostFolders && std::find(all.begin(), all.end(), folder) == all.end())
    all.push_back(folder);
}

void ShellState::change_folder(const ShellCommand& command, bool is_sure) {
  const std::string& name = command.words.front().text;
  if (name == "popd") {
    folder_ = is_sure && !left_folders_.empty() ? left_folders_.back() : "";
    if (!left_folders_.empty()) left_folders_.pop_back();
    variables_.values["PWD"] = {{folder_.empty() ? "." : folder_, "", command.place}};
    return;
  }
  if (name == "pushd" && left_folders_.size() < 1000) left_folders_.push_back(folder_);
  const Word target = command.words.size() > 1 ? command.words.back() : Word{"", "~", command.place};
  if (!target.unknown.empty() || target.text == "-") {
    folder_.clear();
    return;
  }
  const std::string joined = folder_.empty() || target.text[0] == '/' ? target.text : folder_ + "/" + target.text;
  add_folder(joined);
  add_folder(target.text);  // what "pwd" gave is from the working directory
  if (!is_sure) return;
  folder_ = joined;
  variables_.values["PWD"] = {{folder_, "", command.place}};
}

void ShellState::add_python_folders(const Word& path) {
  std::istringstream parts(path.text);
  for (std::string part; std::getline(parts, part, ':');)
    if (part.find('$') == std::string::npos) add_folder(part);
}

void ShellState::write_text(const std::string& path, Word content, bool appends, bool is_conditional) {
  const std::optional<Word> before = file_text({path, "", content.place});
  if (appends && before) {
    content.text = before->text + content.text;
    content.add_unknown(before->unknown);
  }
  variables_.charge(content.text.size(), content.place);
  if (content.text.size() > kLongestText) content = {"", "a text of more than 1 MiB", content.place};
  // If an unknown test decides between two texts for a file, the file's text is unknown.
  if (is_conditional && before && before->text != content.text) content.add_unknown("which of its texts is written");
  script_.written_files[path] = std::move(content);
}

bool ShellState::run_file_command(const ShellCommand& command, const std::optional<Word>& input,
                                  std::optional<Word>& output) {
  const std::string& name = command.words.front().text;
  std::vector<Word> files;
  std::string letters;  // of the options
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    if (word.text.size() > 1 && word.text[0] == '-')
      letters += word.text;
    else
      files.push_back(word);
  }
  if (name == "tee") {
    const Word text = input.value_or(Word{"", "the output of a program", command.place});
    for (const Word& file : files)
      write_text(file.text, text, letters.find('a') != std::string::npos, command.is_conditional);
    output = input;
    return true;
  }
  if (is_among(name, {"perl", "yq", "awk", "gawk", "ruby"}) && letters.find('i') != std::string::npos) {
    for (const Word& file : files)
      if (const auto text = file_text(file)) {
        Word edited = *text;
        edited.add_unknown("the edit of " + name);
        write_text(file.text, edited, false, false);
      }
    return true;
  }
  if ((name != "cp" && name != "mv") || files.size() < 2) return false;
  const Word target = files.back();
  files.pop_back();
  for (const Word& file : files) {
    const std::string inside = target.text + (target.text.back() == '/' ? "" : "/") + last_part_of(file.text);
    const std::optional<Word> text = file_text(file);
    const Word copy = text.value_or(Word{"", "the text of " + file.text, command.place});
    const bool may_be_folder = last_part_of(target.text).find('.') == std::string::npos || files.size() > 1;
    const bool may_be_file = target.text.back() != '/' && files.size() == 1;
    for (const std::string& path : {may_be_file ? target.text : "", may_be_folder ? inside : ""})
      if (!path.empty() && (text || file_text({path, "", command.place})))
        write_text(path, copy, false, command.is_conditional);
    if (name == "mv" && !command.is_conditional) script_.written_files.erase(file.text);
  }
  return true;
}

std::optional<Word> ShellState::edit_text(const ShellCommand& command, const std::optional<Word>& input,
                                          const std::string& target, bool appends) {
  std::vector<Word> expressions, files;
  const bool is_sed = command.words.front().text == "sed";
  bool is_in_place = false, is_known = true;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    const bool is_option = word.text.size() > 1 && word.text[0] == '-';
    if (!is_option) {
      (is_sed && expressions.empty() ? expressions : files).push_back(word);
    } else if (is_sed && (word.text.compare(0, 2, "-i") == 0 || word.text.compare(0, 10, "--in-place") == 0)) {
      is_in_place = true;
    } else if (is_sed && (word.text == "-e" || word.text == "--expression") && i + 1 < command.words.size()) {
      expressions.push_back(command.words[++i]);
    } else if (is_sed && word.text != "--") {
      is_known = false;  // such as -n
    }
  }
  const auto edit = [&](Word& text) {
    if (!is_known) text.add_unknown("sed with options");
    for (const Word& expression : expressions) apply_replacement(text, expression);
  };
  if (is_in_place) {
    for (const Word& file : files) {
      Word text = file_text(file).value_or(Word{"", "the text of " + file.text, command.place});
      edit(text);
      write_text(file.text, std::move(text), false, command.is_conditional);
    }
    return Word{"", "", command.place};
  }
  std::optional<Word> text = files.empty() ? input : Word{"", "", command.place};
  for (const Word& file : files) {
    const auto content = file.text == "-" ? input : file_text(file);
    if (text && content && text->text.empty() && text->unknown.empty()) {
      text = content;
    } else if (text && content) {
      text->text += content->text;
      text->add_unknown(content->unknown);
    } else {
      text.reset();
    }
  }
  if (text) edit(*text);
  if (!target.empty())
    write_text(expand_to_one(target, variables_, command.place).text,
               text.value_or(Word{"", "the output of " + command.words.front().text, command.place}), appends,
               command.is_conditional);
  return text;
}

}  // namespace lockstep::sim::launch
