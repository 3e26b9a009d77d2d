#pragma once
// Reads a shell script without running it: follows variables, arrays, tests, branches, loops and functions, and lists the
// commands that it would run. What only a running machine knows stays unknown, and is named.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/launch/shell_values.hpp"

namespace lockstep::sim::launch {

struct ShellCommand {
  std::vector<Word> words;
  Place place;
  bool is_conditional = false;  ///< whether it runs depends on a test or a loop that is not known
};

struct ShellScript {
  std::vector<ShellCommand> commands;         ///< other than the shell's own, in order
  std::map<std::string, Word> exported;       ///< the environment at the end
  std::map<std::string, Value> variables;     ///< all variables at the end
  std::vector<ShellCommand> directives;       ///< words of "#SBATCH" lines
  std::map<std::string, Word> written_files;  ///< here-documents that are written, by path
  std::vector<std::string> notes;             ///< what was not followed, with its line
};

/// The environment and files that a script finds when it starts.
struct ShellSurroundings {
  std::map<std::string, Word> variables;  ///< such as those of SLURM
  /// The text of a file that the script sources or edits, by its path; empty function: no file is read.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
};

/// Throws InputError for a script that is too long, never ends, or has an open quote or bracket.
ShellScript read_shell(const std::string& text, const std::string& name, const ShellSurroundings& surroundings = {});

/// Reads only the "#SBATCH" lines, and splits them into words.
std::vector<ShellCommand> read_directives(const std::string& text, const std::string& name);

}  // namespace lockstep::sim::launch
