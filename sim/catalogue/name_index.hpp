#pragma once
// An index of names, which are compared as a whole, regardless of case, blanks and separators. A name is never taken
// for a similar one; error messages list the nearest names.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/choice.hpp"

namespace lockstep::sim {
inline namespace catalogue {

/// The normal form of a name: lower case, without blanks and - _ / . ( ). A "_" replaces these between two digits, so
/// that "GPT-3 1.3B" differs from "GPT-3 13B". Other characters count: "H100,A100" differs from "H100 A100".
std::string plain_name(const std::string& name);

/// The leading letters of a name in lower case, before a digit or a separator: "phi" for "Phi-3", "mi" for "MI300X".
/// Skips NVIDIA's brands before a GPU's name ("NVIDIA GeForce RTX 5090"), unless nothing follows them.
std::string name_family(const std::string& name);

/// Finds a choice by its name or alias in normal form: "BF16", "fp8 (MX)"; none for other texts.
template <class E>
std::optional<E> find_choice_in_words(const std::string& words) {
  const std::string plain = plain_name(words);
  const auto is_it = [&plain](const std::string& name) { return plain_name(name) == plain; };
  for (const Choice<E>& choice : choices_of(E()))
    if (is_it(choice.name) || std::any_of(choice.aliases.begin(), choice.aliases.end(), is_it)) return choice.value;
  return std::nullopt;
}

/// Names of entries; the caller numbers the entries.
class NameIndex {
 public:
  /// Adds a name of `entry`. If another entry already has the name, returns that entry and does not add the name.
  std::optional<std::size_t> add(const std::string& name, std::size_t entry);
  std::optional<std::size_t> find(const std::string& name) const;
  /// Returns the entries that a user may have meant, each once, at most `count`. Entries of the name's family
  /// (name_family()) come first, those with the fewest differing characters leading. Others follow if only a typing
  /// error separates them. Empty: no name is similar.
  std::vector<std::size_t> nearest(const std::string& name, std::size_t count) const;

 private:
  struct Name {
    std::string plain, family;
    std::size_t entry;
  };
  std::vector<Name> names_;                               ///< in the order added
  std::unordered_map<std::string, std::size_t> entries_;  ///< by plain name
};

}  // namespace catalogue
}  // namespace lockstep::sim
