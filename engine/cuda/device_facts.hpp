#pragma once
// What the CUDA runtime tells of a GPU. Clocks under load, temperature and throttling are NVML's to tell.
#include <cstdint>
#include <string>

namespace lockstep::cuda {

/// Lowest compute capability that this project builds for: 8.0, A100.
constexpr int kLowestMajor = 8;

struct DeviceFacts {
  std::string name;
  std::string uuid;        ///< as nvidia-smi -L prints it, "GPU-1c8f...", but for parts of GPUs (MIG): nvml::known_id()
  std::string pci_bus_id;  ///< "0000:1b:00.0"
  int major, minor;        ///< compute capability
  int multiprocessors;
  std::int64_t memory_bytes;
  std::int64_t l2_bytes;
  int memory_bus_bits;
  int copy_engines;
  double clock_hz;         ///< the highest of the multiprocessors
  double memory_clock_hz;  ///< 0 where unknown
  bool has_ecc;            ///< on

  /// Two transfers a clock over each line of the bus, as data sheets count: 2 f w / 8; 0 where the clock is unknown.
  double memory_bandwidth_bytes_per_s() const { return 2 * memory_clock_hz * memory_bus_bits / 8; }
};

/// Throws std::runtime_error for a device that is not there.
DeviceFacts device_facts(int device);

/// GPUs that are alike in name, capability, multiprocessors and memory are of one kind, named by the first of them.
int device_kind(int device);

/// "12.8": the newest CUDA that the driver knows; "none" without a driver.
std::string driver_cuda_version();
/// Of the library loaded.
std::string runtime_version();
std::string cudnn_version();
std::string nccl_version();
/// Loads cuBLASLt, cuDNN, which looks for cuBLASLt, and NCCL. Throws std::runtime_error where one of them is missing.
void load_libraries();

}  // namespace lockstep::cuda
