#include "calib/topology/pci.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

namespace lockstep::calib {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kNvidia = 0x10de;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

unsigned hexadecimal(const fs::path& file) {
  return static_cast<unsigned>(std::strtoul(first_line(file).c_str(), nullptr, 16));
}

// Reads "32.0 GT/s PCIe"; "Unknown", for devices without a link, gives 0.
double transfers_per_s(const fs::path& file) {
  return std::strtod(first_line(file).c_str(), nullptr) * 1e9;
}

bool is_pci_part(const std::string& name) {
  static const std::regex form(R"(pci[0-9a-f]+:[0-9a-f]{2}|[0-9a-f]+:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])");
  return std::regex_match(name, form);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

PciDevice read_device(const fs::path& folder) {
  PciDevice device;
  device.address = folder.filename().string();
  std::error_code none;
  const fs::path real = fs::canonical(folder, none);
  for (const fs::path& part : real)
    if (is_pci_part(part.string())) device.path.push_back(part.string());
  device.vendor = hexadecimal(folder / "vendor");
  device.device = hexadecimal(folder / "device");
  device.device_class = hexadecimal(folder / "class");
  const std::string node = first_line(folder / "numa_node");
  device.numa_node = node.empty() ? -1 : std::atoi(node.c_str());
  device.transfers_per_s = transfers_per_s(folder / "max_link_speed");
  // A width of 255 means no link.
  const int lanes = std::atoi(first_line(folder / "max_link_width").c_str());
  device.lanes = lanes < 255 ? lanes : 0;
  for (const char* kind : {"infiniband", "net"})
    for (const std::string& name : names_in(folder / kind)) device.interfaces.push_back(name);
  return device;
}

}  // namespace

bool PciDevice::is_nvidia_gpu() const {
  const unsigned kind = device_class >> 8;
  return vendor == kNvidia && (kind == 0x0300 || kind == 0x0302);
}

bool PciDevice::is_nvswitch() const {
  return vendor == kNvidia && device_class >> 8 == 0x0680;
}

double PciDevice::link_bandwidth() const {
  const double code = transfers_per_s <= 5e9 ? 8.0 / 10 : transfers_per_s <= 32e9 ? 128.0 / 130 : 242.0 / 256;
  return lanes * transfers_per_s * code / 8;
}

std::vector<PciDevice> pci_devices(const std::string& sysfs) {
  const fs::path folder = fs::path(sysfs) / "bus/pci/devices";
  std::vector<PciDevice> devices;
  for (const std::string& name : names_in(folder)) devices.push_back(read_device(folder / name));
  return devices;
}

std::string pci_path(const PciDevice& a, const PciDevice& b) {
  const std::size_t shorter = std::min(a.path.size(), b.path.size());
  std::size_t common = 0;
  while (common < shorter && a.path[common] == b.path[common]) ++common;
  if (common == 0) return a.numa_node == b.numa_node ? "NODE" : "SYS";
  // A switch has one bridge upwards, in both paths, and one bridge down to each device.
  const std::size_t apart = std::max(a.path.size(), b.path.size()) - common;
  if (common == 1) return "PHB";
  return apart <= 2 ? "PIX" : "PXB";
}

}  // namespace lockstep::calib
