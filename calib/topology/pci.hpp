#pragma once
// The machine's PCI devices as the kernel lists them: no driver of theirs is needed.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::calib {

struct PciDevice {
  std::string address;  ///< "0000:1b:00.0"
  /// From the host bridge ("pci0000:17") over all bridges to the device itself.
  std::vector<std::string> path;
  unsigned vendor = 0, device = 0, device_class = 0;  ///< class, subclass and interface: 0x030200
  int numa_node = -1;                                 ///< -1: the kernel does not tell
  double transfers_per_s = 0;                         ///< of a lane of its link, the fastest it knows; 0: not told
  int lanes = 0;                                      ///< likewise
  std::vector<std::string> interfaces;                ///< of a NIC: "eth0", "mlx5_0"

  bool is_nvidia_gpu() const;
  bool is_nvswitch() const;
  bool is_nic() const { return device_class >> 16 == 0x02; }
  /// What the link carries one way, encoding deducted, headers not: lanes x transfers x 8/10 up to 5 GT/s, 128/130 up
  /// to 32 GT/s, 242/256 above (FLIT mode), in bytes/s. 0: not told.
  double link_bandwidth() const;
};

/// In the order of their addresses; empty where there is no such folder. `sysfs` is where sysfs is mounted.
std::vector<PciDevice> pci_devices(const std::string& sysfs = "/sys");

/// How two devices reach each other, as `nvidia-smi topo -m` names it: PIX over one switch at most, PXB over several,
/// PHB over the host bridge, NODE between host bridges of a NUMA node, SYS between NUMA nodes.
std::string pci_path(const PciDevice& a, const PciDevice& b);

}  // namespace lockstep::calib
