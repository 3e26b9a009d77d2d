#include "engine/cuda/device_facts.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

#include <cstdio>

#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  LOCKSTEP_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

/// Returns 0 if the driver does not report this clock.
double clock_hz(cudaDeviceAttr which, int device) {
  int clock_khz = 0;
  if (cudaDeviceGetAttribute(&clock_khz, which, device) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return clock_khz * 1e3;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += hex;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

/// CUDA's numbering: 13000 is 13.0, 12080 is 12.8.
std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// cuDNN from 9 on and NCCL from 2.9 on have numbers of the form MAJOR * 10000 + MINOR * 100 + PATCH.
std::string library_version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

DeviceFacts device_facts(int device) {
  cudaDeviceProp properties = {};
  LOCKSTEP_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  char bus_id[32] = "";
  LOCKSTEP_CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device));
  DeviceFacts facts = {};
  facts.name = properties.name;
  facts.uuid = uuid_text(properties.uuid);
  facts.pci_bus_id = bus_id;
  facts.major = properties.major;
  facts.minor = properties.minor;
  facts.multiprocessors = properties.multiProcessorCount;
  facts.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  facts.l2_bytes = properties.l2CacheSize;
  facts.memory_bus_bits = properties.memoryBusWidth;
  facts.copy_engines = attribute(cudaDevAttrAsyncEngineCount, device);
  facts.clock_hz = clock_hz(cudaDevAttrClockRate, device);
  facts.memory_clock_hz = clock_hz(cudaDevAttrMemoryClockRate, device);
  facts.has_ecc = properties.ECCEnabled != 0;
  return facts;
}

int device_kind(int device) {
  const DeviceFacts own = device_facts(device);
  for (int d = 0; d < device; ++d) {
    const DeviceFacts facts = device_facts(d);
    const bool is_alike = facts.name == own.name && facts.major == own.major && facts.minor == own.minor &&
                          facts.multiprocessors == own.multiprocessors && facts.memory_bytes == own.memory_bytes;
    if (is_alike) return d;
  }
  return device;
}

std::string driver_cuda_version() {
  int version = 0;
  LOCKSTEP_CUDA_CHECK(cudaDriverGetVersion(&version));
  return version == 0 ? "none" : cuda_version_text(version);
}

std::string runtime_version() {
  int version = 0;
  LOCKSTEP_CUDA_CHECK(cudaRuntimeGetVersion(&version));
  return cuda_version_text(version);
}

std::string cudnn_version() {
  return library_version_text(static_cast<int>(cudnnGetVersion()));
}

void load_libraries() {
  cublasLtGetVersion();
  cudnnGetVersion();
  nccl_version();
}

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "unknown";
  return library_version_text(version);
}

}  // namespace lockstep::cuda
