#pragma once
// Names that stand for something: matched whole, by a hash, whatever their case, blanks and separators. What is no name
// is never taken for one that looks like it; the nearest ones are for the message that refuses it.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/choice.hpp"

namespace lockstep::sim {
inline namespace catalogue {

/// The one spelling of a name: lower case, without blanks and - _ / . ( ); "_" stands where these were between two
/// digits, so that "GPT-3 1.3B" is not "GPT-3 13B". Other characters count: "H100,A100" is no "H100 A100".
std::string plain_name(const std::string& name);

/// The letters that a name begins with, in lower case, before a digit or a separator: "phi" of "Phi-3", "mi" of "MI300X".
/// NVIDIA's names before a GPU's ("NVIDIA GeForce RTX 5090") are left aside, unless nothing else is there.
std::string name_family(const std::string& name);

/// The value of a choice's name or alias in one spelling: "BF16", "fp8 (MX)"; nothing for another text.
template <class E>
std::optional<E> find_choice_in_words(const std::string& words) {
  const std::string plain = plain_name(words);
  const auto is_it = [&plain](const std::string& name) { return plain_name(name) == plain; };
  for (const Choice<E>& choice : choices_of(E()))
    if (is_it(choice.name) || std::any_of(choice.aliases.begin(), choice.aliases.end(), is_it)) return choice.value;
  return std::nullopt;
}

/// Names of entries, which are numbered by whoever asks.
class NameIndex {
 public:
  /// Adds a name of `entry`. Returns the entry that has it already, where that is another: the name is then not added.
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
