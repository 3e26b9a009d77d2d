#pragma once
// A launch script or configuration as people have it becomes options of `simulate job`. Nothing is run. Every key of the file
// is read, listed with the reason why it is not, or listed as unknown.
#include <optional>
#include <string>
#include <vector>

#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

struct LaunchRequest {
  std::string path;
  std::optional<LaunchFormat> format;  ///< none: by content
  std::vector<int> gpus;               ///< of the command line; empty: those of the file
  bool needs_global_batch = false;     ///< also where the file gives its parts: micro-batch and accumulation
};

struct LaunchedJob {
  std::string path;
  LaunchFormat format = LaunchFormat::megatron;
  std::string title;  ///< "a shell script with Megatron-LM arguments"
  std::vector<LaunchOption> options;
  LaunchSettings settings;
  std::vector<std::string> notes;
};

/// Throws InputError, which names file and line, if the file cannot be read or parsed, or has no format or several. It
/// also throws if sources contradict each other, or if the model cannot be predicted.
LaunchedJob read_launch(const LaunchRequest& request, const Catalogue& catalogue);
/// Reads a text in place of the file.
LaunchedJob read_launch_text(const std::string& text, const LaunchRequest& request, const Catalogue& catalogue);

/// The options as words of a shell, those in `without` left out: "--model llama3_8b@8192 --gpus 64".
std::string command_text(const std::vector<LaunchOption>& options);

/// "read from train.sh: --model ...", what wins over the file, and what was not read. `overriding`: options of the command
/// line that the file has with other values, "--tensor 4 instead of 8 (train.sh:12)".
std::string launch_text(const LaunchedJob& job, const std::vector<std::string>& overriding);
/// Returns these by key: {"file", "format", "options", "overriding", "settings": [{"key", "value", "place", "use",
/// "why"}], "notes"}.
Json launch_json(const LaunchedJob& job, const std::vector<std::string>& overriding);

}  // namespace lockstep::sim::launch
