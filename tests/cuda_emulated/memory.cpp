// The CUDA runtime's functions for memory, for devices whose memory is that of this machine. Calls that CUDA forbids
// during a capture fail, as they do in CUDA.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/cuda_emulated/machine.hpp"

namespace emulated {
namespace {

/// Returns the allocation that contains the address; null: memory that CUDA does not know.
const Allocation* allocation_of(const void* address) {
  const auto* at = static_cast<const char*>(address);
  auto after = machine().allocations.upper_bound(at);
  if (after == machine().allocations.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(after);
  return at < begin + allocation.bytes ? &allocation : nullptr;
}

/// The memory ends at an inaccessible page, is aligned as in CUDA, and holds NaNs, so that unwritten values show.
cudaError_t allocate(void** pointer, std::size_t bytes, int device) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  open_context();
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

cudaError_t release(void* pointer, bool is_pinned) {
  if (pointer == nullptr) return cudaSuccess;
  const Lock lock(machine().mutex);
  open_context();
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  const auto found = machine().allocations.find(static_cast<const char*>(pointer));
  if (found == machine().allocations.end() || (found->second.device < 0) != is_pinned)
    return told(cudaErrorInvalidValue);
  const Allocation allocation = found->second;
  for (int device = 0; device < kDevices; ++device)
    if (allocation.device < 0 || allocation.device == device) finish_device(device);
  machine().allocations.erase(found);
  if (allocation.device >= 0) machine().allocated_bytes[allocation.device] -= allocation.bytes;
  munmap(allocation.mapped, allocation.mapped_bytes);
  return cudaSuccess;
}

/// Returns true if `bytes` from an address on lie in one allocation, or in memory that CUDA does not know.
bool is_whole(const void* address, std::size_t bytes) {
  const Allocation* allocation = allocation_of(address);
  return allocation == nullptr || bytes == 0 ||
         allocation_of(static_cast<const char*>(address) + bytes - 1) == allocation;
}

bool is_on_device(const void* address) {
  const Allocation* allocation = allocation_of(address);
  return allocation != nullptr && allocation->device >= 0;
}

bool is_possible(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool fits = kind == cudaMemcpyDefault ||
                    (is_on_device(from) == (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice) &&
                     is_on_device(to) == (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice));
  return fits && is_whole(to, bytes) && is_whole(from, bytes);
}

/// Keeps a copy of the host memory that the call has read, because the caller may change it.
void append_kept_copy(Stream& on, void* to, const void* from, std::size_t bytes) {
  const auto* begin = static_cast<const char*>(from);
  auto kept = std::make_shared<std::vector<char>>(begin, begin + bytes);
  append(on, {[=] { std::memcpy(to, kept->data(), bytes); }, nullptr, 0});
}

/// From ordinary host memory, CUDA may copy before the call returns or later, so only a caller that waits can know. The
/// choice is random. In a capture it is refused, because replays would read that memory again.
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (!is_possible(to, from, bytes, kind)) return told(cudaErrorInvalidValue);
  const bool is_ordinary = allocation_of(from) == nullptr || allocation_of(to) == nullptr;
  if (is_ordinary && is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  if (is_ordinary && allocation_of(from) == nullptr && draw(2) == 0) {
    append_kept_copy(on, to, from, bytes);
    return cudaSuccess;
  }
  append(on, {[=] { std::memcpy(to, from, bytes); }, nullptr, 0});
  if (is_ordinary && draw(2) == 0) finish(on);
  return cudaSuccess;
}

/// Returns the current device's default stream, for calls without a stream. It waits for no other stream, and none
/// waits for it, because all are made with cudaStreamNonBlocking.
Stream& default_stream() {
  std::shared_ptr<Stream>& stream = machine().default_streams[current_device];
  if (stream == nullptr) {
    stream = std::make_shared<Stream>();
    stream->device = current_device;
    stream->is_default = true;
    machine().streams.push_back(stream);
  }
  return *stream;
}

}  // namespace

std::size_t pinned_bytes() {
  const Lock lock(machine().mutex);
  std::size_t sum = 0;
  for (const auto& [begin, allocation] : machine().allocations)
    if (allocation.device < 0) sum += allocation.bytes;
  return sum;
}

}  // namespace emulated

using namespace emulated;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, current_device);
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, -1);
}
cudaError_t cudaFree(void* pointer) {
  return release(pointer, false);
}
cudaError_t cudaFreeHost(void* pointer) {
  return release(pointer, true);
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  const Lock lock(machine().mutex);
  open_context();
  *total_bytes = kDeviceBytes;
  *free_bytes = kDeviceBytes - machine().allocated_bytes[current_device];
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const Lock lock(machine().mutex);
  open_context();
  const Allocation* allocation = allocation_of(pointer);
  *attributes = {};
  attributes->type = allocation == nullptr     ? cudaMemoryTypeUnregistered
                     : allocation->device >= 0 ? cudaMemoryTypeDevice
                                               : cudaMemoryTypeHost;
  attributes->device = allocation != nullptr ? allocation->device : -1;
  return cudaSuccess;
}
// The CUDA runtime's header says under "API synchronization behavior": a copy from pageable host memory to a device
// returns when the memory has been read. Copies between devices, and cudaMemset(), return at once.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  if (!is_possible(to, from, bytes, kind)) return told(cudaErrorInvalidValue);
  Stream& on = default_stream();
  if (allocation_of(from) == nullptr && is_on_device(to)) {
    append_kept_copy(on, to, from, bytes);
    return cudaSuccess;
  }
  append(on, {[=] { std::memcpy(to, from, bytes); }, nullptr, 0});
  if (!is_on_device(from) || !is_on_device(to)) finish(on);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  if (!is_on_device(to) || !is_whole(to, bytes)) return told(cudaErrorInvalidValue);
  append(default_stream(), {[=] { std::memset(to, value, bytes); }, nullptr, 0});
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(to, from, bytes, kind, stream);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  {
    const Lock lock(machine().mutex);
    const auto is_of = [](const void* address, int device) {
      return is_on_device(address) && allocation_of(address)->device == device;
    };
    if (!is_of(to, to_device) || !is_of(from, from_device)) return told(cudaErrorInvalidValue);
  }
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  if (!is_on_device(to) || !is_whole(to, bytes)) return told(cudaErrorInvalidValue);
  append(of(stream), {[=] { std::memset(to, value, bytes); }, nullptr, 0});
  return cudaSuccess;
}
