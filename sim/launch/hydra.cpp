#include "sim/launch/hydra.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/launch/tree.hpp"
#include "sim/launch/tree_syntax.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

// Groups on which no training's rate depends.
bool is_aside(const std::string& group) {
  return is_among(group.substr(0, group.find('/')),
                  {"hydra", "cluster", "launcher", "logger", "logging", "callbacks", "paths", "wandb"});
}

std::string joined_path(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

std::string package_of(std::string group) {
  std::replace(group.begin(), group.end(), '/', '.');
  return group;
}

bool is_global(const std::string& text) {
  const std::string first = without_blanks(text.substr(0, text.find('\n')));
  return first.compare(0, 1, "#") == 0 && first.find("@package _global_") != std::string::npos;
}

}  // namespace

std::vector<HydraFiles::Entry> HydraFiles::entries_of(const LaunchSettings& settings) {
  const std::string list = "defaults";
  std::vector<Entry> entries;
  for (const LaunchSetting& setting : settings.all()) {
    const bool is_list = setting.key == list;
    if (!is_list && setting.key.compare(0, list.size() + 1, list + ".") != 0) continue;
    const std::size_t dot = is_list ? std::string::npos : setting.key.find('.', list.size() + 1);
    std::vector<std::string> files;
    if (setting.value.is_array())
      for (const Json& item : setting.value) files.push_back(plain_text(item));
    else
      files.push_back(setting.value.is_null() ? "" : plain_text(setting.value));
    for (const std::string& file : files) {
      Entry entry;
      entry.setting = setting;
      entry.file = file;
      if (dot != std::string::npos) entry.group = setting.key.substr(dot + 1);
      entry.is_self = entry.group.empty() && file == "_self_";
      const std::size_t blank = entry.group.rfind(' ');
      entry.is_optional = entry.group.compare(0, 9, "optional ") == 0;
      if (blank != std::string::npos && !entry.is_optional) continue;  // "override hydra/launcher"
      if (blank != std::string::npos) entry.group.erase(0, blank + 1);
      const std::size_t at = entry.group.find('@');
      entry.has_package = at != std::string::npos;
      if (entry.has_package) entry.package = entry.group.substr(at + 1);
      if (entry.package == "_global_") entry.package.clear();
      entry.group = entry.group.substr(0, at);
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

LaunchSettings HydraFiles::read(const std::string& text, const std::string& name, const std::string& group,
                                const std::string& prefix, int depth) {
  constexpr int kMostLevels = 8, kMostFiles = 64;
  if (depth > kMostLevels || ++files_ > kMostFiles)
    throw InputError(path_ + ": " + name +
                     ": lists of defaults name each other more than 8 deep, or name more than "
                     "64 files; join them into one");
  const LaunchSettings own = read_tree_as_written(text, path_ + ": " + name, syntax_of(name, text));
  LaunchSettings all;
  const auto add_own = [&] {
    for (LaunchSetting setting : own.all()) {
      if (depth > 0 && setting.key.compare(0, 8, "defaults") == 0) continue;
      if (!prefix.empty()) setting.key = prefix + "." + setting.key;
      all.add(std::move(setting));
    }
  };
  bool has_self = false;
  for (const Entry& entry : entries_of(own)) {
    if (entry.is_self) add_own();
    has_self = has_self || entry.is_self;
    if (!entry.is_self) add(entry, name, group, prefix, depth, all);
  }
  if (!has_self) add_own();
  return all;
}

void HydraFiles::add(const Entry& entry, const std::string& name, const std::string& group, const std::string& prefix,
                     int depth, LaunchSettings& all) {
  LaunchSetting chosen = entry.setting;
  std::string file = entry.file;
  const std::string whole_group = joined_path(group, entry.group);
  if (!entry.group.empty()) {
    groups_.push_back(whole_group);
    for (const LaunchSetting& other : overrides_.all())
      if (other.key == whole_group) {
        chosen = other;
        file = plain_text(other.value);
      }
  }
  if (file.empty() || file == "null" || is_aside(whole_group)) return;
  if (!ends_with(file, ".yaml") && !ends_with(file, ".yml")) file += ".yaml";
  // "- base" lies in this folder; "- model/gpt" in the group "model".
  const std::string beside = std::filesystem::path(name).parent_path().string();
  const std::string path = joined_path(beside, joined_path(entry.group, file));
  const std::optional<std::string> text = chosen.unknown.empty() ? read_named_(path).text : std::nullopt;
  if (!text && entry.is_optional) return;
  if (!text)
    throw InputError(chosen.text() + ": " + path + " is not there; put it there, or write its keys into " + name +
                     " and remove the entry from its list of defaults");
  const std::string folder = entry.group.empty() ? std::filesystem::path(file).parent_path().string() : entry.group;
  const std::string own_package = package_of(folder);
  const bool is_whole = !entry.has_package && is_global(*text);
  std::string package = entry.has_package ? entry.package : own_package;
  if (!prefix.empty()) package = package.empty() ? prefix : prefix + "." + package;
  all.append(read(*text, path, joined_path(group, folder), is_whole ? "" : package, depth + 1));
}

}  // namespace lockstep::sim::launch
