#pragma once
// The state of a shell script that is followed: its variables, what it exports, writes and leaves open.
#include <optional>

#include "sim/launch/shell.hpp"
#include "sim/launch/shell_tokens.hpp"

namespace lockstep::sim::launch {

struct Assignment {
  std::string name;
  bool adds = false;  ///< "NAME+=..."
  std::string raw;
};

/// "NAME=value", "NAME+=value".
std::optional<Assignment> assignment_of(const std::string& word);
/// export, declare, local, readonly, typeset
bool is_declaration(const std::string& word);

/// "$@" and its other spellings.
bool is_all_arguments(const std::string& written);
/// Returns the index of the script that the command sources or starts: source, bash, sbatch, ./train.sh. 0: none.
std::size_t index_of_script(const ShellCommand& command);
/// Joins the command's words from `first` on with blanks.
std::string text_of_words(const ShellCommand& command, std::size_t first);

class ShellState {
 public:
  ShellState(std::string name, const ShellSurroundings& surroundings);

  [[noreturn]] void fail(int line, const std::string& wrong) const;
  void note(int line, const std::string& text);
  /// An assignment that may not happen leaves the variable unknown, unless its value would stay.
  void assign(const Assignment& assignment, int line, bool is_sure);
  /// The variable's value is not known from here on.
  void forget(const std::string& variable, int line);
  /// Runs cat <<EOF > FILE. `body`: the here-document, or null.
  void write_file(const ShellCommand& command, const std::string& target, const Token* body);
  /// Returns the text of a file that the script wrote or that lies in its folder; nullopt: there is no such file.
  std::optional<Word> file_text(const Word& path) const;
  /// sed: reads its files or `input`, and writes `target`, the files themselves (-i), or its output. Returns the output.
  std::optional<Word> edit_text(const ShellCommand& command, const std::optional<Word>& input,
                                const std::string& target);
  /// export, unset, read, true and their like, which change the state alone. nullopt: another command.
  struct Done {
    std::optional<bool> succeeds;
  };
  std::optional<Done> run_builtin(const ShellCommand& command);
  /// Whether "exit" ends the script. False for "exit 1" under a test: it says what the script's user has to set.
  bool ends_script(const ShellCommand& command, bool is_under_test);
  /// "[ ... ]" and "test ...", as written from `first` on.
  std::optional<bool> run_bracket(const std::vector<std::pair<std::string, int>>& raw, std::size_t first, int line);
  /// "$1", "$@" and their like: those of the command from `first` on. Returns the former ones.
  using Arguments = std::map<std::string, Value>;
  Arguments set_arguments(const ShellCommand& command, std::size_t first);
  void restore_arguments(const Arguments& arguments);
  ShellScript finish();

 protected:
  std::string name_;  ///< of the file whose lines are followed
  Variables variables_;
  ShellScript script_;

 private:
  const ShellSurroundings& surroundings_;
  Value elements_of(const std::string& raw, int line);
};

}  // namespace lockstep::sim::launch
