// The CUDA runtime's functions for devices and errors. There are two devices.
#include <cstdio>

#include <cuda.h>

#include "tests/cuda_emulated/knobs.hpp"
#include "tests/cuda_emulated/machine.hpp"

namespace emulated {

std::atomic<int> most_peers{kDevices};
std::atomic<int> driver_version{CUDART_VERSION};
std::atomic<bool> can_multicast{false};
std::atomic<int> multiprocessors{4}, resident_blocks{8};
std::atomic<std::uint64_t> device_synchronisations{0};

void open_context() {
  const Lock lock(machine().mutex);
  machine().has_context[current_device] = true;
}
bool has_context(int device) {
  const Lock lock(machine().mutex);
  return machine().has_context[device];
}
void forget_contexts() {
  const Lock lock(machine().mutex);
  for (bool& has : machine().has_context) has = false;
}

namespace {

// Functions of the driver, under names of their own.
CUresult get_device(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < kDevices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult get_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED && can_multicast ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace emulated

using namespace emulated;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return driver_version < CUDART_VERSION ? told(cudaErrorInsufficientDriver) : cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  const std::string name = symbol;
  *function = name == "cuDeviceGet"            ? reinterpret_cast<void*>(get_device)
              : name == "cuDeviceGetAttribute" ? reinterpret_cast<void*>(get_attribute)
                                               : nullptr;
  if (status != nullptr)
    *status = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return told(cudaErrorInvalidDevice);
  current_device = device;
  open_context();  // from CUDA 12 on
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= kDevices) return told(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated");
  properties->major = 9;
  properties->multiProcessorCount = 1;
  properties->totalGlobalMem = kDeviceBytes;
  properties->memoryBusWidth = 5120;  // of an H100
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute == static_cast<cudaDeviceAttr>(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED))
    return told(cudaErrorInvalidValue);  // no attribute of the runtime's
  *value = attribute == cudaDevAttrMultiProcessorCount           ? multiprocessors.load()
           : attribute == cudaDevAttrMaxThreadsPerMultiProcessor ? 2048
           : attribute == cudaDevAttrMemoryClockRate             ? 2'619'000
                                                                 : 1;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = resident_blocks;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int device) {
  std::snprintf(id, static_cast<std::size_t>(size), "0000:%02x:00.0", static_cast<unsigned>(device));
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  open_context();
  return most_peers < kDevices - 1 ? told(cudaErrorTooManyPeers) : cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  open_context();
  ++device_synchronisations;
  finish_device(current_device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
const char* cudaGetErrorName(cudaError_t error) {
  static thread_local char text[32];
  std::snprintf(text, sizeof text, "error %d", static_cast<int>(error));
  return text;
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : cudaGetErrorName(error);
}
