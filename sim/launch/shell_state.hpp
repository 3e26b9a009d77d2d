#pragma once
// The state of a script being followed: its variables, exports, written files and unknowns.
#include <optional>

#include "sim/launch/shell.hpp"
#include "sim/launch/shell_tokens.hpp"

namespace lockstep::sim::launch {

struct Assignment {
  std::string name;
  bool adds = false;  ///< "NAME+=..."
  std::string raw;
  std::optional<std::string> subscript = std::nullopt;  ///< as written: "tp" in "NAME[tp]=2"
};

/// Parses "NAME=value", "NAME+=value" or "NAME[subscript]=value".
std::optional<Assignment> assignment_of(const std::string& word);
/// Whether it is export, declare, local, readonly or typeset.
bool is_declaration(const std::string& word);

/// Whether it is "$@" or another spelling of it.
bool is_all_arguments(const std::string& written);
/// The script that a command sources or starts: "source X", "bash X.sh", "srun -N 2 ./X.sh".
struct StartedScript {
  std::size_t path = 0;          ///< index of its word; the number of words: none is started
  std::size_t launcher_end = 0;  ///< number of words of the launcher before it: 3
};
StartedScript started_script(const ShellCommand& command);

/// What echo, printf, cat and filters (tr, wc, cut, head, tail, seq, basename, dirname) write. Commands that write
/// nothing give an empty text. nullopt: the output is not known.
std::optional<Word> output_of(const ShellCommand& command, const std::optional<Word>& input);
/// Formats the words from `first` on as printf does. nullopt: an unknown format.
std::optional<Word> printf_text(const ShellCommand& command, std::size_t first);

/// Returns the options of "sbatch" on the command line, before the word `end`, as a directive.
ShellCommand submission_of(const ShellCommand& command, std::size_t end);

/// Joins the command's words from `first` on with blanks.
std::string text_of_words(const ShellCommand& command, std::size_t first);

class ShellState {
 public:
  ShellState(std::string name, const ShellSurroundings& surroundings);

  [[noreturn]] void fail(int line, const std::string& wrong) const;
  void note(int line, const std::string& text);
  /// If it is not sure that the assignment happens, the variable becomes unknown, unless it already has this value.
  void assign(const Assignment& assignment, int line, bool is_sure);
  /// Makes the variable's value unknown from here on.
  void forget(const std::string& variable, int line);
  void write_text(const std::string& path, Word content, bool appends, bool is_conditional);
  /// Runs cp, mv, tee, or a program that edits files. tee also gives its input as `output`. Returns false for any other
  /// command, and then does nothing.
  bool run_file_command(const ShellCommand& command, const std::optional<Word>& input, std::optional<Word>& output);
  /// Runs "read", "mapfile" or "readarray": divides the text, and assigns its parts. Returns the number of bytes read.
  std::size_t read_words(const ShellCommand& command, const Word& text);
  /// Makes the variables of such a command unknown.
  void forget_read_words(const ShellCommand& command);
  /// Runs cd, pushd or popd.
  void change_folder(const ShellCommand& command, bool is_sure);
  /// Adds the folders of PYTHONPATH to those in which files are sought.
  void add_python_folders(const Word& path);
  /// Returns the text of a file that the script wrote or that is in its folder; nullopt: there is none.
  std::optional<Word> file_text(const Word& path) const;
  /// Runs sed on its files or `input`. Writes `target`, the files themselves (-i) or its output, which it returns.
  std::optional<Word> edit_text(const ShellCommand& command, const std::optional<Word>& input,
                                const std::string& target, bool appends);
  /// Runs a command that only changes the state: export, unset, read, true and others. nullopt: another command.
  struct Done {
    std::optional<bool> succeeds;
  };
  std::optional<Done> run_builtin(const ShellCommand& command, bool is_sure);
  /// Runs "getopts SPECIFICATION NAME" on the script's arguments; without arguments there is no option.
  Done next_option(const ShellCommand& command, bool is_sure);
  /// Whether "exit" ends the script. False for "exit 1" under a test, which tells the user what to set.
  bool ends_script(const ShellCommand& command, bool is_under_test);
  /// Evaluates "[ ... ]" or "test ...", raw words from `first` on.
  std::optional<bool> run_bracket(const std::vector<std::pair<std::string, int>>& raw, std::size_t first, int line);
  /// Sets "$1", "$@" and so on to the command's words from `first` on. Returns the former ones.
  using Arguments = std::map<std::string, Value>;
  Arguments set_arguments(const ShellCommand& command, std::size_t first);
  void restore_arguments(const Arguments& arguments);
  /// Makes "$1", "$@" and so on unknown.
  void forget_arguments(int line);
  /// Returns all variables, with those that are exported.
  ShellVariables variables_now() const;
  /// Keeps the variables that a started process gets: exported ones, and those of the surroundings.
  void keep_environment();
  /// Exports the variables that a command passes to a script by the words before `end`: "env A=1 bash x.sh",
  /// "sbatch --export=ALL,A=1 x.sh".
  void assign_environment(const ShellCommand& command, std::size_t end);
  ShellScript finish();

 protected:
  std::string name_;    ///< file of the lines being followed
  int jobs_ = 0;        ///< submissions around the current command
  std::string folder_;  ///< that the script entered; empty: the one in which it started, or not known
  Variables variables_;
  ShellScript script_;

 private:
  std::size_t option_word_ = 0, option_letter_ = 1;  ///< of the argument that getopts reads
  std::vector<std::string> left_folders_;            ///< by pushd
  /// Adds a folder in which files are sought.
  void add_folder(const std::string& folder);
  const ShellSurroundings& surroundings_;
  /// Runs mapfile.
  std::size_t read_lines(const ShellCommand& command, const Word& text);
  Value elements_of(const std::string& raw, int line);
  void assign_element(const Assignment& assignment, int line, bool is_sure);
  /// Assigns "([a]=1 [b]=2)". False: the elements have no subscripts.
  bool assign_table(const Assignment& assignment, int line, bool is_sure);
};

}  // namespace lockstep::sim::launch
