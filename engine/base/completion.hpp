#pragma once
// Completion of a program's command line in bash and zsh, from the definitions of its options: PROGRAM --completion
// bash|zsh prints the script that the build installs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep {

/// Names that may follow an option but are not in its definition, such as those of a catalogue: "--gpu" -> {"H100",
/// ...}.
using CompletionNames = std::map<std::string, std::vector<std::string>>;

namespace completion {

inline bool takes_known_names(const CLI::Option& option, const CompletionNames& known) {
  const std::vector<std::string> names = option.get_lnames();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return known.count("--" + name) > 0; });
}

/// The values that may follow an option, separated by blanks. CLI11 gives them as "TEXT:{a,b}".
inline std::string values_of(const CLI::Option& option, const CompletionNames& known) {
  for (const std::string& name : option.get_lnames()) {
    const auto found = known.find("--" + name);
    if (found == known.end()) continue;
    std::string values;
    for (const std::string& value : found->second) values += (values.empty() ? "" : " ") + lower_case(value);
    return values;
  }
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string values = type.substr(begin + 1, end - begin - 1);
  for (char& c : values) c = c == ',' ? ' ' : c;
  return values;
}

inline std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

inline std::string all_names_of(const CLI::App& app) {
  std::string all;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : names_of(*option)) all += (all.empty() ? "" : " ") + name;
  return all;
}

inline std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

inline std::string names_of_commands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : commands_of(app)) names += (names.empty() ? "" : " ") + command->get_name();
  return names;
}

/// Returns the branches of a shell's `case` on the previous word, one per option that takes names from a list.
/// Completes the name after the last comma, in lower case, because programs ignore case. If the names are `known`, also
/// completes files.
inline std::string cases_of_values(const CLI::App& app, const CompletionNames& known) {
  std::string cases;
  for (const CLI::Option* option : app.get_options()) {
    const std::string values = values_of(*option, known);
    std::string names;
    for (const std::string& name : names_of(*option)) names += (names.empty() ? "" : "|") + name;
    if (values.empty() || names.empty()) continue;
    const std::string files = takes_known_names(*option, known) ? " $(compgen -f -- \"$word\")" : "";
    cases += "    " + names + ") COMPREPLY=($(compgen -P \"$before\" -W '" + values + "' -- \"$last\")" + files +
             "); return 0 ;;\n";
  }
  return cases;
}

/// Returns the values that a command's first argument can have, such as the formats of an importer.
inline std::string first_argument_of(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) return values_of(*option, {});
  return "";
}

inline std::string bash(const CLI::App& app, const CompletionNames& known) {
  const std::string program = app.get_name(), commands = names_of_commands(app);
  std::string values = cases_of_values(app, known), options, arguments;
  for (const CLI::App* command : commands_of(app)) {
    values += cases_of_values(*command, known);
    options += "    " + command->get_name() + ") options='" + all_names_of(*command) + "' ;;\n";
    if (const std::string names = first_argument_of(*command); !names.empty())
      arguments += "  [ \"$COMP_CWORD ${COMP_WORDS[1]}\" = '2 " + command->get_name() +
                   "' ] && COMPREPLY+=($(compgen -W '" + names + "' -- \"$word\"))\n";
  }
  return "# bash completion of " + program + ", made from its options\n_lockstep_" + program +
         "() {\n  local word=${COMP_WORDS[COMP_CWORD]} before= options\n  local last=${word##*,}\n  last=${last,,}\n  "
         "[[ $word == *,* ]] && before=${word%,*},\n  "
         "case ${COMP_WORDS[COMP_CWORD-1]} in\n" +
         values + "  esac\n  case ${COMP_WORDS[1]} in\n" + options + "    *) options='" + all_names_of(app) +
         "' ;;\n  esac\n  if [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n" +
         "    return\n  fi\n  COMPREPLY=($(compgen -f -- \"$word\"))\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n" +
         "    COMPREPLY+=($(compgen -W '" + commands + "' -- \"$word\"))\n  fi\n" + arguments +
         "}\ncomplete -o filenames -F _lockstep_" + program + " " + program + "\n";
}

/// One specification of zsh's _arguments, in single quotes: '--gpus[GPU counts]:value:'.
inline std::string specification(const CLI::Option& option, const std::string& name, const CompletionNames& known) {
  std::string text;
  for (const char c : option.get_description())
    text += c == '\'' || c == '[' || c == ']' || c == ':' || c == '\\' ? ' ' : c;
  const std::string values = values_of(option, known);
  std::string follows;
  if (!option.get_type_name().empty()) follows = ":value:_files";
  if (takes_known_names(option, known))
    follows = ":value:_alternative \"n:name:(" + values + ")\" \"f:file:_files\"";
  else if (!values.empty())
    follows = option.get_delimiter() != '\0' ? ":value:_sequence compadd - " + values : ":value:(" + values + ")";
  return "'*" + name + "[" + text + "]" + follows + "'";
}

inline std::string specifications_of(const CLI::App& app, const CompletionNames& known) {
  std::string all;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : names_of(*option)) all += " \\\n      " + specification(*option, name, known);
  return all;
}

inline std::string zsh(const CLI::App& app, const CompletionNames& known) {
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    const std::string names = first_argument_of(*command);
    cases += "  " + command->get_name() + ")\n    _arguments" + specifications_of(*command, known) +
             (names.empty() ? "" : " \\\n      '2:name:(" + names + ")'") + " \\\n      '*:file:_files' ;;\n";
  }
  const std::string commands = names_of_commands(app);
  const std::string first = commands.empty() ? ""
                                             : " \\\n      '1:command or file:_alternative \"c:command:(" + commands +
                                                   ")\" \"f:file:_files\"'";
  return "#compdef " + app.get_name() + "\n# zsh completion of " + app.get_name() +
         ", made from its options\ncase ${words[2]} in\n" + cases + "  *)\n    _arguments" +
         specifications_of(app, known) + first + " \\\n      '*:file:_files' ;;\nesac\n";
}

}  // namespace completion

/// Returns the script for "bash" or "zsh"; empty for another shell.
inline std::string completion_script(const CLI::App& app, const std::string& shell, const CompletionNames& known) {
  return shell == "bash" ? completion::bash(app, known) : shell == "zsh" ? completion::zsh(app, known) : "";
}

}  // namespace lockstep
