#include "sim/launch/shell_state.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/shell_tests.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr std::size_t kMostElementsOfArray = 100'000;

}  // namespace

std::optional<Assignment> assignment_of(const std::string& word) {
  std::size_t end = 0;
  while (end < word.size() && is_name_character(word[end])) ++end;
  if (end == 0 || end == word.size() || is_digit(word.front())) return std::nullopt;
  Assignment assignment{word.substr(0, end), false, ""};
  if (word[end] == '[') {
    const std::size_t close = word.find(']', end);
    if (close == std::string::npos) return std::nullopt;
    assignment.subscript = word.substr(end + 1, close - end - 1);
    end = close + 1;
  }
  assignment.adds = word.compare(end, 1, "+") == 0;
  if (assignment.adds) ++end;
  if (word.compare(end, 1, "=") != 0) return std::nullopt;
  assignment.raw = word.substr(end + 1);
  return assignment;
}

bool is_declaration(const std::string& word) {
  return word == "export" || word == "declare" || word == "local" || word == "readonly" || word == "typeset";
}

bool is_all_arguments(const std::string& written) {
  return written == "\"$@\"" || written == "$@" || written == "$*" || written == "${@}" || written == "\"${@}\"";
}

StartedScript started_script(const ShellCommand& command) {
  const std::vector<Word>& words = command.words;
  const auto is_script = [](const std::string& text) {
    for (const std::string ending : {".sh", ".bash", ".slurm", ".sbatch"})
      if (text.size() > ending.size() && text.front() != '-' && text.find('=') == std::string::npos &&
          ends_with(text, ending))
        return true;
    return false;
  };
  const std::string& name = words.front().text;
  const std::string last = last_part_of(name);
  if (name == "source" || name == ".") return {words.size() > 1 ? 1 : words.size(), 0};
  if (is_script(name)) return {0, 0};
  const bool is_shell = last == "bash" || last == "sh" || last == "sbatch";
  bool is_launcher = false;
  for (const char* launcher : {"srun",   "flux",   "mpirun", "mpiexec", "mpiexec.hydra", "orterun",     "jsrun",
                               "aprun",  "nohup",  "env",    "numactl", "nsys",          "singularity", "apptainer",
                               "docker", "podman", "enroot", "timeout", "taskset",       "ibrun",       "stdbuf"})
    is_launcher = is_launcher || last == launcher;
  if (!is_shell && !is_launcher) return {words.size(), 0};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].text == "-c") break;
    if (!is_script(words[i].text)) continue;
    std::size_t end = i;
    while (end > 0 && (words[end - 1].text == "bash" || words[end - 1].text == "sh")) --end;
    return {i, is_shell ? 0 : end};
  }
  return {words.size(), 0};
}

std::string text_of_words(const ShellCommand& command, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < command.words.size(); ++i) text += command.words[i].text + " ";
  return text;
}

ShellState::ShellState(std::string name, const ShellSurroundings& surroundings)
    : name_(std::move(name)), surroundings_(surroundings) {
  for (const auto& [key, value] : surroundings.variables) variables_.values[key] = {value};
  variables_.exported = surroundings.exported;
  variables_.values["0"] = variables_.values["BASH_SOURCE"] = {{name_, "", {name_, 1}}};
  variables_.values["PWD"] = {{".", "", {name_, 1}}};
  variables_.has_file = [this](const std::string& path) { return file_text({path, "", {}}).has_value(); };
}

void ShellState::fail(int line, const std::string& wrong) const {
  throw InputError(name_ + ":" + std::to_string(line) + ": " + wrong + "; correct or simplify the script");
}

void ShellState::note(int line, const std::string& text) {
  const std::string whole = "line " + std::to_string(line) + ": " + text;
  if (std::find(script_.notes.begin(), script_.notes.end(), whole) == script_.notes.end())
    script_.notes.push_back(whole);
}

void ShellState::assign(const Assignment& assignment, int line, bool is_sure) {
  if (variables_.exports_all) variables_.exported.insert(assignment.name);
  if (assignment.subscript) return assign_element(assignment, line, is_sure);
  const bool is_array = assignment.raw.size() > 1 && assignment.raw.front() == '(' && assignment.raw.back() == ')';
  if (is_array && assign_table(assignment, line, is_sure)) return;
  Value value =
      is_array ? elements_of(assignment.raw, line) : Value{expand_to_one(assignment.raw, variables_, {name_, line})};
  Value& kept = variables_.values[assignment.name];
  if (assignment.adds && is_array) {
    value.insert(value.begin(), kept.begin(), kept.end());
  } else if (assignment.adds && !kept.empty()) {
    if (kept.front().text.size() > kLargestScript) fail(line, "a value of more than 1 MiB");
    value.front().text = kept.front().text + value.front().text;
    value.front().add_unknown(kept.front().unknown);
  }
  if (value.size() > kMostElementsOfArray) fail(line, "an array of more than 100,000 values");
  if (assignment.name == "PYTHONPATH" && !value.empty()) add_python_folders(value.front());
  if (is_sure) {
    kept = std::move(value);
    return;
  }
  const auto texts = [](const Value& words) {
    std::string all;
    for (const Word& word : words) all += word.text + "\n";
    return all;
  };
  if (texts(kept) != texts(value)) forget(assignment.name, line);
}

void ShellState::assign_element(const Assignment& assignment, int line, bool is_sure) {
  const Place place{name_, line};
  const std::string key = expand_to_one(*assignment.subscript, variables_, place).text;
  Word word = expand_to_one(assignment.raw, variables_, place);
  if (!is_sure) word.add_unknown("${" + assignment.name + "[" + key + "]}");
  const auto array = variables_.values.find(assignment.name);
  const auto index = arithmetic(key, variables_, place);
  const bool is_known_index = array != variables_.values.end() && index && *index >= 0 &&
                              *index <= static_cast<std::int64_t>(array->second.size());
  if (is_known_index) {
    Value& elements = array->second;
    if (*index == static_cast<std::int64_t>(elements.size())) elements.emplace_back();
    elements[static_cast<std::size_t>(*index)] = word;
    return;
  }
  std::map<std::string, Word>& table = variables_.tables[assignment.name];
  if (table.size() > kMostElementsOfArray) fail(line, "an array of more than 100,000 values");
  if (assignment.adds) word.text = table[key].text + word.text;
  table[key] = std::move(word);
}

bool ShellState::assign_table(const Assignment& assignment, int line, bool is_sure) {
  std::vector<Assignment> elements;
  for (const Token& token : tokens_of(assignment.raw.substr(1, assignment.raw.size() - 2), name_)) {
    if (token.kind != Token::Kind::word) continue;
    const auto element = assignment_of(assignment.name + token.text);
    if (!element || !element->subscript) return false;
    elements.push_back(*element);
  }
  if (elements.empty()) return false;
  if (!assignment.adds) variables_.tables.erase(assignment.name);
  variables_.values.erase(assignment.name);
  for (const Assignment& element : elements) assign_element(element, line, is_sure);
  return true;
}

void ShellState::forget(const std::string& variable, int line) {
  variables_.values[variable] = {{"$" + variable, "$" + variable, {name_, line}}};
}

Value ShellState::elements_of(const std::string& raw, int line) {
  Value elements;
  for (const Token& token : tokens_of(raw.substr(1, raw.size() - 2), name_)) {
    if (token.kind != Token::Kind::word) continue;
    for (Word& word : expand(token.text, variables_, {name_, line + token.line - 1}))
      elements.push_back(std::move(word));
  }
  return elements;
}

std::optional<ShellState::Done> ShellState::run_builtin(const ShellCommand& command, bool is_sure) {
  const std::string& name = command.words.front().text;
  if (is_declaration(name)) {
    const bool exports = name == "export" || (command.words.size() > 1 && command.words[1].text == "-x");
    for (std::size_t i = 1; i < command.words.size() && exports; ++i) variables_.exported.insert(command.words[i].text);
    return Done{true};
  }
  if (name == "set" && command.words.size() > 1) {
    const std::string& option = command.words[1].text;
    const bool is_named = command.words.size() > 2 && command.words[2].text == "allexport";
    const bool has_letter = option.size() > 1 && option.find('a', 1) != std::string::npos;
    if (option[0] == '-' && option != "--" && (has_letter || is_named)) variables_.exports_all = true;
    if (option[0] == '+' && (has_letter || is_named)) variables_.exports_all = false;
    if (option == "--" && is_sure) set_arguments(command, 2);
    if (option == "--" && !is_sure) forget_arguments(command.place.line);
  }
  if (name == "unset") {
    for (const Word& word : command.words) {
      variables_.tables.erase(word.text);
      if (is_sure)
        variables_.values.erase(word.text);
      else if (variables_.find(word.text) != nullptr)
        forget(word.text, command.place.line);
    }
    return Done{true};
  }
  if (name == "shift" && !is_sure) {
    forget_arguments(command.place.line);
    return Done{true};
  }
  if (name == "shift" && variables_.find("@") != nullptr) {
    ShellCommand rest{variables_.values["@"], command.place};
    const auto count = command.words.size() > 1 ? arithmetic(command.words[1].text, variables_, command.place) : 1;
    set_arguments(rest, std::min<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(0, count.value_or(1))),
                                              rest.words.size()));
    return Done{true};
  }
  if (name == "printf" && command.words.size() > 3 && command.words[1].text == "-v") {
    const std::string& variable = command.words[2].text;
    const std::optional<Word> text = printf_text(command, 3);
    if (text && is_sure)
      variables_.values[variable] = {*text};
    else
      forget(variable, command.place.line);
    return Done{true};
  }
  if (name == "getopts" && command.words.size() == 3) return next_option(command, is_sure);
  if (name == "true" || name == ":") return Done{true};
  if (name == "false") return Done{false};
  return std::nullopt;
}

bool ShellState::ends_script(const ShellCommand& command, bool is_under_test) {
  const bool fails = command.words.size() > 1 && command.words[1].text != "0";
  if (!fails || !is_under_test) return true;
  note(command.place.line, "the test before this exit is assumed to pass, and the lines after it are read");
  return false;
}

std::optional<bool> ShellState::run_bracket(const std::vector<std::pair<std::string, int>>& raw, std::size_t first,
                                            int line) {
  std::vector<std::string> words;
  for (std::size_t i = first + 1; i < raw.size(); ++i) {
    const std::string& word = raw[i].first;
    // A variable that is empty leaves no word, unless it has quotes.
    const bool may_vanish = word.find('$') != std::string::npos && word.find_first_of("\"'`(") == std::string::npos;
    const Word value = may_vanish ? expand_in_test(word, variables_, {name_, line}) : Word{"x", "", {}};
    if (!value.text.empty()) words.push_back(word);
  }
  if (raw[first].first == "[" && !words.empty() && words.back() == "]") words.pop_back();
  return value_of_test(words, variables_, {name_, line}, false);
}

void ShellState::forget_arguments(int line) {
  if (variables_.find("@") == nullptr) return;
  for (auto& [name, value] : variables_.values)
    if (name == "@" || name == "#" || (is_count(name) && name != "0"))
      value = {{"$" + name, "$" + name, {name_, line}}};
}

ShellState::Arguments ShellState::set_arguments(const ShellCommand& command, std::size_t first) {
  Arguments outer;
  for (auto found = variables_.values.begin(); found != variables_.values.end();) {
    const std::string& name = found->first;
    const bool is_argument = name == "@" || name == "#" || (is_count(name) && name != "0");
    if (is_argument) outer.insert(*found);
    found = is_argument ? variables_.values.erase(found) : std::next(found);
  }
  const Value words(command.words.begin() + static_cast<std::ptrdiff_t>(first), command.words.end());
  for (std::size_t i = 0; i < words.size(); ++i) variables_.values[std::to_string(i + 1)] = {words[i]};
  variables_.values["@"] = words;
  variables_.values["#"] = {{std::to_string(words.size()), "", command.place}};
  return outer;
}

void ShellState::restore_arguments(const Arguments& arguments) {
  set_arguments({}, 0);
  for (const char* name : {"@", "#"}) variables_.values.erase(name);
  for (const auto& [name, value] : arguments) variables_.values[name] = value;
}

void ShellState::keep_environment() {
  variables_.tables.clear();
  for (auto variable = variables_.values.begin(); variable != variables_.values.end();) {
    const bool is_inherited = variables_.exported.count(variable->first) > 0 ||
                              variable->first.compare(0, 6, "SLURM_") == 0 ||
                              surroundings_.variables.count(variable->first) > 0;
    variable = is_inherited ? std::next(variable) : variables_.values.erase(variable);
  }
}

void ShellState::assign_environment(const ShellCommand& command, std::size_t end) {
  const std::string option = "--export=";
  for (std::size_t i = 0; i < end && i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    const bool is_list = word.text.compare(0, option.size(), option) == 0;
    if (!is_list && command.words.front().text != "env") continue;
    std::istringstream parts(is_list ? word.text.substr(option.size()) : word.text);
    for (std::string part; std::getline(parts, part, is_list ? ',' : '\0');) {
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos || equals == 0 || part[0] == '-') continue;
      variables_.values[part.substr(0, equals)] = {{part.substr(equals + 1), word.unknown, word.place}};
      variables_.exported.insert(part.substr(0, equals));
    }
  }
}

ShellVariables ShellState::variables_now() const {
  ShellVariables now{{}, variables_.values};
  for (const std::string& name : variables_.exported) {
    const Value* value = variables_.find(name);
    if (value != nullptr && !value->empty()) now.exported[name] = value->front();
  }
  return now;
}

ShellScript ShellState::finish() {
  static_cast<ShellVariables&>(script_) = variables_now();
  std::string unset;
  for (const std::string& name : variables_.taken_as_unset) unset += (unset.empty() ? "" : ", ") + name;
  if (!unset.empty()) script_.notes.push_back("taken as not set in the environment: " + unset);
  return std::move(script_);
}

}  // namespace lockstep::sim::launch
