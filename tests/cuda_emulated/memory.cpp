// The CUDA runtime's functions of memory, for devices that are this machine's memory. Calls that a capture forbids fail
// in one, as they do in CUDA.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/cuda_emulated/machine.hpp"

namespace emulated {
namespace {

/// What begins at or before an address and ends behind it; null: memory that CUDA does not know.
const Allocation* allocation_of(const void* address) {
  const auto* at = static_cast<const char*>(address);
  auto after = machine().allocations.upper_bound(at);
  if (after == machine().allocations.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(after);
  return at < begin + allocation.bytes ? &allocation : nullptr;
}

/// Ends at a page that nobody may touch, is aligned as CUDA aligns, and holds NaNs: what is not written shows.
cudaError_t allocate(void** pointer, std::size_t bytes, int device) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  if (device >= 0 && machine().allocated_bytes[device] + bytes > kDeviceBytes) return told(cudaErrorMemoryAllocation);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t room = (bytes + 255) / 256 * 256;
  const std::size_t mapped_bytes = (room + page - 1) / page * page + page;
  void* mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return told(cudaErrorMemoryAllocation);
  char* end = static_cast<char*>(mapped) + mapped_bytes - page;
  if (mprotect(end, page, PROT_NONE) != 0) return told(cudaErrorMemoryAllocation);
  std::memset(end - room, 0xFF, room);
  machine().allocations[end - room] = {bytes, mapped_bytes, mapped, device};
  if (device >= 0) machine().allocated_bytes[device] += bytes;
  *pointer = end - room;
  return cudaSuccess;
}

cudaError_t release(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  const auto found = machine().allocations.find(static_cast<const char*>(pointer));
  if (found == machine().allocations.end()) return told(cudaErrorInvalidValue);
  const Allocation allocation = found->second;
  for (int device = 0; device < kDevices; ++device)
    if (allocation.device < 0 || allocation.device == device) finish_device(device);
  machine().allocations.erase(found);
  if (allocation.device >= 0) machine().allocated_bytes[allocation.device] -= allocation.bytes;
  munmap(allocation.mapped, allocation.mapped_bytes);
  return cudaSuccess;
}

/// Ordinary memory of the host is read at once, and written before the call returns.
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (allocation_of(from) == nullptr) {
    const auto* begin = static_cast<const char*>(from);
    auto kept = std::make_shared<std::vector<char>>(begin, begin + bytes);
    append(on, {[=] { std::memcpy(to, kept->data(), bytes); }, nullptr, 0});
    return cudaSuccess;
  }
  append(on, {[=] { std::memcpy(to, from, bytes); }, nullptr, 0});
  if (allocation_of(to) != nullptr) return cudaSuccess;
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  finish(on);
  return cudaSuccess;
}

}  // namespace
}  // namespace emulated

using namespace emulated;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, current_device);
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, -1);
}
cudaError_t cudaFree(void* pointer) {
  return release(pointer);
}
cudaError_t cudaFreeHost(void* pointer) {
  return release(pointer);
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  const Lock lock(machine().mutex);
  *total_bytes = kDeviceBytes;
  *free_bytes = kDeviceBytes - machine().allocated_bytes[current_device];
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const Lock lock(machine().mutex);
  const Allocation* allocation = allocation_of(pointer);
  *attributes = {};
  attributes->type = allocation == nullptr     ? cudaMemoryTypeUnregistered
                     : allocation->device >= 0 ? cudaMemoryTypeDevice
                                               : cudaMemoryTypeHost;
  attributes->device = allocation != nullptr ? allocation->device : -1;
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  std::memcpy(to, from, bytes);  // streams do not wait for it, nor it for them: none is a blocking one
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return copy(to, from, bytes, stream);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, cudaStream_t stream) {
  return copy(to, from, bytes, stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  enqueue(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
