#pragma once
// Reads a shell script without running it. Follows variables, arrays, tests, branches, loops and functions, and lists
// the commands that it would run. Values that only a running machine has stay unknown, and are named.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/launch/shell_values.hpp"

namespace lockstep::sim::launch {

/// The variables of a shell when it ends.
struct ShellVariables {
  std::map<std::string, Word> exported;    ///< the environment
  std::map<std::string, Value> variables;  ///< all variables
};

struct ShellCommand {
  std::vector<Word> words;
  Place place;
  bool is_conditional = false;  ///< true: an unknown test or loop decides whether it runs
  std::string assumption = {};  ///< about the condition before it: "line 3: grep is assumed to succeed"; empty: none
  /// Variables of the shell that runs it, if the script starts this shell: "bash train.sh", "(...)". Null: the script.
  std::shared_ptr<const ShellVariables> shell = {};
  /// Directives of the submission that runs it: "sbatch x.sh". Null: those of the script.
  std::shared_ptr<const std::vector<ShellCommand>> job = {};
};

/// The inherited variables are those of the script itself.
struct ShellScript : ShellVariables {
  std::vector<ShellCommand> commands;         ///< commands that are not the shell's own, in order
  std::vector<ShellCommand> directives;       ///< words of "#SBATCH" lines
  std::map<std::string, Word> written_files;  ///< here-documents written to files, by path
  std::vector<std::string> folders;           ///< that it enters (cd) or lists in PYTHONPATH
  std::vector<std::string> missing_scripts;   ///< scripts that it starts but that are not there, with the line
  std::vector<std::string> notes;             ///< what was not followed, with the line
};

inline const ShellVariables& variables_of(const ShellScript& script,
                                          const std::shared_ptr<const ShellVariables>& shell) {
  return shell ? *shell : script;
}

/// The environment and files that a script finds when it starts.
struct ShellSurroundings {
  std::map<std::string, Word> variables;  ///< such as those of SLURM
  std::set<std::string> exported = {};    ///< variables among them that count as the script's exports
  /// Returns the text of a file that the script sources or edits, by path. Empty function: reads no file.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
};

/// Throws InputError for a script that is too long, never ends, or has an open quote or bracket.
ShellScript read_shell(const std::string& text, const std::string& name, const ShellSurroundings& surroundings = {});

/// Reads only the "#SBATCH" lines, and splits them into words.
std::vector<ShellCommand> read_directives(const std::string& text, const std::string& name);

}  // namespace lockstep::sim::launch
