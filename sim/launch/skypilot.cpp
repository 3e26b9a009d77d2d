#include "sim/launch/skypilot.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

const std::string kPrefix = "sky.", kAccelerators = "sky.resources.accelerators";

// "accelerators: {H100: 8}" means "H100:8". A list offers several machines; their number of GPUs is read if all agree.
void join_accelerators(LaunchSettings& s) {
  LaunchSetting setting;
  std::vector<std::string> names;
  for (const LaunchSetting& one : s.all()) {
    const bool is_map = one.key.compare(0, kAccelerators.size() + 1, kAccelerators + ".") == 0;
    if (!is_map && one.key != kAccelerators) continue;
    setting = one;
    if (is_map) names.push_back(one.key.substr(kAccelerators.size() + 1) + ":" + plain_text(one.value));
    if (!is_map && one.value.is_array())
      for (const Json& item : one.value) names.push_back(plain_text(item));
  }
  if (names.empty()) return;
  const auto count = [](const std::string& name) { return name.substr(std::min(name.size(), name.find(':'))); };
  const bool are_equal = std::all_of(names.begin(), names.end(),
                                     [&](const std::string& name) { return count(name) == count(names.front()); });
  const std::string number = count(names.front()).empty() ? "1" : count(names.front()).substr(1);
  if (names.size() == 1)
    s.mark(kAccelerators + "*", Use::read, "");
  else
    s.mark(kAccelerators + "*", Use::not_simulated, "a choice of GPUs: give --gpu");
  if (names.size() > 1 && !are_equal)
    return s.require_option(setting, "--gpus", "the choices have different numbers of GPUs");
  setting.key = "sky.accelerators";
  setting.value = names.size() == 1 ? names.front() : number;
  setting.use = Use::unread;
  s.add(setting);
}

}  // namespace

bool is_sky_task(const LaunchSettings& s) {
  if (!s.has("run")) return false;
  const auto is_of_task = [](const LaunchSetting& setting) {
    return setting.key.compare(0, 10, "resources.") == 0 || setting.key == "num_nodes" || setting.key == "setup" ||
           setting.key == "workdir" || setting.key.compare(0, 5, "envs.") == 0;
  };
  return std::any_of(s.all().begin(), s.all().end(), is_of_task);
}

SkyTask read_sky_task(const LaunchSettings& settings) {
  SkyTask task;
  // "$": the value is not known.
  const auto set = [&](const std::string& name, const std::string& text, const Place& place) {
    const bool is_known = text != "$";
    task.environment[name] = {is_known ? text : "$" + name, is_known ? "" : "$" + name, place};
  };
  for (LaunchSetting setting : settings.all()) {
    const std::string key = setting.key, text = plain_text(setting.value);
    for (const std::string section : {"envs.", "secrets."})
      if (key.compare(0, section.size(), section) == 0)
        set(key.substr(section.size()), setting.value.is_null() ? "$" : text, setting.place);
    if (key == "run") {
      if (text.empty()) fail_at(setting, "no command", "give the commands of the task");
      task.script = std::string(static_cast<std::size_t>(std::max(0, setting.place.line)), '\n') + text;
      setting.value = "(the script)";
      setting.use = Use::read;
    }
    setting.key = kPrefix + key;
    task.settings.add(std::move(setting));
  }
  join_accelerators(task.settings);
  const LaunchSetting* const accelerators =
      task.settings.has("sky.accelerators") ? &task.settings.at("sky.accelerators") : nullptr;
  const LaunchSetting* const single = task.settings.has(kAccelerators) ? &task.settings.at(kAccelerators) : nullptr;
  if (accelerators == nullptr && single != nullptr) {
    LaunchSetting setting = *single;
    setting.key = "sky.accelerators";
    task.settings.set_aside(kAccelerators, "read as the GPUs of a node");
    task.settings.add(std::move(setting));
  }
  const Place place{settings.all().front().place.file, 0};
  const auto nodes = task.settings.whole("sky.num_nodes", "--gpus");
  set("SKYPILOT_NUM_NODES", std::to_string(nodes.value_or(1)), place);
  set("SKYPILOT_NODE_RANK", "0", place);
  set("SKYPILOT_NODE_IPS", "$", place);
  if (task.settings.has("sky.accelerators")) {
    const std::string text = plain_text(task.settings.at("sky.accelerators").value);
    const std::size_t colon = text.rfind(':');
    const bool is_number = is_count(text);
    set("SKYPILOT_NUM_GPUS_PER_NODE",
        colon != std::string::npos ? text.substr(colon + 1)
        : is_number                ? text
                                   : "1",
        place);
  }
  return task;
}

const std::vector<UnreadKeys>& sky_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "names, folders, storage and secrets",
       "sky.name sky.workdir* sky.file_mounts.* sky.storage* sky.volumes.* sky.secrets.* sky.envs.* sky.config.* "
       "sky.resources.disk* sky.resources.image_id sky.resources.ports* sky.resources.labels.* sky.resources.autostop* "
       "sky.resources.cpus sky.resources.memory"},
      {Use::no_effect, "commands before the training, which are not read", "sky.setup"},
      {Use::not_simulated, "give --network or --intra-node-link for the machine of that cloud",
       "sky.resources.cloud sky.resources.infra sky.resources.region sky.resources.zone sky.resources.instance_type "
       "sky.resources.network_tier"},
      {Use::not_simulated, "interruptions are not predicted unless their rate is given",
       "sky.resources.use_spot sky.resources.job_recovery* sky.resources.spot_recovery sky.resources.max_hourly_cost"},
      {Use::not_simulated, "a choice of machines: give --gpu and --gpus",
       "sky.resources.any_of.* sky.resources.ordered.*"},
      {Use::not_simulated, "predicted as the software's defaults", "sky.resources.*"},
      {Use::no_effect, "a service, which is no training", "sky.service.*"},
      {Use::no_effect, "variables of the task, which are read where the script uses them", "env.*"},
  };
  return all;
}

}  // namespace lockstep::sim::launch
