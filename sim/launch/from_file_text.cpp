// Reports as text and JSON what was read from a launch file.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/launch/from_file.hpp"

namespace lockstep::sim::launch {
namespace {

bool is_plain(const std::string& word) {
  const auto is_safe = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string("_-./@,:+=").find(c) != std::string::npos;
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_safe);
}

std::string in_shell_quotes(const std::string& word) {
  if (is_plain(word)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Lists the keys with this use, grouped by reason.
std::string uses_text(const LaunchSettings& settings, Use use, const std::string& head) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const LaunchSetting& setting : settings.all()) {
    if (setting.use != use) continue;
    const std::string name =
        beginning_of(setting.written, 60) +
        (use == Use::unknown && setting.place.line > 0 ? " (line " + std::to_string(setting.place.line) + ")" : "");
    const auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == setting.why; });
    if (group == groups.end())
      groups.emplace_back(setting.why, name);
    else
      group->second += ", " + name;
  }
  if (groups.empty()) return "";
  std::string text = head;
  for (std::size_t i = 0; i < groups.size(); ++i)
    text += (i > 0 ? "; " : " ") + groups[i].second + (groups[i].first.empty() ? "" : " (" + groups[i].first + ")");
  return text + "\n";
}

}  // namespace

std::string command_text(const std::vector<LaunchOption>& options) {
  std::string text;
  for (const LaunchOption& option : options) {
    text += (text.empty() ? "" : " ") + option.name;
    if (!option.value.empty()) text += " " + in_shell_quotes(option.value);
  }
  return text;
}

std::string launch_text(const LaunchedJob& job, const std::vector<std::string>& overriding) {
  std::string text = "read from " + job.path + ": " + command_text(job.options) + "\n";
  text += "format: " + job.title + " (" + name_of(job.format) + ")\n";
  if (!overriding.empty()) text += "the command line wins: " + joined(overriding) + "\n";
  text += uses_text(job.settings, Use::no_effect, "ignored, no effect on speed:");
  text += uses_text(job.settings, Use::not_simulated, "not simulated:");
  text += uses_text(job.settings, Use::unknown, "unknown, not read:");
  for (const std::string& note : job.notes) text += "note: " + note + "\n";
  return text;
}

Json launch_json(const LaunchedJob& job, const std::vector<std::string>& overriding) {
  Json settings = Json::array();
  for (const LaunchSetting& setting : job.settings.all()) {
    Json entry{{"key", setting.written},
               {"value", setting.value},
               {"place", setting.place.text()},
               {"use", name_of(setting.use)}};
    if (!setting.why.empty()) entry["why"] = setting.why;
    settings.push_back(entry);
  }
  return {{"file", job.path},         {"format", name_of(job.format)}, {"options", command_text(job.options)},
          {"overriding", overriding}, {"settings", settings},          {"notes", job.notes}};
}

}  // namespace lockstep::sim::launch
