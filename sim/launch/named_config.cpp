#include "sim/launch/named_config.hpp"

#include <filesystem>

#include "engine/base/text.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/tree_syntax.hpp"

namespace lockstep::sim::launch {

void append_named_file(LaunchSettings& s, const std::string& key, const std::string& prefix,
                       const ReadNamedFile& read_named, const std::string& option) {
  const auto name = s.file_name(key);
  if (!name) return;
  LaunchSetting setting;
  for (const LaunchSetting& one : s.all())
    if (one.key == key) setting = one;
  s.mark(key, Use::read, "");
  const bool is_text = name->find_first_not_of(" \t\n") != std::string::npos && name->front() == '{';
  const NamedFile file = is_text ? NamedFile{*name, ""} : read_named(*name);
  if (!file.text) {
    s.mark(key, Use::not_simulated, "its keys are not read: " + file.why);
    const bool is_known = setting.unknown.empty();
    return s.require_option(
        setting, option,
        is_known ? file.why + "; correct it, or give the option" : one_line(setting.unknown) + " cannot be evaluated");
  }
  const std::string place = is_text ? setting.place.text() : setting.place.file + ": " + *name;
  const LaunchSettings named = read_tree(*file.text, place, is_text ? TreeSyntax::json : syntax_of(*name, *file.text));
  for (LaunchSetting one : named.all()) {
    one.key = prefix + one.key;
    s.add(std::move(one));
  }
}

namespace {

// The configuration at a path, or in a folder, from here or from the folder of the file that names it. Empty: none.
std::string path_of_model(const std::string& name, const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(file.substr(0, file.find(": "))).parent_path();
  std::error_code error;
  for (const fs::path& path : {fs::path(name), folder / name}) {
    if (path.extension() == ".json" && fs::is_regular_file(path, error)) return path.string();
    if (fs::is_regular_file(path / "config.json", error)) return (path / "config.json").string();
  }
  return "";
}

}  // namespace

void give_named_model(LaunchSettings& s, Facts& f, const std::string& key, const Catalogue& catalogue) {
  const auto name = s.text(key, "--model");
  if (!name || f.has("--model")) return;
  if (const ModelEntry* entry = model_named(*name, catalogue))
    return f.give_from("--model", sized_name(entry->id, f.sequence), s, key);
  if (const std::string path = path_of_model(*name, s.take(key)->place.file); !path.empty())
    return f.give_from("--model", sized_name(path, f.sequence), s, key);
  s.require_option(s.at(key), "--model",
                   in_quotes(*name) + " is no model of the catalogue; --model also takes the path of its config.json");
}

std::vector<UnreadKeys> both_tables(const std::vector<UnreadKeys>& a, const std::vector<UnreadKeys>& b) {
  std::vector<UnreadKeys> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

bool has_any_key(const LaunchSettings& settings, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (settings.has(key)) return true;
  return false;
}

}  // namespace lockstep::sim::launch
