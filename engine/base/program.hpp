#pragma once
// The outermost part of every program: command line, version, exit codes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/completion.hpp"
#include "engine/base/error_report.hpp"
#include "engine/base/json.hpp"
#include "engine/base/printing.hpp"
#include "engine/base/progress_line.hpp"
#include "engine/base/text.hpp"
#include "engine/base/unknown_argument.hpp"
#include "engine/base/version.hpp"

namespace lockstep {

/// An option must be a number from `low` to `high`, both included. CLI::Range would accept NaN.
inline CLI::Validator number_between(double low, double high) {
  const auto check = [low, high](std::string& text) {
    double value = 0;
    const bool is_within = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    return is_within ? std::string() : "not a number from " + short_number(low) + " to " + short_number(high);
  };
  return CLI::Validator(check, "[" + short_number(low) + " - " + short_number(high) + "]");
}

/// A seed must be a whole number from 0 to 2^63-1. CLI11 would read a negative one as a large one, and cap larger ones.
inline CLI::Validator seed_check() {
  const auto check = [](std::string& text) {
    std::int64_t seed = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    const bool is_seed = error == std::errc() && end == text.data() + text.size() && seed >= 0;
    return is_seed ? std::string() : text + " is no seed; allowed: a whole number from 0 to 9223372036854775807";
  };
  return CLI::Validator(check, "[0 - 2^63-1]");
}

/// Flushes standard output and returns `code`, or 1 if the work succeeded but the output could not be written (full
/// disk).
inline int with_standard_output(const std::string& program, int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::fprintf(stderr, "%s: standard output: cannot write%s%s\n", program.c_str(), errno != 0 ? ": " : "",
               errno != 0 ? std::strerror(errno) : "");
  return code == 0 ? 1 : code;
}

/// If the command lockstep started this program (LOCKSTEP_COMMAND is set), help and messages say "lockstep simulate".
inline void set_name_as_called(CLI::App& app) {
  const std::string name = app.get_name(), called = command_of_program(name);
  if (called == name) return;
  std::vector<CLI::App*> all = app.get_subcommands([](CLI::App*) { return true; });
  all.push_back(&app);
  for (CLI::App* one : all) {
    std::string footer = one->get_footer();
    const std::string example = "\n  " + name + " ";
    for (std::size_t at = footer.find(example); at != std::string::npos; at = footer.find(example, at + example.size()))
      footer.replace(at, example.size(), "\n  " + called + " ");
    one->footer(footer);
  }
  app.name(called);
}

/// Whether --quiet is given, to the program or to one of its commands.
inline bool is_quiet(const CLI::App& app) {
  const CLI::Option* const quiet = app.get_option_no_throw("--quiet");
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App* one) { return one->parsed(); });
  return (quiet != nullptr && quiet->count() > 0) ||
         std::any_of(commands.begin(), commands.end(), [](const CLI::App* one) { return is_quiet(*one); });
}

/// Adds "-", standard output, behind a `--json` that takes a file and ends the command line.
inline std::vector<std::string> with_json_target(const CLI::App& app, std::vector<std::string> words) {
  if (words.size() < 2 || words.back() != "--json") return words;
  const CLI::App* command = &app;
  for (const std::string& word : words)
    for (const CLI::App* one : command->get_subcommands([](const CLI::App*) { return true; }))
      if (one->check_name(word)) {
        command = one;
        break;
      }
  const CLI::Option* const json = command->get_option_no_throw("--json");
  if (json != nullptr && json->get_expected_min() > 0) words.emplace_back(kStandardOutput);
  return words;
}

/// Whether the command line asks only for the version. A program can then answer before it declares its options, which
/// takes longer than all else.
inline bool asks_for_version(int argc, char** argv) {
  return argc == 2 && std::strcmp(argv[1], "--version") == 0;
}

/// Prints the version and returns the exit code.
inline int print_version(const std::string& program) {
  std::printf("%s\n", version_line().c_str());
  return with_standard_output(program, 0);
}

/// Parses the command line of `app` (its name is the program's) and calls work(argv), which returns an exit code.
/// Returns that code; 0 after --help, --version or "--completion bash|zsh"; 2 for bad usage or input; 1 if the work
/// fails or standard output cannot be written. Draws progress on a terminal unless --quiet is given. An error prints
/// one line to stderr. With `--json -` it is also written to standard output as JSON (error_report.hpp). `find_names`
/// returns names to complete that the options themselves do not list.
template <class Work>
int run_program(CLI::App& app, int argc, char** argv, const Work& work,
                const std::function<CompletionNames()>& find_names = {}) {
  app.set_version_flag("--version", version_line());
  std::signal(SIGXFSZ, SIG_IGN);  // a file above ulimit -f then gives an error instead of a signal
  const std::vector<std::string> words = with_json_target(app, {argv, argv + argc});
  const auto failed = [&](const char* status, const std::string& reason, int code) {
    return report_error(words, command_name(chosen_command(app)), status, reason, code);
  };
  try {
    if (argc == 3 && words[1] == "--completion") {
      const std::string script = completion_script(app, argv[2], find_names ? find_names() : CompletionNames());
      std::fputs(script.c_str(), stdout);
      return with_standard_output(app.get_name(), script.empty() ? 2 : 0);
    }
    set_name_as_called(app);
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    app.parse(static_cast<int>(arguments.size()), arguments.data());
    if (!is_quiet(app) && has_drawable_stderr()) show_progress_on(stderr);
    return with_standard_output(app.get_name(), work(words));
  } catch (const CLI::ExtrasError&) {
    const std::string text = unknown_argument_text(app);
    std::fprintf(stderr, "%s\n", text.c_str());
    return failed("refused", text, 2);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : failed("refused", error.what(), 2);
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s\n", message_of(error).c_str());
    return failed(status_of(error), message_of(error), 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), message_of(error).c_str());
    return failed("failed", message_of(error), 1);
  }
}

}  // namespace lockstep
