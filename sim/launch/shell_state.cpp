#include "sim/launch/shell_state.hpp"

#include <algorithm>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr std::size_t kMostElementsOfArray = 100'000;

}  // namespace

std::optional<Assignment> assignment_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  const bool adds = word[equals - 1] == '+';
  const std::string name = word.substr(0, equals - (adds ? 1 : 0));
  const auto is_of_name = [](char c) {
    return is_digit(c) || c == '_' || (lower_case({c})[0] >= 'a' && lower_case({c})[0] <= 'z');
  };
  if (name.empty() || is_digit(name.front()) || !std::all_of(name.begin(), name.end(), is_of_name)) return std::nullopt;
  return Assignment{name, adds, word.substr(equals + 1)};
}

bool is_declaration(const std::string& word) {
  return word == "export" || word == "declare" || word == "local" || word == "readonly" || word == "typeset";
}

ShellState::ShellState(const std::string& name, const std::map<std::string, std::string>& environment) : name_(name) {
  for (const auto& [key, value] : environment) variables_.values[key] = {{value, "", {name, 0}}};
}

void ShellState::fail(int line, const std::string& wrong) const {
  throw InputError(name_ + ":" + std::to_string(line) + ": " + wrong + "; simplify the script");
}

void ShellState::note(int line, const std::string& text) {
  const std::string whole = "line " + std::to_string(line) + ": " + text;
  if (std::find(script_.notes.begin(), script_.notes.end(), whole) == script_.notes.end())
    script_.notes.push_back(whole);
}

void ShellState::assign(const Assignment& assignment, int line, bool is_sure) {
  const bool is_array = assignment.raw.size() > 1 && assignment.raw.front() == '(' && assignment.raw.back() == ')';
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

void ShellState::write_file(const ShellCommand& command, const std::string& target, const Token* body) {
  const Word path = expand_to_one(target, variables_, command.place);
  Word content{"", "", command.place};
  if (body != nullptr) {
    const Place place{name_, body->line + 1};
    content = body->is_literal ? Word{body->body, "", place} : expand_body(body->body, variables_, place);
  } else {
    for (std::size_t i = 1; i < command.words.size(); ++i) {
      content.text += command.words[i].text + " ";
      if (content.unknown.empty()) content.unknown = command.words[i].unknown;
    }
  }
  script_.written_files[path.text] = content;
}

ShellScript ShellState::finish() {
  for (const std::string& name : variables_.exported) {
    const Value* value = variables_.find(name);
    if (value != nullptr && !value->empty()) script_.exported[name] = value->front();
  }
  std::string unset;
  for (const std::string& name : variables_.taken_as_unset) unset += (unset.empty() ? "" : ", ") + name;
  if (!unset.empty()) script_.notes.push_back("taken as not set in the environment: " + unset);
  return std::move(script_);
}

}  // namespace lockstep::sim::launch
