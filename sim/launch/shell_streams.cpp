// Texts that a script reads and edits: files in its folder, here-documents that it wrote, and the output of sed.
#include <algorithm>
#include <sstream>

#include "engine/base/text.hpp"
#include "sim/launch/shell_state.hpp"

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

// Like sed, replaces line by line: the first occurrence in each line, or all.
std::string replaced(const std::string& text, const Replacement& replacement) {
  std::string result;
  bool is_done = false;  // in this line
  for (std::size_t i = 0; i < text.size();) {
    if (!is_done && text.compare(i, replacement.from.size(), replacement.from) == 0) {
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

void ShellState::name_folder(const std::string& folder) {
  constexpr std::size_t kMostFolders = 32;
  std::vector<std::string>& all = script_.folders;
  if (!folder.empty() && all.size() < kMostFolders && std::find(all.begin(), all.end(), folder) == all.end())
    all.push_back(folder);
}

void ShellState::change_folder(const ShellCommand& command, bool is_sure) {
  const Word target = command.words.size() > 1 ? command.words.back() : Word{"", "~", command.place};
  if (!target.unknown.empty() || target.text == "-") {
    folder_.clear();
    return;
  }
  const std::string joined = folder_.empty() || target.text[0] == '/' ? target.text : folder_ + "/" + target.text;
  name_folder(joined);
  name_folder(target.text);  // what "pwd" gave is from the working directory
  if (!is_sure) return;
  folder_ = joined;
  variables_.values["PWD"] = {{folder_, "", command.place}};
}

void ShellState::name_python_folders(const Word& path) {
  std::istringstream parts(path.text);
  for (std::string part; std::getline(parts, part, ':');)
    if (part.find('$') == std::string::npos) name_folder(part);
}

std::optional<Word> ShellState::edit_text(const ShellCommand& command, const std::optional<Word>& input,
                                          const std::string& target) {
  std::vector<Word> expressions, files;
  bool is_in_place = false, is_sed = command.words.front().text == "sed";
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    if (word.text.compare(0, 2, "-i") == 0) {
      is_in_place = true;
    } else if (word.text == "-e" && i + 1 < command.words.size()) {
      expressions.push_back(command.words[++i]);
    } else if (word.text.empty() || word.text[0] != '-') {
      const bool is_expression = is_sed && expressions.empty() && word.text.compare(0, 1, "s") == 0 && files.empty() &&
                                 word.text.find('.') != 1;
      (is_expression ? expressions : files).push_back(word);
    }
  }
  std::optional<Word> text = files.empty() ? input : std::nullopt;
  for (const Word& file : files) {
    const auto content = file_text(file);
    if (!content) return std::nullopt;
    if (!text)
      text = content;
    else
      text->text += content->text;
  }
  if (!text) return std::nullopt;
  for (const Word& expression : expressions) apply_replacement(*text, expression);
  if (is_in_place && !files.empty()) script_.written_files[files.front().text] = *text;
  if (!target.empty()) script_.written_files[expand_to_one(target, variables_, command.place).text] = *text;
  return text;
}

}  // namespace lockstep::sim::launch
