#pragma once
// Properties of a GPU that the CUDA runtime reports. NVML reports clocks under load, temperature and throttling.
#include <cstdint>
#include <string>

namespace lockstep::cuda {

/// Lowest compute capability that this project builds for: 8.0, A100.
constexpr int kLowestMajor = 8;

struct DeviceFacts {
  std::string name;
  std::string uuid;        ///< as in nvidia-smi -L, "GPU-1c8f..."; for parts of GPUs (MIG) see nvml::known_id()
  std::string pci_bus_id;  ///< "0000:1b:00.0"
  int major, minor;        ///< compute capability
  int multiprocessors;
  std::int64_t memory_bytes;
  std::int64_t l2_bytes;
  int memory_bus_bits;
  int copy_engines;
  double clock_hz;         ///< highest clock of the multiprocessors
  double memory_clock_hz;  ///< 0 if unknown
  bool has_ecc;            ///< ECC is switched on

  /// Two transfers per clock on each line of the bus, as in data sheets: 2 f w / 8. 0 if the clock is unknown.
  double memory_bandwidth_bytes_per_s() const { return 2 * memory_clock_hz * memory_bus_bits / 8; }
};

/// Throws std::runtime_error if there is no such device.
DeviceFacts device_facts(int device);

/// Returns the kind of a GPU: the lowest number of a GPU with the same name, capability, multiprocessors and memory.
int device_kind(int device);

/// Returns the newest CUDA version that the driver supports, "12.8"; "none" without a driver.
std::string driver_cuda_version();
/// The version of the library that is loaded.
std::string runtime_version();
std::string cudnn_version();
std::string nccl_version();
/// Loads cuBLASLt, then cuDNN, which needs it, and NCCL. Throws std::runtime_error if one is missing.
void load_libraries();

}  // namespace lockstep::cuda
