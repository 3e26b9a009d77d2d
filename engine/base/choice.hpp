#pragma once
// Choices: enumerations whose values have names in files, on command lines and in tables. Each enumeration lists its
// names once, in its own namespace:
//
//   enum class Wire { fp32, fp16 };
//   inline const Choices<Wire>& choices_of(Wire) {
//     static const Choices<Wire> all{{Wire::fp32, "fp32"}, {Wire::fp16, "fp16"}};
//     return all;
//   }
//
// The first name is the one that is written; aliases are read as well.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"

namespace lockstep {

template <class E>
struct Choice {
  E value;
  std::string name;
  std::vector<std::string> aliases = {};
};

template <class E>
using Choices = std::vector<Choice<E>>;

/// Returns the name of a value.
template <class E>
const std::string& name_of(E value) {
  for (const Choice<E>& choice : choices_of(E()))
    if (choice.value == value) return choice.name;
  throw std::logic_error("a choice without a name");
}

/// Returns the first name of each value, in order, without aliases.
template <class E>
std::vector<std::string> choice_names() {
  std::vector<std::string> names;
  for (const Choice<E>& choice : choices_of(E())) names.push_back(choice.name);
  return names;
}

/// Returns the value of a name or alias, spelled exactly; nothing if there is none.
template <class E>
std::optional<E> find_choice(const std::string& name) {
  for (const Choice<E>& choice : choices_of(E())) {
    if (choice.name == name) return choice.value;
    for (const std::string& alias : choice.aliases)
      if (alias == name) return choice.value;
  }
  return std::nullopt;
}

/// As find_choice(), for a text that comes from `where` ("--fidelity"). Throws InputError if there is no such name.
template <class E>
E choice_named(const std::string& name, const std::string& where) {
  if (const std::optional<E> value = find_choice<E>(name)) return *value;
  throw InputError(where + " " + in_quotes(name) + " is not known; allowed: " + joined(choice_names<E>()));
}

/// Reads a string of a document that must name one of the `allowed` values. Throws the error of JsonNode::choice().
template <class E>
E read_choice(const JsonNode& node, const std::vector<E>& allowed) {
  std::vector<std::string> names;
  for (E value : allowed) names.push_back(name_of(value));
  if (node.is_string())
    if (const std::optional<E> value = find_choice<E>(node.json().get<std::string>()))
      if (std::find(allowed.begin(), allowed.end(), *value) != allowed.end()) return *value;
  return *find_choice<E>(node.choice(names));  // throws
}

/// Reads a string of a document that may name any value.
template <class E>
E read_choice(const JsonNode& node) {
  std::vector<E> all;
  for (const Choice<E>& choice : choices_of(E())) all.push_back(choice.value);
  return read_choice(node, all);
}

}  // namespace lockstep
