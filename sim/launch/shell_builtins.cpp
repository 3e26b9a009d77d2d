// Commands whose effect or output is computed without running them: read, printf, arithmetic, and filters of texts.
#include <algorithm>
#include <sstream>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/shell_state.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr std::int64_t kMostNumbers = 4096;  // of seq

// Names and options of "read -r -d '' -n 8 -a NAME" and "mapfile -t -n 2 -s 1 -O 1 -d , NAME".
struct ReadOptions {
  std::optional<std::string> delimiter;               // empty: the whole text
  std::optional<std::int64_t> most, skipped, origin;  // characters of read, lines of mapfile
  bool is_array = false, is_exact = false, strips = false;
  bool is_known = true;  // every number is one
  std::vector<std::string> names;
};

bool is_mapfile(const ShellCommand& command) {
  return command.words.front().text != "read";
}

ReadOptions options_of_read(const ShellCommand& command) {
  ReadOptions options;
  const bool reads_lines = is_mapfile(command);
  const std::string valued = reads_lines ? "dnsOucC" : "adiNnptu";
  const auto number = [&](const std::string& text) {
    const std::optional<std::int64_t> value = is_count(text) ? std::optional(std::stoll(text)) : std::nullopt;
    options.is_known = options.is_known && value.has_value();
    return value;
  };
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text;
    if (word.size() < 2 || word[0] != '-') {
      options.names.push_back(word);
      continue;
    }
    for (std::size_t k = 1; k < word.size(); ++k) {
      if (word[k] == 't' && reads_lines) options.strips = true;
      if (valued.find(word[k]) == std::string::npos) continue;
      const char option = word[k];
      const bool is_last = k + 1 == word.size();
      const std::string value = !is_last                       ? word.substr(k + 1)
                                : i + 1 < command.words.size() ? command.words[++i].text
                                                               : "";
      if (option == 'd') options.delimiter = value.substr(0, 1);
      if (option == 'a') options.is_array = true;
      if (option == 'a') options.names.push_back(value);
      if (option == 'n' || option == 'N') options.most = number(value);
      if (option == 'N') options.is_exact = true;
      if (option == 's' && reads_lines) options.skipped = number(value);
      if (option == 'O' && reads_lines) options.origin = number(value);
      break;
    }
  }
  if (options.names.empty()) options.names = {reads_lines ? "MAPFILE" : "REPLY"};
  return options;
}

// Splits a text as the shell does: blanks around fields do not count, other separators do. At most `most` fields; the
// last one has the rest.
std::vector<std::string> fields_of(const std::string& text, const std::string& separators, std::size_t most) {
  const auto is_in = [&](char c, const std::string& set) { return set.find(c) != std::string::npos; };
  const auto is_blank = [&](char c) { return is_in(c, " \t\n") && is_in(c, separators); };
  std::vector<std::string> fields;
  std::size_t i = 0;
  while (i < text.size() && is_blank(text[i])) ++i;
  while (i < text.size()) {
    if (fields.size() + 1 == most) {
      std::size_t end = text.size();
      while (end > i && is_blank(text[end - 1])) --end;
      fields.push_back(text.substr(i, end - i));
      return fields;
    }
    const std::size_t begin = i;
    while (i < text.size() && !is_in(text[i], separators)) ++i;
    fields.push_back(text.substr(begin, i - begin));
    while (i < text.size() && is_blank(text[i])) ++i;
    if (i < text.size() && is_in(text[i], separators)) ++i;
    while (i < text.size() && is_blank(text[i])) ++i;
  }
  return fields;
}

std::string with_escapes(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size();
    const std::size_t which = is_escape ? std::string("nt\\").find(text[i + 1]) : std::string::npos;
    result += which == std::string::npos ? text[i] : "\n\t\\"[which];
    if (which != std::string::npos) ++i;
  }
  return result;
}

std::string joined_words(const ShellCommand& command, std::size_t first, Word& result) {
  std::string text;
  for (std::size_t i = first; i < command.words.size(); ++i) {
    text += (i > first ? " " : "") + command.words[i].text;
    result.add_unknown(command.words[i].unknown);
  }
  return text;
}

// "seq 4", "seq 0 3", "seq 0 2 8".
std::optional<std::string> sequence_text(const ShellCommand& command) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    if (!is_count(command.words[i].text)) return std::nullopt;
    numbers.push_back(std::stoll(command.words[i].text));
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const std::int64_t first = numbers.size() > 1 ? numbers.front() : 1, step = numbers.size() > 2 ? numbers[1] : 1;
  if (step < 1 || (numbers.back() - first) / step > kMostNumbers) return std::nullopt;
  std::string text;
  for (std::int64_t n = first; n <= numbers.back(); n += step) text += std::to_string(n) + "\n";
  return text;
}

// Returns the value of an option: "," for "-d," and "-d ,".
std::optional<std::string> option_value(const ShellCommand& command, const std::string& option) {
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text;
    if (word == option && i + 1 < command.words.size()) return command.words[i + 1].text;
    if (word.size() > option.size() && word.compare(0, option.size(), option) == 0) return word.substr(option.size());
  }
  return std::nullopt;
}

std::optional<std::string> cut_text(const ShellCommand& command, const std::string& input) {
  const std::string delimiter = option_value(command, "-d").value_or("\t"),
                    field = option_value(command, "-f").value_or("");
  if (delimiter.size() != 1 || !is_count(field) || field == "0") return std::nullopt;
  const std::size_t index = static_cast<std::size_t>(std::stoll(field)) - 1;
  std::string text;
  for (const std::string& line : lines_in(input)) {
    std::vector<std::string> parts{""};
    for (const char c : line)
      if (c == delimiter[0])
        parts.emplace_back();
      else
        parts.back() += c;
    text += (parts.size() == 1 ? line : index < parts.size() ? parts[index] : "") + "\n";
  }
  return text;
}

std::optional<std::string> translated_text(const ShellCommand& command, const std::string& input) {
  if (command.words.size() != 3) return std::nullopt;
  const bool deletes = command.words[1].text == "-d";
  const std::string from = with_escapes(command.words[deletes ? 2 : 1].text), to = with_escapes(command.words[2].text);
  if (from.size() != 1 || (!deletes && to.size() != 1)) return std::nullopt;
  std::string text = input;
  if (deletes)
    text.erase(std::remove(text.begin(), text.end(), from[0]), text.end());
  else
    std::replace(text.begin(), text.end(), from[0], to[0]);
  return text;
}

// "head -n 1", "tail -1".
std::optional<std::string> end_lines(const ShellCommand& command, const std::string& input) {
  std::string count = option_value(command, "-n").value_or("");
  if (count.empty() && command.words.size() == 2 && command.words[1].text.size() > 1)
    count = command.words[1].text.substr(1);
  if (!is_count(count)) return std::nullopt;
  const std::vector<std::string> lines = lines_in(input);
  const std::size_t most = std::min(lines.size(), static_cast<std::size_t>(std::stoll(count)));
  const std::size_t first = command.words.front().text == "head" ? 0 : lines.size() - most;
  std::string text;
  for (std::size_t i = first; i < first + most; ++i) text += lines[i] + "\n";
  return text;
}

std::optional<std::string> filtered_text(const ShellCommand& command, const std::string& input) {
  const std::string& name = command.words.front().text;
  if (name == "tr") return translated_text(command, input);
  if (name == "cut") return cut_text(command, input);
  if (name == "head" || name == "tail") return end_lines(command, input);
  if (name != "wc" || command.words.size() != 2) return std::nullopt;
  if (command.words[1].text == "-l") return std::to_string(std::count(input.begin(), input.end(), '\n')) + "\n";
  if (command.words[1].text == "-w") return std::to_string(fields_of(input, " \t\n", 0).size()) + "\n";
  return std::nullopt;
}

// "dir" and "file" of "dir/file".
std::optional<std::string> part_of_path(const ShellCommand& command) {
  const std::size_t first = command.words.size() > 1 && command.words[1].text == "--" ? 2 : 1;
  const std::size_t count = command.words.size() - first;
  if (count < 1 || count > 2 || command.words[first].text.compare(0, 1, "-") == 0) return std::nullopt;
  const std::string& path = command.words[first].text;
  const std::size_t slash = path.rfind('/');
  if (command.words.front().text == "dirname")
    return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(1, slash));
  std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string ending = count == 2 ? command.words[first + 1].text : "";
  if (base.size() > ending.size() && base.compare(base.size() - ending.size(), ending.size(), ending) == 0)
    base.resize(base.size() - ending.size());
  return base + "\n";
}

}  // namespace

std::optional<Word> printf_text(const ShellCommand& command, std::size_t first) {
  if (first < command.words.size() && command.words[first].text == "--") ++first;
  if (first >= command.words.size()) return std::nullopt;
  Word result{"", command.words[first].unknown, command.place};
  const std::string format = with_escapes(command.words[first].text);
  std::size_t next = first + 1;
  do {  // printf uses its format again while words are left
    const std::size_t before = next;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        result.text += format[i];
        continue;
      }
      std::string width;
      while (++i < format.size() && is_digit(format[i])) width += format[i];
      if (i >= format.size() || width.size() > 2) return std::nullopt;
      if (format[i] == '%') {
        result.text += '%';
        continue;
      }
      if (std::string("sdi").find(format[i]) == std::string::npos) return std::nullopt;
      const Word word = next < command.words.size() ? command.words[next++] : Word{};
      const bool fills_zeros = !width.empty() && width.front() == '0';
      const std::size_t size = width.empty() ? 0 : static_cast<std::size_t>(std::stoi(width));
      result.text += std::string(size - std::min(size, word.text.size()), fills_zeros ? '0' : ' ') + word.text;
      result.add_unknown(word.unknown);
    }
    if (next == before) break;  // a format without conversions is written once
    constexpr std::size_t kLongest = 1 << 18;
    if (result.text.size() > kLongest) return std::nullopt;
  } while (next < command.words.size());
  return result;
}

std::optional<Word> output_of(const ShellCommand& command, const std::optional<Word>& input) {
  const std::string& name = command.words.front().text;
  for (const char* silent : {"cd", "set", "shopt", "mkdir", "sleep", "wait", "module", "ulimit", "umask"})
    if (name == silent) return Word{"", "", command.place};
  Word result{"", "", command.place};
  if (name == "echo") {
    std::size_t first = 1;
    bool has_escapes = false, has_newline = true;
    for (; first < command.words.size(); ++first) {
      const std::string& option = command.words[first].text;
      if (option.size() < 2 || option[0] != '-' || option.find_first_not_of("neE", 1) != std::string::npos) break;
      for (const char letter : option.substr(1)) {
        if (letter == 'n') has_newline = false;
        if (letter != 'n') has_escapes = letter == 'e';
      }
    }
    const std::string text = joined_words(command, first, result);
    result.text = (has_escapes ? with_escapes(text) : text) + (has_newline ? "\n" : "");
    return result;
  }
  if (name == "printf") return printf_text(command, 1);
  if (name == "cat" && command.words.size() == 1) return input;
  for (const Word& word : command.words)
    if (!word.unknown.empty()) return std::nullopt;
  std::optional<std::string> text;
  if (name == "seq") text = sequence_text(command);
  if (name == "basename" || name == "dirname") text = part_of_path(command);
  if (name == "realpath" || name == "readlink") text = command.words.back().text;
  if (input && input->unknown.empty() && !text) text = filtered_text(command, input->text);
  if (!text) return std::nullopt;
  result.text = *text;
  return result;
}

ShellState::Done ShellState::next_option(const ShellCommand& command, bool is_sure) {
  const std::string specification = command.words[1].text, variable = command.words[2].text;
  const Value* const given = variables_.find("OPTIND");
  const Value arguments = variables_.find("@") == nullptr ? Value{} : *variables_.find("@");
  const std::string at = given != nullptr && given->size() == 1 ? given->front().text : "1";
  std::size_t index = is_count(at, 6) ? static_cast<std::size_t>(std::stoll(at)) : 1;
  const auto set = [&](const std::string& name, const std::string& text) {
    variables_.values[name] = {{text, "", command.place}};
  };
  if (index < 1 || index > arguments.size()) return {false};
  const Word& word = arguments[index - 1];
  if (!is_sure || !word.unknown.empty()) {
    forget(variable, command.place.line);
    forget("OPTARG", command.place.line);
    return {std::nullopt};
  }
  if (word.text.size() < 2 || word.text[0] != '-' || word.text == "--") return {false};
  if (index != option_word_ || option_letter_ >= word.text.size()) option_letter_ = 1;
  option_word_ = index;
  const char option = word.text[option_letter_++];  // "t" and "v" of "-vt4"
  const std::string rest = word.text.substr(option_letter_);
  const std::size_t letter = specification.find(option);
  const bool is_known = letter != std::string::npos && option != ':';
  const bool has_value = is_known && specification.compare(letter + 1, 1, ":") == 0;
  if (has_value || rest.empty()) {
    ++index;
    option_word_ = 0;
  }
  if (has_value) set("OPTARG", rest);
  if (has_value && rest.empty() && index <= arguments.size()) variables_.values["OPTARG"] = {arguments[index++ - 1]};
  set(variable, is_known ? std::string(1, option) : "?");
  set("OPTIND", std::to_string(index));
  return {true};
}

std::size_t ShellState::read_words(const ShellCommand& command, const Word& text) {
  const ReadOptions options = options_of_read(command);
  const auto forget_all = [&] {
    forget_read_words(command);
    return text.text.size();
  };
  if (!options.is_known) return forget_all();
  if (is_mapfile(command)) return read_lines(command, text);
  std::string content = text.text;
  if (!options.is_exact && options.delimiter != "")
    content.resize(std::min(content.size(), content.find(options.delimiter.value_or("\n")[0])));
  const bool is_cut = options.most && static_cast<std::size_t>(*options.most) <= content.size();
  if (options.most) content.resize(std::min(content.size(), static_cast<std::size_t>(*options.most)));
  const std::size_t taken = content.size() + (is_cut || content.size() == text.text.size() ? 0 : 1);
  const Value* const given = variables_.find("IFS");
  const std::string separators = given != nullptr && given->size() == 1 ? given->front().text : " \t\n";
  const std::size_t most = options.is_array ? 0 : options.names.size();
  const bool is_whole = (most == 1 && !text.unknown.empty()) || (options.is_exact && !options.is_array);
  if (!text.unknown.empty() && (!is_whole || options.most)) return forget_all();
  const std::vector<std::string> fields =
      is_whole ? std::vector<std::string>{content} : fields_of(content, separators, most);
  Value words;
  for (const std::string& field : fields) words.push_back({field, text.unknown, text.place});
  if (options.is_array) {
    variables_.values[options.names.front()] = words;
    return taken;
  }
  for (std::size_t i = 0; i < options.names.size(); ++i)
    variables_.values[options.names[i]] = {i < words.size() ? words[i] : Word{"", "", text.place}};
  return taken;
}

std::size_t ShellState::read_lines(const ShellCommand& command, const Word& text) {
  const ReadOptions options = options_of_read(command);
  constexpr std::size_t kMostLines = 10'000;
  const auto forget_all = [&] {
    forget_read_words(command);
    return text.text.size();
  };
  if (!text.unknown.empty() || options.delimiter == "") return forget_all();
  const char delimiter = options.delimiter.value_or("\n")[0];
  Value lines;
  std::int64_t index = 0;
  for (std::size_t begin = 0; begin < text.text.size();) {
    const std::size_t end = std::min(text.text.find(delimiter, begin), text.text.size());
    const std::int64_t counted = index++ - options.skipped.value_or(0);
    const bool is_kept = counted >= 0 && (options.most.value_or(0) == 0 || counted < *options.most);
    const std::size_t size = end - begin + (options.strips || end == text.text.size() ? 0 : 1);
    if (is_kept) lines.push_back({text.text.substr(begin, size), "", text.place});
    if (lines.size() > kMostLines) return forget_all();
    begin = end + 1;
  }
  Value& array = variables_.values[options.names.front()];
  if (!options.origin) array.clear();
  const std::size_t origin = static_cast<std::size_t>(options.origin.value_or(0));
  if (origin > array.size()) return forget_all();
  array.resize(std::max(array.size(), origin + lines.size()));
  std::copy(lines.begin(), lines.end(), array.begin() + static_cast<std::ptrdiff_t>(origin));
  return text.text.size();
}

void ShellState::forget_read_words(const ShellCommand& command) {
  for (const std::string& name : options_of_read(command).names) forget(name, command.place.line);
}

ShellCommand submission_of(const ShellCommand& command, std::size_t end) {
  ShellCommand directive{{}, command.place};
  for (std::size_t i = 1; i < end && i < command.words.size(); ++i) {
    if (command.words[i].text.compare(0, 6, "--wrap") == 0) break;
    directive.words.push_back(command.words[i]);
  }
  return directive;
}

}  // namespace lockstep::sim::launch
