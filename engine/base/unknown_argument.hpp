#pragma once
// Makes the message for an unknown argument, with the nearest option or subcommand.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/base/command_name.hpp"
#include "engine/base/text.hpp"

namespace lockstep {

/// The innermost subcommand of the command line; the program itself if there is none.
inline const CLI::App& chosen_command(const CLI::App& app) {
  const std::vector<const CLI::App*> chosen = app.get_subcommands([](const CLI::App* sub) { return sub->parsed(); });
  return chosen.empty() ? app : chosen_command(*chosen.back());
}

/// "simulate job", as the user wrote it.
inline std::string command_name(const CLI::App& app) {
  const std::string name = app.get_name();
  return app.get_parent() == nullptr ? name : command_name(*app.get_parent()) + " " + name;
}

/// Lists the long options of a command, such as "--model".
inline std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// The option nearest to `flag`: one that begins with it, else the one with the fewest changed characters. Empty if
/// there are no options.
inline std::string nearest_option(const std::string& flag, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (name.compare(0, flag.size(), flag) == 0) return name;
  const std::vector<std::string> nearest = nearest_names(flag, names, 1);
  return nearest.empty() ? "" : nearest.front();
}

/// "simulate job: --modle: no such option; did you mean --model? (see simulate job --help)". CLI11 found the argument
/// after it had parsed the rest.
inline std::string unknown_argument_text(const CLI::App& app) {
  const CLI::App& command = chosen_command(app);
  const std::string name = command_name(command), help = " (see " + (name.empty() ? "" : name + " ") + "--help)";
  const std::string start = name.empty() ? "" : name + ": ";
  for (const std::string& argument : app.remaining(true)) {
    if (argument.compare(0, 1, "-") != 0) continue;
    const std::string flag = argument.substr(0, argument.find('='));
    const std::string nearest = nearest_option(flag, option_names(command));
    return start + flag + ": no such option" + (nearest.empty() ? "" : "; did you mean " + nearest + "?") + help;
  }
  const std::vector<std::string> rest = app.remaining(true);
  return start + (rest.empty() ? "" : in_quotes(rest.front()) + ": ") +
         "unexpected argument; write it as the value of an option, --OPTION VALUE" + help;
}

}  // namespace lockstep
