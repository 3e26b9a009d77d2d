#include "calib/topology/machine.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "calib/topology/pci.hpp"
#include "engine/base/text.hpp"
#include "engine/nvml/nvml.hpp"

namespace lockstep::calib {
namespace {

// A GPU as NVML reports it, as the PCI tree lists it, or both.
struct Gpu {
  std::optional<nvml::Gpu> told;
  std::optional<PciDevice> seen;
};

struct Machine {
  std::unique_ptr<nvml::Library> library;  // null: not available, see `why`
  std::string why;
  std::vector<Gpu> gpus;  // in NVML's order; by address without NVML
  std::vector<PciDevice> nics;
  int nvswitches = 0;
};

Machine look(const TopologySources& sources) {
  Machine machine;
  const std::vector<PciDevice> devices = pci_devices(sources.sysfs);
  std::vector<nvml::Gpu> told;
  machine.library = nvml::Library::open(machine.why, sources.nvml);
  if (machine.library) {
    try {
      told = machine.library->gpus();
    } catch (const std::exception& error) {  // NVML fails if a GPU fell off the bus; the PCI tree still has the rest
      machine.library.reset();
      machine.why = error.what();
    }
  }
  for (const nvml::Gpu& gpu : told) machine.gpus.push_back({gpu, std::nullopt});
  for (const PciDevice& device : devices) {
    if (device.is_nic()) machine.nics.push_back(device);
    if (device.is_nvswitch()) ++machine.nvswitches;
    if (!device.is_nvidia_gpu()) continue;
    const auto known = std::find_if(machine.gpus.begin(), machine.gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.told && gpu.told->pci == device.address; });
    if (known != machine.gpus.end())
      known->seen = device;
    else if (!machine.library)  // with NVML, such a GPU is hidden from this user
      machine.gpus.push_back({std::nullopt, device});
  }
  return machine;
}

// ---- facts ----

// Omits members whose value is unknown.
template <typename Value>
void note(Json& json, const char* name, const Value& value) {
  if (value != Value{}) json[name] = value;
}

Json nvlinks_json(const std::vector<nvml::NvLink>& links) {
  Json json = Json::array();
  for (const nvml::NvLink& link : links) {
    Json one{{"number", link.number}};
    note(one, "version", link.version);
    note(one, "remote", link.remote);
    note(one, "remote_pci", link.remote_pci);
    json.push_back(one);
  }
  return json;
}

void note_pci(Json& json, const PciDevice& device) {
  json["pci"] = device.address;
  if (device.numa_node >= 0) json["numa_node"] = device.numa_node;
  note(json, "pcie_bandwidth", device.link_bandwidth());
}

Json gpu_json(const Gpu& gpu) {
  Json json = Json::object();
  if (gpu.told) {
    const nvml::Gpu& told = *gpu.told;
    note(json, "name", told.name);
    note(json, "uuid", told.uuid);
    note(json, "pci", told.pci);
    note(json, "pcie_generation", told.highest_pcie_generation);
    note(json, "pcie_width", told.highest_pcie_width);
    note(json, "clock_hz", told.clock_hz);
    note(json, "highest_clock_hz", told.highest_clock_hz);
    note(json, "memory_clock_hz", told.memory_clock_hz);
    note(json, "power_limit_w", told.power_limit_w);
    note(json, "clock_reasons", told.clock_reasons);
    if (!told.nvlinks.empty()) json["nvlinks"] = nvlinks_json(told.nvlinks);
  }
  if (gpu.seen) note_pci(json, *gpu.seen);
  return json;
}

Json nic_json(const PciDevice& nic) {
  Json json = Json::object();
  note(json, "name", joined(nic.interfaces));
  note_pci(json, nic);
  return json;
}

// ---- links ----

int links_to(const nvml::Gpu& gpu, const std::string& remote, const std::string& pci) {
  return static_cast<int>(std::count_if(gpu.nvlinks.begin(), gpu.nvlinks.end(), [&](const nvml::NvLink& link) {
    return link.remote == remote && (pci.empty() || link.remote_pci == pci);
  }));
}

// Number of direct NVLinks; without any, the smaller of both GPUs' links to switches.
int nvlinks_between(const nvml::Gpu& a, const nvml::Gpu& b) {
  const int direct = b.pci.empty() ? 0 : links_to(a, "gpu", b.pci);
  return direct > 0 ? direct : std::min(links_to(a, "switch", ""), links_to(b, "switch", ""));
}

std::string link_between(const Machine& machine, const Gpu& a, const Gpu& b) {
  if (a.told && b.told) {
    const int nvlinks = nvlinks_between(*a.told, *b.told);
    if (nvlinks > 0) return "NV" + std::to_string(nvlinks);
    const std::string path = machine.library->pcie_path(a.told->index, b.told->index);
    if (!path.empty()) return path;
  }
  return a.seen && b.seen ? pci_path(*a.seen, *b.seen) : "";
}

Json topology_json(const Machine& machine) {
  Json gpus = Json::array(), nics = Json::array(), links = Json::object(), peers = Json::object();
  const auto name = [](const char* kind, std::size_t i) { return kind + std::to_string(i); };
  for (std::size_t i = 0; i < machine.nics.size(); ++i) nics.push_back(name("NIC", i));
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    gpus.push_back(name("GPU", i));
    for (std::size_t j = i + 1; j < machine.gpus.size(); ++j) {
      const std::string pair = name("GPU", i) + "-" + name("GPU", j);
      note(links, pair.c_str(), link_between(machine, gpu, machine.gpus[j]));
      if (!gpu.told || !machine.gpus[j].told) continue;
      note(peers, pair.c_str(), machine.library->peer_status(gpu.told->index, machine.gpus[j].told->index));
    }
    for (std::size_t j = 0; gpu.seen && j < machine.nics.size(); ++j)
      links[name("GPU", i) + "-" + name("NIC", j)] = pci_path(*gpu.seen, machine.nics[j]);
  }
  Json json{{"gpus", gpus}, {"nics", nics}, {"links", links}};
  if (!peers.empty()) json["peers"] = peers;
  return json;
}

// The topology's name of the GPU; empty if it has none.
std::string name_of(const Json& facts, const std::string& id) {
  const Json gpus = facts.value("gpus", Json::array());
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (!id.empty() && gpus[i].value("uuid", "") == id) return "GPU" + std::to_string(i);
  return "";
}

// The topology names each pair once, in NVML's order; the devices' order may differ.
std::string link_between(const Json& links, const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return "";
  return links.value(a + "-" + b, links.value(b + "-" + a, ""));
}

}  // namespace

Json machine_facts(const TopologySources& sources) {
  const Machine machine = look(sources);
  Json facts = Json::object();
  if (machine.library) note(facts, "driver", machine.library->driver_version());
  if (!machine.library && !machine.gpus.empty()) facts["nvml"] = machine.why;
  for (const Gpu& gpu : machine.gpus) facts["gpus"].push_back(gpu_json(gpu));
  for (const PciDevice& nic : machine.nics) facts["nics"].push_back(nic_json(nic));
  note(facts, "nvswitches", machine.nvswitches);
  if (!machine.gpus.empty() || !machine.nics.empty()) facts["topology"] = topology_json(machine);
  return facts;
}

std::vector<LinkedPair> pair_of_each_link(const Json& facts, const std::vector<std::string>& ids) {
  const Json links = facts.value("topology", Json::object()).value("links", Json::object());
  std::vector<std::string> names;
  for (const std::string& id : ids) names.push_back(name_of(facts, id));
  std::vector<LinkedPair> pairs;
  for (int from = 0; from < static_cast<int>(names.size()); ++from)
    for (int to = from + 1; to < static_cast<int>(names.size()); ++to) {
      const std::string link =
          link_between(links, names[static_cast<std::size_t>(from)], names[static_cast<std::size_t>(to)]);
      const auto has_link = [&](const LinkedPair& pair) { return pair.link == link; };
      if (std::none_of(pairs.begin(), pairs.end(), has_link)) pairs.push_back({from, to, link});
    }
  return pairs;
}

}  // namespace lockstep::calib
