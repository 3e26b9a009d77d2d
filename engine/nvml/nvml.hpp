#pragma once
// NVIDIA's management library (NVML): GPUs, their links and their clocks. It is loaded at its first use. It comes with
// the driver; the build needs neither its header nor its library.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::nvml {

struct NvLink {
  int number = 0;
  std::string version;     ///< "4.0"
  std::string remote;      ///< gpu, switch, npu, unknown
  std::string remote_pci;  ///< "0000:1b:00.0"; empty if NVML does not report it
};

/// Fields that the driver does not report are empty or 0.
struct Gpu {
  int index = 0;  ///< NVML's index, in the order of PCI addresses; ignores CUDA_VISIBLE_DEVICES
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
  bool is_held_down = false;         ///< by heat, a power brake or other hardware; false at the power cap or when idle
  std::vector<std::string> reasons;  ///< as Gpu::clock_reasons
};

class Library {
 public:
  /// Returns null, with the reason in `why`, if there is no library or no driver. `path` is passed to dlopen().
  static std::unique_ptr<Library> open(std::string& why, const std::string& path = "libnvidia-ml.so.1");
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::string driver_version() const;
  /// All GPUs of the machine that this user may see. Throws std::runtime_error if NVML itself fails.
  std::vector<Gpu> gpus() const;
  /// Returns the PCIe connection between two GPUs, as in `nvidia-smi topo -m`: PIX, PXB, PHB, NODE, SYS; empty if
  /// unknown.
  std::string pcie_path(int a, int b) const;
  /// Whether two GPUs can read each other's memory: "ok", "chipset not supported", ...; empty if unknown.
  std::string peer_status(int a, int b) const;

  /// NVML's identifier of the device with this UUID: "GPU-1c8f...", or "MIG-1c8f..." for a part of a GPU, which CUDA
  /// does not distinguish from a whole one. Returned unchanged if the driver knows neither.
  std::string known_id(const std::string& uuid) const;
  /// The current clock of the GPU's multiprocessors; zeros if the driver does not report it or has no such GPU.
  Clock clock(const std::string& uuid) const;

 private:
  struct Calls;
  explicit Library(std::unique_ptr<Calls> calls);
  std::unique_ptr<Calls> calls_;
};

}  // namespace lockstep::nvml
