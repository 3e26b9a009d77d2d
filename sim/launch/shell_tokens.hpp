#pragma once
// A shell script cut into words and operators (POSIX shell with bash's arrays, tests and here-strings). Words keep their
// quotes and their "$": shell_values.hpp expands them.
#include <optional>
#include <string>

#include <vector>
#include "sim/modules.hpp"

namespace lockstep::sim::launch {

struct Token {
  enum class Kind { word, op, end } kind = Kind::end;
  std::string text;  ///< of an operator: "\n", ";", "&&", "(", "<<", ...; of a word: as written
  int line = 0;
  std::string body;         ///< of the word behind "<<": the here-document
  bool is_literal = false;  ///< of that body: nothing in it is expanded
};

inline constexpr std::size_t kLargestScript = 1 << 20;  ///< bytes

/// The last token is the end. Throws InputError: "train.sh:12: a quote is not closed; ...".
std::vector<Token> tokens_of(const std::string& text, const std::string& name);

/// The tokens from `begin` to before `end`, closed as a text of their own.
std::vector<Token> body_of_function(const std::vector<Token>& tokens, std::size_t begin, std::size_t end);

/// Chooses a branch where the test of an "if" is unknown; its first branch begins at `begin`. False, if the first
/// branch ends with "exit 1"; true, if the other one does; nullopt, if neither does.
std::optional<bool> way_without_failure(const std::vector<Token>& tokens, std::size_t begin);

/// The index behind the part of a word that begins at `begin`: a quoted text, "$(...)", "${...}", a backslash with its
/// character, or one character. std::string::npos: it is not closed.
std::size_t end_of_part(const std::string& text, std::size_t begin);

}  // namespace lockstep::sim::launch
