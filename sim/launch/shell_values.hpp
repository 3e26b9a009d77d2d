#pragma once
// Values of a shell script: variables, arrays, and the expansion of words. What only a running machine knows (the output of
// a command, a variable that the script does not set) is unknown and keeps its text.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/launch/place.hpp"

namespace lockstep::sim::launch {

/// A word after expansion.
struct Word {
  std::string text;
  std::string unknown;  ///< the parts that are not known, as written, a line each: "$1"; empty: all is known
  Place place;

  /// Adds the parts of another word that are not among them.
  void add_unknown(const std::string& parts);
};

/// Holds an array, or a single value.
using Value = std::vector<Word>;

struct Variables {
  std::map<std::string, Value> values;
  std::set<std::string> exported;
  std::set<std::string> taken_as_unset;  ///< tested or replaced by a default, and not set by the script
  std::size_t expansions = 0;            ///< so far; bounds the work

  const Value* find(const std::string& name) const;
};

/// The words that a word of the script becomes: none, one or several. Throws InputError at `place` if the expansion is
/// too long.
std::vector<Word> expand(const std::string& raw, Variables& variables, const Place& place);
/// Returns the expansion as one word, as in an assignment.
Word expand_to_one(const std::string& raw, Variables& variables, const Place& place);
/// Expands a word in a test, where a variable that the script does not set is empty.
Word expand_in_test(const std::string& raw, Variables& variables, const Place& place);
/// A text in which only "$" and backslashes mean something: a here-document.
Word expand_body(const std::string& body, Variables& variables, const Place& place);

/// The value of "(8 * NODES)"; none: it has an unknown or an error.
std::optional<std::int64_t> arithmetic(const std::string& text, Variables& variables, const Place& place);

}  // namespace lockstep::sim::launch
