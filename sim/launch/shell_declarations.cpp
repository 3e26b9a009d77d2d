// Carries out declarations: export, local, declare, typeset, readonly.
#include <algorithm>
#include <utility>

#include "sim/launch/shell_interpreter.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {

bool Interpreter::is_local(const RawWords& raw, std::size_t first) const {
  const std::string& name = raw[first].first;
  const bool is_global =
      std::any_of(raw.begin(), raw.end(), [](const auto& word) { return word.first.compare(0, 2, "-g") == 0; });
  return !outer_values_.empty() && !is_global && (name == "local" || name == "declare" || name == "typeset");
}

void Interpreter::keep_outer(const std::string& name) {
  OuterValues& outer = outer_values_.back();
  if (outer.count(name) > 0) return;
  Outer& kept = outer[name];
  if (const Value* const value = variables_.find(name)) kept.value = *value;
  if (const auto table = variables_.tables.find(name); table != variables_.tables.end()) kept.table = table->second;
}

void Interpreter::restore_outer() {
  for (auto& [name, kept] : outer_values_.back()) {
    variables_.values.erase(name);
    variables_.tables.erase(name);
    if (kept.value) variables_.values[name] = std::move(*kept.value);
    if (kept.table) variables_.tables[name] = std::move(*kept.table);
  }
  outer_values_.pop_back();
}

// "export \"TP=8\"", "declare $name=8", "local TP".
Word Interpreter::declare(Word word, bool is_local, bool is_sure) {
  const auto assignment = assignment_of(word.text);
  const std::string name = assignment ? assignment->name : word.text;
  const bool is_option = !name.empty() && (name[0] == '-' || name[0] == '+');
  const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), is_name_character);
  if (is_option || !is_name) {
    if (!is_option) note(word.place.line, "a variable without a known name is not set: " + word.text);
    return word;
  }
  if (is_local) keep_outer(name);
  if (!assignment) {
    if (is_local && is_sure) variables_.values.erase(name);
    return word;
  }
  const Word value{assignment->raw, word.unknown, word.place};
  variables_.is_sure = is_sure;
  if (assignment->adds || assignment->subscript)
    variables_.forget(name, word.place);
  else
    variables_.set(name, value);
  return {name, "", word.place};
}

}  // namespace lockstep::sim::launch
