#pragma once
// NVIDIA's management library, loaded when it is asked for: what the GPUs are, how they are linked, and their clocks.
// It comes with the driver, its header need not be there, and nothing links to it.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::nvml {

struct NvLink {
  int number = 0;
  std::string version;     ///< "4.0"
  std::string remote;      ///< gpu, switch, npu, unknown
  std::string remote_pci;  ///< "0000:1b:00.0"; empty where NVML does not tell
};

/// What is empty or 0 the driver does not tell.
struct Gpu {
  int index = 0;  ///< NVML's number: by PCI address, whatever CUDA_VISIBLE_DEVICES says
  std::string name;
  std::string uuid;
  std::string pci;  ///< as in /sys/bus/pci/devices: "0000:1b:00.0"
  int pcie_generation = 0, highest_pcie_generation = 0;
  int pcie_width = 0, highest_pcie_width = 0;
  double clock_hz = 0, highest_clock_hz = 0;  ///< of the multiprocessors
  double memory_clock_hz = 0, highest_memory_clock_hz = 0;
  double power_limit_w = 0;
  std::vector<std::string>
      clock_reasons;            ///< why the clock is not higher now: "idle", "power cap", "thermal, software"
  std::vector<NvLink> nvlinks;  ///< those that are up
};

struct Clock {
  double now_hz = 0, highest_hz = 0;
  bool is_held_down = false;         ///< by heat, a power brake or other hardware, and not by the power cap or idleness
  std::vector<std::string> reasons;  ///< as Gpu::clock_reasons
};

class Library {
 public:
  /// Null with `why` filled where there is no library or no driver. `path` as dlopen() takes it.
  static std::unique_ptr<Library> open(std::string& why, const std::string& path = "libnvidia-ml.so.1");
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::string driver_version() const;
  /// All GPUs of the machine that this user may see. Throws std::runtime_error where NVML fails as a whole.
  std::vector<Gpu> gpus() const;
  /// How PCIe joins two GPUs, as `nvidia-smi topo -m` names it: PIX, PXB, PHB, NODE, SYS; empty where unknown.
  std::string pcie_path(int a, int b) const;
  /// Whether they read each other's memory: "ok", "chipset not supported", ...; empty where unknown.
  std::string peer_status(int a, int b) const;

  /// What NVML calls the device of this UUID: "GPU-1c8f...", or "MIG-1c8f..." for a part of a GPU, which CUDA does not tell
  /// from a whole one. Unchanged where the driver has neither.
  std::string known_id(const std::string& uuid) const;
  /// Of the GPU's multiprocessors, now; zeros where the driver does not tell, or has no such GPU.
  Clock clock(const std::string& uuid) const;

 private:
  struct Calls;
  explicit Library(std::unique_ptr<Calls> calls);
  std::unique_ptr<Calls> calls_;
};

}  // namespace lockstep::nvml
