#pragma once
// --from: fills options that the command line does not give from a launch script or configuration. The ordinary option
// parser reads them, so the same ranges and checks apply.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "sim/job/sized_name.hpp"
#include "sim/launch/from_file.hpp"

namespace lockstep::sim::launch {

struct FromOptions {
  std::string path, format;
  bool frees_split = false;  ///< the search chooses the split, instead of the file
};

inline void declare_from(CLI::App& app, FromOptions& o) {
  app.add_option("--from", o.path,
                 "Reads the job from a launch script or configuration of yours; options beside it win");
  app.add_option("--from-format", o.format, "The format of --from (default: by content)")
      ->check(CLI::IsMember(choice_names<LaunchFormat>()));
  app.add_flag("--free-split", o.frees_split,
               "With --from, searches the ranks, stages, micro-batch, sharding and recomputation that the file gives")
      ->needs("--from");
}

/// Options of the file's split, which --free-split leaves to the search.
inline const std::vector<std::string>& searched_options() {
  static const std::vector<std::string> all{"--tensor",
                                            "--pipeline",
                                            "--virtual-stages",
                                            "--schedule",
                                            "--context",
                                            "--expert",
                                            "--expert-tensor",
                                            "--micro-batch",
                                            "--sharding",
                                            "--sharding-group",
                                            "--recompute",
                                            "--recompute-modules",
                                            "--recompute-layers",
                                            "--recompute-interval",
                                            "--sequence-parallel",
                                            "--accumulation",
                                            "--no-sequence-parallel"};
  return all;
}

/// Groups of options that give the same thing in different ways. A given one replaces the others of its group.
inline const std::vector<std::vector<std::string>>& alternative_options() {
  static const std::vector<std::vector<std::string>> all{{"--batch", "--global-batch", "--accumulation"},
                                                         {"--gpus", "--nodes"},
                                                         {"--tokens", "--epochs", "--samples", "--flops", "--loss"}};
  return all;
}

/// Returns the option of the command line that replaces `name`; nullptr: none does.
inline CLI::Option* given_instead(CLI::App& app, const std::string& name) {
  std::vector<std::string> names{name};
  for (const std::vector<std::string>& group : alternative_options())
    if (std::find(group.begin(), group.end(), name) != group.end()) names = group;
  for (const std::string& other : names) {
    CLI::Option* const option = app.get_option_no_throw(other);
    if (option != nullptr && option->count() > 0) return option;
  }
  return nullptr;
}

inline bool is_negated(const LaunchOption& option) {
  return option.value.empty() && option.name.compare(0, 5, "--no-") == 0;
}

/// The option's value as text; flags are "true" or "false".
inline std::string given_value(const LaunchOption& option) {
  if (!option.value.empty()) return option.value;
  return is_negated(option) ? "false" : "true";
}

inline bool is_same_value(const CLI::Option& option, const LaunchOption& given, const CLI::App& app) {
  return app.get_option_no_throw(given.name) == &option && option.results().size() == 1 &&
         lower_case(option.results().front()) == lower_case(given_value(given));
}

/// Writes the option as on a command line: "--tensor 4", "--no-sequence".
inline std::string written_option(const CLI::Option& option) {
  const std::string name = option.get_name();
  if (option.get_expected_max() == 0) return option.results().front() == "false" ? "--no-" + name.substr(2) : name;
  std::string text = name;
  for (const std::string& result : option.results()) text += " " + result;
  return text;
}

/// "; $ARGS (train.sh:3) cannot be evaluated": words of the command that may hold what is missing; empty: there are none.
inline std::string unknown_words(const LaunchedJob& job) {
  std::string text;
  for (const LaunchSetting& setting : job.settings.all())
    if (setting.key == "argument" && !setting.unknown.empty())
      text += (text.empty() ? "; " : ", ") + beginning_of(setting.unknown, 60) + " (" + setting.place.text() + ")";
  return text.empty() ? text : text + " cannot be evaluated";
}

/// Throws an error with all options that a prediction needs and that neither the file nor the command line gives.
inline void check_from_is_complete(CLI::App& app, const LaunchedJob& job) {
  std::vector<std::string> missing;
  for (const Unevaluated& value : job.settings.unevaluated()) {
    const bool is_settled = value.option.empty() || given_instead(app, value.option) != nullptr;
    const bool is_listed = std::any_of(missing.begin(), missing.end(), [&](const std::string& text) {
      return text.compare(0, value.option.size() + 1, value.option + " ") == 0;
    });
    if (!is_settled && !is_listed)
      missing.push_back(value.option + " (" + value.setting.place.text() + ": " +
                        beginning_of(value.setting.written, 60) + ": " + value.why + ")");
  }
  const auto require = [&](const std::string& name, const std::string& why) {
    const bool is_read = std::any_of(job.options.begin(), job.options.end(),
                                     [&](const LaunchOption& option) { return option.name == name; });
    const bool is_listed = std::any_of(missing.begin(), missing.end(), [&](const std::string& text) {
      return text.compare(0, name.size() + 1, name + " ") == 0;
    });
    if (!is_read && !is_listed && given_instead(app, name) == nullptr) missing.push_back(name + " " + why);
  };
  require("--model", "(the file describes none" + unknown_words(job) + ")");
  require("--gpu", "(the file names none)");
  require("--gpus", "(the file gives no number of GPUs)");
  if (missing.empty()) return;
  std::string text = missing.front();
  for (std::size_t i = 1; i < missing.size(); ++i) text += ", " + missing[i];
  throw InputError(job.path + ": also give " + text);
}

/// Throws InputError at the file's place if the GPU does not have the precision that the file gives. If the command line
/// gives several GPUs, the prediction of each one checks it.
inline void check_precision_of_gpu(CLI::App& app, const LaunchedJob& job, const Catalogue& catalogue) {
  const CLI::Option* const given_gpu = app.get_option_no_throw("--gpu");
  const bool is_given = given_gpu != nullptr && given_gpu->count() > 0;
  std::string gpu = is_given && given_gpu->results().size() == 1 ? given_gpu->results().front() : "";
  for (const LaunchOption& option : job.options)
    if (option.name == "--gpu" && !is_given) gpu = option.value;
  const GpuEntry* const entry = catalogue.gpus.named(gpu);
  if (entry == nullptr || given_instead(app, "--precision") != nullptr) return;
  for (const LaunchOption& option : job.options) {
    const bool is_missing =
        (option.value == "fp8" && entry->spec.fp8_flops == 0) || (option.value == "fp4" && entry->spec.fp4_flops == 0);
    if (option.name == "--precision" && is_missing)
      throw InputError((option.place.line > 0 ? option.place.text() : job.path) + ": " + option.written + ": " +
                       entry->name + " has no " + option.value + "; give --precision bf16, or another --gpu");
  }
}

/// The option of the command line that gives a sequence length and so overrides the file's; nullptr: none.
inline const CLI::Option* sequence_length_option(const CLI::App& app) {
  for (const char* name : {"--seq-length", "--sequence"}) {
    const CLI::Option* const option = app.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0 && is_digit(option->results().front().front())) return option;
  }
  return nullptr;
}

/// Fills the options of `app`. Returns what was read, and the options of the command line that overrode it.
struct AppliedLaunch {
  LaunchedJob job;
  std::vector<std::string> overriding;
};
inline AppliedLaunch apply_from(CLI::App& app, const FromOptions& o, const std::vector<int>& gpus,
                                const Catalogue& catalogue) {
  LaunchRequest request{o.path, {}, gpus, o.frees_split};
  if (!o.format.empty()) request.format = find_choice<LaunchFormat>(o.format);
  AppliedLaunch applied{read_launch(request, catalogue), {}};
  check_from_is_complete(app, applied.job);
  check_precision_of_gpu(app, applied.job, catalogue);
  std::vector<std::pair<CLI::Option*, LaunchOption>> filled;
  std::string freed;
  for (LaunchOption given : applied.job.options) {
    const std::vector<std::string>& searched = searched_options();
    if (o.frees_split && std::find(searched.begin(), searched.end(), given.name) != searched.end()) {
      freed += " " + given.name + (given.value.empty() ? "" : " " + given.value);
      continue;
    }
    const CLI::Option* const length = given.name == "--model" ? sequence_length_option(app) : nullptr;
    if (length != nullptr && !split_sized_name(given.value).tokens.empty()) {
      applied.overriding.push_back(written_option(*length) + " instead of the length in --model " + given.value);
      given.value = split_sized_name(given.value).model;
    }
    if (app.get_option_no_throw(given.name) == nullptr) {
      applied.job.notes.push_back(given.name + " " + given.value + " is left out: plan job compares single batches");
      continue;
    }
    CLI::Option* const other = given_instead(app, given.name);
    if (other == nullptr) {
      filled.emplace_back(app.get_option(given.name), given);
    } else if (!is_same_value(*other, given, app)) {
      applied.overriding.push_back(written_option(*other) + " instead of " + given.name +
                                   (given.value.empty() ? "" : " ") + given.value);
    }
  }
  if (!freed.empty()) applied.overriding.push_back("--free-split instead of" + freed);
  for (auto& [option, given] : filled) {
    try {
      option->add_result(given_value(given));
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      throw InputError((given.place.line > 0 ? given.place.text() : o.path) + ": " + given.written + ": " +
                       error.what() + "; correct the file, or give " + given.name);
    }
  }
  return applied;
}

}  // namespace lockstep::sim::launch
