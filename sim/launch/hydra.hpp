#pragma once
// Hydra's configurations: a file names others in its list "defaults".
#include <string>
#include <vector>

#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

class HydraFiles {
 public:
  /// `overrides`: keys of the command, such as "model=llama", which chooses the file of a group.
  HydraFiles(const std::string& path, const LaunchSettings& overrides, const ReadNamedFile& read_named)
      : path_(path), overrides_(overrides), read_named_(read_named) {}

  /// Returns the keys of the file `name` and of those that it names. The file wins over those before "_self_", or over
  /// all if its list does not have "_self_".
  LaunchSettings read(const std::string& text, const std::string& name) { return read(text, name, "", "", 0); }
  const std::vector<std::string>& groups() const { return groups_; }

 private:
  struct Entry {
    LaunchSetting setting;
    std::string group, file, package;  ///< "model" and "gpt" of "- model: gpt"; no group: "- base"
    bool is_self = false, is_optional = false, has_package = false;
  };
  static std::vector<Entry> entries_of(const LaunchSettings& settings);
  LaunchSettings read(const std::string& text, const std::string& name, const std::string& group,
                      const std::string& prefix, int depth);
  void add(const Entry& entry, const std::string& name, const std::string& group, const std::string& prefix, int depth,
           LaunchSettings& all);

  const std::string& path_;  ///< of the launch file
  const LaunchSettings& overrides_;
  const ReadNamedFile& read_named_;
  std::vector<std::string> groups_;
  int files_ = 0;
};

}  // namespace lockstep::sim::launch
