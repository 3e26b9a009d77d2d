// Determines the nodes and GPUs that a script requests: by launcher options, host lists, directives and environment.
#include <algorithm>
#include <sstream>

#include "engine/base/text.hpp"
#include "sim/launch/launch_line.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

// Reads a number with or without a GPU's name, "8", "h100:8" or "gpu:h100:8", and gives the name.
std::int64_t read_typed_count(const std::string& text, const LaunchSetting& setting, Facts& f,
                              const Catalogue& catalogue) {
  std::vector<std::string> parts = parts_of(text, ':');
  if (parts.front() == "gpu") parts.erase(parts.begin());
  if (parts.empty()) return 1;
  const std::string last = parts.back();
  const bool has_count = is_count(last);
  if (has_count) parts.pop_back();
  if (!parts.empty() && !f.has("--gpu")) {
    if (catalogue.gpus.named(parts.back()) != nullptr)
      f.give("--gpu", parts.back(), setting.place, setting.written);
    else
      f.notes.push_back(setting.text() + ": no GPU of the catalogue has this name; give --gpu");
  }
  return has_count ? std::stoi(last) : 1;
}

void read_gpus_of_node(LaunchSettings& s, const std::string& key, Facts& f, const Catalogue& catalogue) {
  const auto text = s.text(key, "--gpus-per-node");
  if (!text) return;
  const LaunchSetting& setting = s.at(key);
  const std::string item = gpu_item(*text, !ends_with(key, ".gres"));
  if (item.empty()) return s.mark(key, Use::no_effect, "it names no GPUs");
  f.give_gpus_per_node(read_typed_count(item, setting, f, catalogue), setting.place, setting.written);
}

void read_gpus_of_job(LaunchSettings& s, const std::string& key, Facts& f, const Catalogue& catalogue) {
  const auto text = s.text(key, "--gpus");
  if (!text) return;
  const LaunchSetting& setting = s.at(key);
  f.give_gpus(read_typed_count(gpu_item(*text, true), setting, f, catalogue), setting.place, setting.written);
}

void read_count(LaunchSettings& s, const std::string& key,
                void (Facts::*give)(std::int64_t, const Place&, const std::string&), Facts& f) {
  const LaunchSetting* setting = s.take(key, "--gpus");
  if (setting == nullptr) return;
  const std::vector<std::string> bounds = parts_of(plain_text(setting->value), ':');  // torchrun's "2:4"
  const bool is_fixed = bounds.size() == 2 && bounds.front() == bounds.back();
  const std::string text = is_fixed ? bounds.front() : plain_text(setting->value);
  if (!is_count(text)) {
    f.has_unknown_nodes = f.has_unknown_nodes || give == &Facts::give_nodes;
    s.mark(key, Use::not_simulated, "no fixed number; give --gpus and --gpus-per-node");
    f.notes.push_back(setting->text() + ": no fixed number; give --gpus and --gpus-per-node");
    return;
  }
  (f.*give)(std::stoi(text), setting->place, setting->written);
}

// Number of hosts, and GPUs per host; 0: not given, or different among hosts.
struct Hosts {
  std::int64_t count = 0, gpus = 0;
  void add(std::int64_t gpus_of_host) {
    gpus = count == 0 || gpus == gpus_of_host ? gpus_of_host : 0;
    ++count;
  }
};

// If the list has more slots than processes are started, it does not give the machine.
void give_hosts(const Hosts& hosts, LaunchSettings& s, const std::string& key, Facts& f) {
  const LaunchSetting* const taken = s.take(key);
  if (taken == nullptr) return;
  const LaunchSetting setting = *taken;
  if (f.has_size() && f.gpus() && *f.gpus() != hosts.count * hosts.gpus)
    return s.mark(key, Use::no_effect, "other options give the number of GPUs");
  const bool has_own = f.has_gpus_per_node();  // "--num_gpus 4" of hosts with 8
  if (hosts.count > 0) f.give_nodes(hosts.count, setting.place, setting.written);
  if (hosts.gpus > 0 && !has_own) f.give_gpus_per_node(hosts.gpus, setting.place, setting.written);
}

// Splits DeepSpeed's "worker-0@worker-1:0,2" into hosts, each with a list of GPUs; without a list, it uses all of them.
std::vector<std::vector<std::string>> included_hosts(const std::string& text) {
  std::vector<std::vector<std::string>> hosts;
  for (const std::string& host : parts_of(text, '@')) hosts.push_back(parts_of(host, ':'));
  return hosts;
}

void read_included_gpus(LaunchSettings& s, Facts& f) {
  const auto text = s.text("deepspeed.include", "--gpus");
  if (!text) return;
  const LaunchSetting setting = s.at("deepspeed.include");
  Hosts hosts;
  bool lists_gpus = false;
  for (const std::vector<std::string>& host : included_hosts(*text)) {
    hosts.add(host.size() < 2 ? 0 : static_cast<std::int64_t>(parts_of(host[1], ',').size()));
    lists_gpus = lists_gpus || host.size() > 1;
  }
  if (lists_gpus && hosts.gpus == 0) {
    for (const char* option : {"--gpus", "--gpus-per-node"})
      s.require_option(setting, option, "its hosts have different numbers of GPUs");
    return;
  }
  f.give_nodes(hosts.count, setting.place, setting.written);
  if (lists_gpus) f.give_gpus_per_node(hosts.gpus, setting.place, setting.written);
}

void require_gpus_without_excluded(LaunchSettings& s) {
  if (const LaunchSetting* const setting = s.take("deepspeed.exclude", "--gpus"); setting != nullptr)
    for (const char* option : {"--gpus", "--gpus-per-node"})
      s.require_option(*setting, option, "it excludes hosts or GPUs of the host file");
}

// MPI's "host-1:8,host-2:8" gives the number of processes per host.
void read_host_list(LaunchSettings& s, bool starts_processes, Facts& f) {
  for (const char* key : {"mpirun.H", "mpirun.host", "mpirun.hosts"}) {
    const auto text = s.text(key, "--gpus");
    if (!text) continue;
    Hosts hosts;
    for (const std::string& host : parts_of(*text, ',')) {
      const std::vector<std::string> parts = parts_of(host, ':');
      hosts.add(parts.size() > 1 && is_count(parts[1]) && !starts_processes ? std::stoll(parts[1]) : 0);
    }
    give_hosts(hosts, s, key, f);
  }
}

// Reads lines such as "worker-1 slots=8" or "worker-1:8".
void read_host_file(LaunchSettings& s, bool starts_processes, Facts& f, const ReadNamedFile& read_named) {
  for (const char* key : {"deepspeed.hostfile", "deepspeed.H", "mpirun.hostfile", "mpirun.machinefile", "mpirun.f"}) {
    const auto name = s.file_name(key);
    if (!name) continue;
    const std::string written = key;
    const std::int64_t most = s.whole("deepspeed.num_nodes", "--gpus").value_or(0);  // it takes the first hosts
    std::vector<std::string> included;
    for (const auto& host : included_hosts(s.text("deepspeed.include").value_or(""))) included.push_back(host.front());
    s.mark(key, Use::not_simulated, "the file is not there; --gpus gives the number of GPUs");
    const std::optional<std::string> text = read_named(*name).text;
    if (!text || text->size() > (1 << 20)) continue;
    Hosts hosts;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line.substr(0, line.find('#')));
      std::string host, slots;
      if (!(words >> host) || (s.has("deepspeed.include") && !is_among(host, included))) continue;
      words >> slots;
      const std::string number = slots.substr(slots.find('=') + 1), behind = host.substr(host.find(':') + 1);
      const std::string count = is_count(number) ? number : is_count(behind) ? behind : "0";
      const bool is_deepspeed = written.compare(0, 10, "deepspeed.") == 0;
      if (is_deepspeed && most > 0 && hosts.count == most) break;
      hosts.add(is_deepspeed || !starts_processes ? std::stoll(count) : 0);
    }
    give_hosts(hosts, s, key, f);
  }
}

// "--map-by ppr:8:node": processes per node. "ppr:4:socket" needs the sockets of a node, which no option gives.
void read_mapping(LaunchSettings& s, Facts& f) {
  const auto text = s.text("mpirun.map_by", "--gpus-per-node");
  if (!text) return;
  const LaunchSetting& setting = s.at("mpirun.map_by");
  const std::vector<std::string> parts = parts_of(lower_case(*text), ':');
  if (parts.front() != "ppr") return s.mark("mpirun.map_by", Use::no_effect, "where processes run within a node");
  if (parts.size() < 3 || !is_count(parts[1]))
    fail_at(setting, "is no number of processes per resource", "give ppr:8:node");
  if (parts[2] == "node") return f.give_gpus_per_node(std::stoll(parts[1]), setting.place, setting.written);
  if (!f.has_gpus_per_node())
    s.require_option(setting, "--gpus-per-node", "the number of " + parts[2] + "s per node is not known");
}

// Processes, tasks or GPUs per socket: the GPUs of a node follow only if another key gives them.
void read_counts_of_socket(LaunchSettings& s, Facts& f) {
  for (const char* key : {"mpirun.npersocket", "sbatch.ntasks_per_socket", "srun.ntasks_per_socket",
                          "sbatch.gpus_per_socket", "srun.gpus_per_socket"}) {
    const LaunchSetting* const setting = s.take(key, "--gpus-per-node");
    if (setting != nullptr && !f.has_gpus_per_node())
      s.require_option(*setting, "--gpus-per-node", "the number of sockets per node is not known");
  }
}

// Options of srun hold for its step, and replace those of the job.
void prefer_step(LaunchSettings& s) {
  for (const auto& [from, to] : {std::pair<const char*, const char*>{"N", "nodes"}, {"n", "ntasks"}, {"G", "gpus"}})
    for (const std::string launcher : {"srun.", "flux."}) s.rename(launcher + from, launcher + to);
  s.rename("flux.g", "flux.gpus_per_task");
  s.rename("flux.tasks_per_node", "flux.ntasks_per_node");
  for (const std::string launcher : {"srun.", "flux.", "sbatch."}) {
    const std::string key = launcher + "gpus_per_task";
    const LaunchSetting* const setting = s.has(key) ? s.take(key, "--gpus") : nullptr;
    if (setting == nullptr) continue;
    const std::string text = plain_text(setting->value);  // "h100:2"
    s.replace(key, last_part_of(text, ':'));
  }
  const std::vector<std::vector<std::string>> groups{
      {"nodes"}, {"ntasks"}, {"ntasks_per_node"}, {"gpus_per_node", "gres"}, {"gpus"}, {"gpus_per_task"}};
  for (const std::vector<std::string>& group : groups)
    for (const std::string& name : group) {
      if (!s.has("srun." + name)) continue;
      const std::string why = "srun gives it at " + s.at("srun." + name).place.text();
      for (const std::string& other : group) s.set_aside("sbatch." + other, why);
    }
}

// Reads Summit's jsrun: resource sets (-n) of -g GPUs each.
void read_resource_sets(LaunchSettings& s, Facts& f) {
  const auto sets = s.whole("jsrun.n", "--gpus"), gpus = s.whole("jsrun.g", "--gpus");
  const auto of_host = s.whole("jsrun.r", "--gpus-per-node");
  if (!sets || !gpus || *sets < 1 || *gpus < 1 || *sets > 1'000'000 || *gpus > 1000) return;
  const LaunchSetting* const setting = s.take("jsrun.n");
  f.give_gpus(*sets * *gpus, setting->place, setting->written);
  if (of_host && *of_host > 0 && *of_host < 1000) f.give_gpus_per_node(*of_host * *gpus, setting->place, "-r, -g");
}

// The number that srun, or else sbatch, gives.
std::optional<std::int64_t> number_of_job(LaunchSettings& s, const std::string& name) {
  for (const std::string launcher : {"srun.", "flux.", "sbatch."}) {
    const std::string key = launcher + name;
    const LaunchSetting* const setting = s.has(key) ? s.take(key) : nullptr;
    if (setting != nullptr && is_count(plain_text(setting->value))) return std::stoll(plain_text(setting->value));
  }
  return std::nullopt;
}

// The GPUs of a node are those of a task times the tasks of a node; without those, the GPUs of the job follow.
void read_gpus_of_task(LaunchSettings& s, Facts& f) {
  for (const std::string launcher : {"srun.", "flux.", "sbatch."}) {
    const std::string key = launcher + "gpus_per_task";
    const auto gpus = s.whole(key, "--gpus-per-node");
    if (!gpus || *gpus < 1 || *gpus > 1000 || f.gpus()) continue;
    const auto of_node = number_of_job(s, "ntasks_per_node"), tasks = number_of_job(s, "ntasks");
    const LaunchSetting setting = s.at(key);
    if (of_node)
      f.give_gpus_per_node(*gpus * *of_node, setting.place, setting.written);
    else if (tasks)
      f.give_gpus(*gpus * *tasks, setting.place, setting.written);
    else
      f.give_gpus_per_node(*gpus, setting.place, setting.written);  // one task per node
  }
}

// "srun --ntasks-per-node=2 torchrun --nproc_per_node 4": the GPUs of a node are those of both launchers.
void refuse_several_launchers(LaunchSettings& s, const LaunchLine& line) {
  if (!line.starts_processes) return;
  const LaunchSetting* setting = s.take("srun.ntasks_per_node");
  if (setting == nullptr && line.is_task && !s.has("srun.ntasks")) setting = s.take("sbatch.ntasks_per_node");
  if (setting == nullptr || plain_text(setting->value) == "1") return;
  for (const char* option : {"--gpus", "--gpus-per-node"})
    s.require_option(*setting, option, "srun starts several launchers on each node");
}

// "srun -N 1 -w $host torchrun --nnodes 4" for each host: the launcher gives the nodes of the job.
void prefer_launcher(LaunchSettings& s) {
  const LaunchSetting* const step = s.has("srun.nodes") ? s.take("srun.nodes") : nullptr;
  if (step == nullptr || plain_text(step->value) != "1") return;
  for (const char* key : {"torchrun.nnodes", "accelerate.num_machines"})
    if (s.has(key)) s.set_aside("srun.nodes", "each step starts one of the nodes of " + s.at(key).written);
}

// Each task of srun without a launcher of its own is a rank; with several GPUs per task, the job has more GPUs.
bool tasks_are_ranks(LaunchSettings& s, const LaunchLine& line) {
  for (const char* key : {"srun.gpus_per_task", "flux.gpus_per_task", "sbatch.gpus_per_task"}) {
    if (!s.has(key) || line.starts_processes) continue;
    const LaunchSetting* const setting = s.take(key, "--gpus");
    if (setting == nullptr || !is_count(plain_text(setting->value))) return false;  // the user gives the GPUs
  }
  const auto gpus = number_of_job(s, "gpus_per_task");
  return !line.starts_processes && gpus.value_or(1) == 1;
}

// Refuses fewer visible GPUs than processes of a node: a process without a GPU fails. DeepSpeed ignores the variable if
// its own options give GPUs (deepspeed/launcher/runner.py).
void read_visible_gpus(LaunchSettings& s, const LaunchLine& line, const Word& visible, Facts& f) {
  const std::string key = "env.CUDA_VISIBLE_DEVICES", written = "CUDA_VISIBLE_DEVICES";
  const std::vector<std::string> devices = parts_of(visible.text, ',');
  const auto count = static_cast<std::int64_t>(devices.size());
  const bool are_numbers =
      std::all_of(devices.begin(), devices.end(), [](const std::string& device) { return is_count(device); });
  const bool has_one_launcher = line.starts_processes || line.is_framework;
  if (!are_numbers || (count > 1 && !has_one_launcher)) return;
  for (const char* option : {"num_gpus", "num_nodes", "include", "exclude", "hostfile", "H"})
    if (s.has(std::string("deepspeed.") + option))
      return s.mark(key, Use::no_effect,
                    "DeepSpeed ignores it because of " + s.at(std::string("deepspeed.") + option).written);
  const std::int64_t of_node = f.gpus_of_node(), processes = of_node > 0 ? of_node : f.gpus().value_or(0);
  if (f.gpus() && (count >= processes || !has_one_launcher))
    return s.mark(key, count == processes ? Use::read : Use::no_effect,
                  count == processes ? "" : "other options give the number of GPUs");
  s.mark(key, Use::read, "");
  if (f.gpus() && of_node == 0) return f.give_gpus(count, visible.place, written);
  f.give_gpus_per_node(count, visible.place, written);
}

// Reads variables of the frameworks' launchers, and the GPUs that the process can see.
void read_variables(LaunchSettings& s, const LaunchLine& line, const ShellScript& script, Facts& f) {
  const auto value_of = [&](const std::string& name) {
    const auto& variables = variables_of(script, line.shell).variables;
    const auto found = variables.find(name);
    const bool is_known =
        found != variables.end() && found->second.size() == 1 && found->second.front().unknown.empty();
    return is_known ? &found->second.front() : nullptr;
  };
  if (line.is_framework) {
    const Word *const nodes = value_of("NNODES"), *const processes = value_of("NPROC_PER_NODE");
    if (nodes != nullptr && is_count(nodes->text)) f.give_nodes(std::stoll(nodes->text), nodes->place, "NNODES");
    if (processes != nullptr && is_count(processes->text))
      f.give_gpus_per_node(std::stoll(processes->text), processes->place, "NPROC_PER_NODE");
  }
  const Word* const visible = value_of("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) read_visible_gpus(s, line, *visible, f);
}

}  // namespace

void read_machine(LaunchSettings& s, const LaunchLine& line, const ShellScript& script, Facts& f,
                  const Catalogue& catalogue, const ReadNamedFile& read_named) {
  prefer_step(s);
  prefer_launcher(s);
  const bool starts_processes = line.starts_processes || !tasks_are_ranks(s, line);
  for (const char* key : {"sbatch.nodes", "srun.nodes", "flux.nodes", "sky.num_nodes", "torchrun.nnodes",
                          "deepspeed.num_nodes", "accelerate.num_machines"})
    read_count(s, key, &Facts::give_nodes, f);
  for (const char* key : {"sbatch.gpus_per_node", "sbatch.gres", "srun.gpus_per_node", "srun.gres",
                          "flux.gpus_per_node", "sky.accelerators"})
    read_gpus_of_node(s, key, f, catalogue);
  if (line.is_framework) read_count(s, "nnodes", &Facts::give_nodes, f);  // tune run
  if (line.is_framework) read_count(s, "nproc_per_node", &Facts::give_gpus_per_node, f);
  read_count(s, "composer.world_size", &Facts::give_gpus, f);
  for (const char* key : {"torchrun.nproc_per_node", "deepspeed.num_gpus", "composer.n", "composer.nproc"})
    read_count(s, key, &Facts::give_gpus_per_node, f);
  for (const char* key : {"sbatch.gpus", "srun.gpus", "flux.gpus"}) read_gpus_of_job(s, key, f, catalogue);
  read_count(s, "accelerate.num_processes", &Facts::give_gpus, f);
  for (const char* key : {"sbatch.ntasks", "srun.ntasks", "flux.ntasks", "mpirun.np", "mpirun.n"}) {
    if (!starts_processes)
      read_count(s, key, &Facts::give_gpus, f);
    else
      s.mark(key, Use::no_effect, "each task has several GPUs, or starts the launcher of a node");
  }
  for (const char* key : {"sbatch.ntasks_per_node", "srun.ntasks_per_node", "flux.ntasks_per_node", "mpirun.npernode",
                          "mpirun.N", "mpirun.ppn"}) {
    if (!starts_processes)
      read_count(s, key, &Facts::give_gpus_per_node, f);
    else
      s.mark(key, Use::no_effect, "each task has several GPUs, or starts the launcher of a node");
  }
  require_gpus_without_excluded(s);
  read_included_gpus(s, f);
  read_host_list(s, starts_processes, f);
  read_host_file(s, starts_processes, f, read_named);
  read_resource_sets(s, f);
  read_gpus_of_task(s, f);
  refuse_several_launchers(s, line);
  if (!starts_processes) read_mapping(s, f);
  if (!starts_processes) read_counts_of_socket(s, f);
  read_variables(s, line, script, f);
}

}  // namespace lockstep::sim::launch
