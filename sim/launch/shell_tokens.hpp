#pragma once
// Splits a shell script into words and operators (POSIX shell with bash's arrays, tests and here-strings). Words keep
// their quotes and "$"; shell_values.hpp expands them.
#include <optional>
#include <string>

#include <vector>
#include "sim/modules.hpp"

namespace lockstep::sim::launch {

struct Token {
  enum class Kind { word, op, end } kind = Kind::end;
  std::string text;  ///< operator: "\n", ";", "&&", "(", "<<", ...; word: as written
  int line = 0;
  std::string body;         ///< of the word after "<<": the here-document; of an operator: the descriptor, "2" in "2>"
  bool is_literal = false;  ///< the here-document is not expanded
};

inline constexpr std::size_t kLargestScript = 1 << 20;  ///< bytes

/// The last token is an end token. Throws InputError: "train.sh:12: a quote is not closed; ...".
std::vector<Token> tokens_of(const std::string& text, const std::string& name);

/// Returns the tokens from `begin` to before `end`, followed by an end token.
std::vector<Token> body_of_function(const std::vector<Token>& tokens, std::size_t begin, std::size_t end);

/// Chooses a branch if the test of an "if" is unknown; its first branch begins at `begin`. Returns false if the first
/// branch ends with "exit 1", true if the other one does, and nullopt if neither does.
std::optional<bool> way_without_failure(const std::vector<Token>& tokens, std::size_t begin);

/// Returns the index after the part of a word that begins at `begin`: a quoted text, "$(...)", "${...}", a backslash
/// with its character, or one character. std::string::npos: it is not closed.
std::size_t end_of_part(const std::string& text, std::size_t begin);

}  // namespace lockstep::sim::launch
