#pragma once
// Reads the machine's PCI devices from the kernel; needs no driver.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::calib {

struct PciDevice {
  std::string address;  ///< "0000:1b:00.0"
  /// Lists the path from the host bridge ("pci0000:17") over all bridges to the device itself.
  std::vector<std::string> path;
  unsigned vendor = 0, device = 0, device_class = 0;  ///< class, subclass and interface: 0x030200
  int numa_node = -1;                                 ///< -1: the kernel does not report it
  double transfers_per_s = 0;                         ///< per lane at the link's highest speed; 0: not reported
  int lanes = 0;                                      ///< maximum number; 0: not reported
  std::vector<std::string> interfaces;                ///< for a NIC: "eth0", "mlx5_0"

  bool is_nvidia_gpu() const;
  bool is_nvswitch() const;
  bool is_nic() const { return device_class >> 16 == 0x02; }
  /// The link's capacity in one direction, in bytes/s, after encoding but including packet headers: lanes x transfers x
  /// 8/10 up to 5 GT/s, 128/130 up to 32 GT/s, 242/256 above (FLIT mode). 0: not reported.
  double link_bandwidth() const;
};

/// Lists devices by address; empty if there is no such folder. `sysfs` is where sysfs is mounted.
std::vector<PciDevice> pci_devices(const std::string& sysfs = "/sys");

/// Returns the path between two devices, as in `nvidia-smi topo -m`: PIX over at most one switch, PXB over several, PHB
/// over the host bridge, NODE between host bridges of a NUMA node, SYS between NUMA nodes.
std::string pci_path(const PciDevice& a, const PciDevice& b);

}  // namespace lockstep::calib
