#pragma once
// The machine's devices and their connections: GPUs and NVLinks from NVML, NICs and the rest from the PCI tree.
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::calib {

struct TopologySources {
  std::string sysfs = "/sys";
  std::string nvml = "libnvidia-ml.so.1";
};

/// Facts for a profile's device. Unknown members are absent:
///
///   driver    NVIDIA's version
///   nvml      the reason why NVML reports nothing, if the PCI tree has NVIDIA's GPUs
///   gpus      [{"name", "uuid", "pci", "numa_node", "pcie_generation", "pcie_width", "pcie_bandwidth" (bytes/s one
///             way), "clock_hz", "highest_clock_hz", "memory_clock_hz", "power_limit_w", "clock_reasons": [...],
///             "nvlinks": [{"number", "version", "remote", "remote_pci"}]}]
///   nics      [{"name", "pci", "numa_node", "pcie_bandwidth"}]
///   nvswitches  number of NVSwitches in the PCI tree
///   topology  {"gpus": ["GPU0", ...], "nics": ["NIC0", ...], "links": {"GPU0-GPU1": "NV18", "GPU0-NIC0": "PIX"},
///             "peers": {"GPU0-GPU1": "ok"}}, as from `calibrate import topology`: NV and the number of NVLinks if two
///             GPUs have any (to each other, or to switches), else the path over PCIe; peers: whether they can read
///             each other's memory
Json machine_facts(const TopologySources& sources = {});

/// Two of the measured devices, and the link between them.
struct LinkedPair {
  int from = 0, to = 0;
  std::string link;  ///< "NV18", "PIX", ...; empty: unknown
};

/// Returns one pair of devices per kind of link: the first pair of the kind, from the first device on. `ids` are the
/// devices' UUIDs; `facts` are the machine's.
std::vector<LinkedPair> pair_of_each_link(const Json& facts, const std::vector<std::string>& ids);

}  // namespace lockstep::calib
