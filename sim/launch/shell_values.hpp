#pragma once
// Values of a shell script: variables, arrays, and the expansion of words. Values that only a running machine has are
// unknown and keep their text: the output of a command, a variable that the script does not set.
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
  std::string unknown;  ///< unknown parts as written, one per line: "$1"; empty: all is known
  Place place;

  /// Adds those parts of another word that are not yet listed.
  void add_unknown(const std::string& parts);
};

/// Holds an array, or a single value.
using Value = std::vector<Word>;

struct Variables {
  std::map<std::string, Value> values;
  std::set<std::string> exported;
  std::set<std::string> taken_as_unset;  ///< not set by the script, but tested or given a default
  std::size_t expansions = 0;            ///< number of expansions so far, which limits the work

  const Value* find(const std::string& name) const;
};

/// Expands a word of the script to none, one or several words. Throws InputError at `place` if the expansion is too
/// long.
std::vector<Word> expand(const std::string& raw, Variables& variables, const Place& place);
/// Returns the expansion as one word, as in an assignment.
Word expand_to_one(const std::string& raw, Variables& variables, const Place& place);
/// Expands a word in a test; variables that the script does not set are empty there.
Word expand_in_test(const std::string& raw, Variables& variables, const Place& place);
/// Expands a here-document, in which only "$" and backslashes are special.
Word expand_body(const std::string& body, Variables& variables, const Place& place);

/// The value of an expression such as "(8 * NODES)"; none: it contains an unknown or an error.
std::optional<std::int64_t> arithmetic(const std::string& text, Variables& variables, const Place& place);

}  // namespace lockstep::sim::launch
