#pragma once
// The shipped launch scripts and configurations.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/launch/from_file.hpp"
#include "sim/scenario/scenario_template.hpp"
#include "tests/base/input_error.hpp"

namespace lockstep::tests {

inline const std::string kLaunchCorpus = LOCKSTEP_SOURCE_DIR "/scenarios/launch/";
inline const std::string kBrokenLaunches = LOCKSTEP_SOURCE_DIR "/tests/launch/broken/";

inline const sim::Catalogue& launch_catalogue() {
  static const sim::Catalogue catalogue = sim::load_catalogue(LOCKSTEP_SOURCE_DIR "/scenarios/catalogue");
  return catalogue;
}

/// Returns the names of the launch files in a folder.
inline std::vector<std::string> launch_files(const std::string& folder = kLaunchCorpus) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() != ".md") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline sim::LaunchedJob launched(const std::string& name) {
  return sim::read_launch({kLaunchCorpus + name, {}, {}}, launch_catalogue());
}

/// Reads a text as if it were the content of "train.sh".
inline sim::LaunchedJob launched_text(const std::string& text, const std::string& path = "train.sh") {
  return sim::read_launch_text(text, {path, {}, {}}, launch_catalogue());
}

/// Returns an option's value: "" for a flag, "absent" if the job does not have it.
inline std::string option_of(const sim::LaunchedJob& job, const std::string& name) {
  for (const sim::LaunchOption& option : job.options)
    if (option.name == name) return option.value;
  return "absent";
}

/// Returns options that must be given because values cannot be read, with the reason.
inline std::string needed_of(const sim::LaunchedJob& job) {
  std::string text;
  for (const sim::launch::Unevaluated& one : job.settings.unevaluated()) text += one.option + " " + one.why + "\n";
  return text;
}

/// Returns the notes, one per line.
inline std::string notes_of(const sim::LaunchedJob& job) {
  std::string text;
  for (const std::string& note : job.notes) text += note + "\n";
  return text;
}

}  // namespace lockstep::tests
