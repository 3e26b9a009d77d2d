#pragma once
// Values of a shell script: variables, arrays, and the expansion of words. Values that only a running machine has are
// unknown and keep their text: the output of a command, a variable that the script does not set.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
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
  using Values = std::map<std::string, Value>;
  using Tables = std::map<std::string, std::map<std::string, Word>>;

  Values values;
  Tables tables;  ///< associative arrays, by name and subscript
  /// Returns the output of the commands in "$(...)"; none: it is not known. Empty function: no command runs.
  std::function<std::optional<Word>(const std::string& text, const Place& place)> run_command;
  /// Whether the script wrote the file, or its folder contains it. Empty function: that is not known.
  std::function<bool(const std::string& path)> has_file;
  std::set<std::string> exported;
  bool exports_all = false;              ///< after "set -a"
  std::set<std::string> taken_as_unset;  ///< not set by the script, but tested or given a default
  std::size_t expansions = 0;            ///< number of expansions so far, which limits the work
  std::size_t bytes = 0;                 ///< that expansions wrote or compared
  bool is_sure = true;                   ///< false: an unknown test decides whether the current command runs

  /// Throws InputError at `place` if expansions wrote or compared too many bytes.
  void charge(std::size_t more, const Place& place);

  const Value* find(const std::string& name) const;
  /// Sets a value. If it is not sure that the command runs, the variable becomes unknown, unless it has this value.
  void set(const std::string& name, const Word& word);
  /// Makes the variable unknown.
  void forget(const std::string& name, const Place& place);
};

/// Expands a word of the script to none, one or several words. Throws InputError at `place` if the expansion is too
/// long.
std::vector<Word> expand(const std::string& raw, Variables& variables, const Place& place);
/// Returns the expansion as one word, as in an assignment.
Word expand_to_one(const std::string& raw, Variables& variables, const Place& place);
/// Expands a word in a test; variables that the script does not set are empty there.
Word expand_in_test(const std::string& raw, Variables& variables, const Place& place);
/// Expands a pattern of "case" or "[[ ... ]]", in which quoted characters stand for themselves.
Word expand_pattern(const std::string& raw, Variables& variables, const Place& place, bool is_test);
/// Expands a here-document, in which only "$" and backslashes are special.
Word expand_body(const std::string& body, Variables& variables, const Place& place);

/// The value of an expression such as "(8 * NODES)"; none: it contains an unknown or an error.
std::optional<std::int64_t> arithmetic(const std::string& text, Variables& variables, const Place& place);
/// Returns the value after the expansion of variables: "${SIZES[0]} * 2". Carries out assignments: "i++", "N += 1".
/// Variables whose assignments are not understood become unknown.
std::optional<std::int64_t> evaluate(const std::string& text, Variables& variables, const Place& place);

/// Returns the element of an array; none: it is not set, or its subscript is not known.
std::optional<Word> element_of(const std::string& name, const std::string& subscript, Variables& variables,
                               const Place& place);
/// Reads ":2" or ":2:1": index and number of the elements, or characters, of `size` that it selects.
std::optional<std::pair<std::size_t, std::size_t>> range_of(const std::string& rest, std::size_t size,
                                                            Variables& variables, const Place& place);
/// Applies the operator in "${NAME...}" to a value: ":2:1", "#*-", "%%.*", "/a/b", "//a/b", "^^", ",,". nullopt: the
/// result is not known.
std::optional<std::string> apply_operator(const std::string& value, const std::string& rest, Variables& variables,
                                          const Place& place);

/// Divides "node{1..4}" and "{1,2}b" into raw words; other words stay whole.
std::vector<std::string> words_of_braces(const std::string& raw, Variables& variables, const Place& place);

}  // namespace lockstep::sim::launch
