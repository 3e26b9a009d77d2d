#pragma once
// What the machine has and how it is joined: GPUs and NVLinks from NVML, NICs and the rest from the PCI tree.
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::calib {

struct TopologySources {
  std::string sysfs = "/sys";
  std::string nvml = "libnvidia-ml.so.1";
};

/// Facts for a profile's device; members that nothing is known of are missing:
///
///   driver    NVIDIA's version
///   nvml      why NVML tells nothing, where the PCI tree has NVIDIA's GPUs
///   gpus      [{"name", "uuid", "pci", "numa_node", "pcie_generation", "pcie_width", "pcie_bandwidth" (bytes/s one
///   way),
///             "clock_hz", "highest_clock_hz", "memory_clock_hz", "power_limit_w", "clock_reasons": [...],
///             "nvlinks": [{"number", "version", "remote", "remote_pci"}]}]
///   nics      [{"name", "pci", "numa_node", "pcie_bandwidth"}]
///   nvswitches  how many the PCI tree has
///   topology  {"gpus": ["GPU0", ...], "nics": ["NIC0", ...], "links": {"GPU0-GPU1": "NV18", "GPU0-NIC0": "PIX"},
///             "peers": {"GPU0-GPU1": "ok"}}, as `calibrate import topology` has it: NV and the number of NVLinks where
///             two GPUs have any (to each other, or to switches), else the path over PCIe; peers: whether they read
///             each other's memory
Json machine_facts(const TopologySources& sources = {});

/// Two of the devices that are measured, and what joins them.
struct LinkedPair {
  int from = 0, to = 0;
  std::string link;  ///< "NV18", "PIX", ...; empty: nothing is known of it
};

/// Of every kind of link between two of the devices one pair: the first of the kind, from the first device on. `ids`
/// are the devices' uuids; `facts`, those of the machine, say what is between them.
std::vector<LinkedPair> pair_of_each_link(const Json& facts, const std::vector<std::string>& ids);

}  // namespace lockstep::calib
