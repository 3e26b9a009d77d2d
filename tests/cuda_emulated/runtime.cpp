// The CUDA runtime's functions that Lockstep calls, for two devices that are this machine's memory. Work waits on its
// stream until something waits for it; which stream goes on next is drawn. So what only happens to be in order on a GPU
// comes out of order here. Calls that a capture forbids fail in one, as they do in CUDA.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/cuda_emulated/emulated.hpp"

namespace emulated {
namespace {

constexpr int kDevices = 2;
constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;
using Clock = std::chrono::steady_clock;

/// How often an event has been recorded, in the order of the calls and of the work.
struct Marks {
  int device = 0;
  std::uint64_t asked = 0, reached = 0;
  Clock::time_point at;
};

struct Item {
  std::function<void()> work;        ///< or empty:
  std::shared_ptr<Marks> waits_for;  ///< a wait for
  std::uint64_t mark = 0;            ///< this mark
};

struct Graph {
  std::vector<Item> items;
};

struct Stream {
  int device = 0;
  std::deque<Item> queue;
  std::unique_ptr<Graph> capture;
  std::thread::id capturing_thread;
  bool is_spoilt = false;  ///< the capture
  bool runs = false;
};

struct Event {
  std::shared_ptr<Marks> marks = std::make_shared<Marks>();
  const Stream* captured_on = nullptr;
};

struct Allocation {
  std::size_t bytes, mapped_bytes;
  void* mapped;
  int device;  ///< -1: pinned memory of the host
};

struct Machine {
  std::recursive_mutex mutex;
  std::list<std::shared_ptr<Stream>> streams;
  std::map<const char*, Allocation> allocations;
  std::size_t allocated_bytes[kDevices] = {};
  std::uint64_t random = 1;
};
Machine& machine() {
  static auto* all = [] {
    auto* made = new Machine;  // outlives every object with static storage
    if (const char* seed = std::getenv("LOCKSTEP_EMULATED_SEED")) made->random = std::strtoull(seed, nullptr, 10);
    return made;
  }();
  return *all;
}
thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t told(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

Stream& of(cudaStream_t stream) {
  if (stream == nullptr) {
    std::fputs("emulated CUDA: the default stream is not used in this project\n", stderr);
    std::abort();
  }
  return *reinterpret_cast<Stream*>(stream);
}
Event& of(cudaEvent_t event) {
  return *reinterpret_cast<Event*>(event);
}

bool can_go_on(const Stream& stream) {
  if (stream.runs || stream.queue.empty()) return false;
  const Item& first = stream.queue.front();
  return first.work || first.waits_for->reached >= first.mark;
}

/// One piece of work of some stream; false where none can go on.
bool go_on() {
  std::vector<std::shared_ptr<Stream>> able;
  for (const std::shared_ptr<Stream>& stream : machine().streams)
    if (can_go_on(*stream)) able.push_back(stream);
  if (able.empty()) return false;
  Stream& stream = *able[draw(able.size())];
  const Item first = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.runs = true;  // host functions may call back
  if (first.work) first.work();
  stream.runs = false;
  return true;
}

template <typename IsDone>
void go_on_until(const IsDone& is_done) {
  while (!is_done()) {
    if (go_on()) continue;
    std::fputs("emulated CUDA: waiting for ever: a stream waits for what no stream will do\n", stderr);
    std::abort();
  }
}

/// Sometimes work is done before anybody waits for it.
void perhaps_go_on() {
  while (draw(3) == 0 && go_on()) {
  }
}

void append(Stream& stream, Item item) {
  if (stream.capture) {
    stream.capture->items.push_back(std::move(item));
    return;
  }
  stream.queue.push_back(std::move(item));
  perhaps_go_on();
}

/// A call that waits or changes memory: not while this thread captures.
bool is_forbidden() {
  bool found = false;
  for (const std::shared_ptr<Stream>& stream : machine().streams) {
    if (!stream->capture || stream->capturing_thread != std::this_thread::get_id()) continue;
    stream->is_spoilt = found = true;
  }
  return found;
}

void finish(const Stream& stream) {
  go_on_until([&] { return stream.queue.empty() && !stream.runs; });
}

void finish_device(int device) {
  for (const std::shared_ptr<Stream>& stream : std::list<std::shared_ptr<Stream>>(machine().streams))
    if (stream->device == device) finish(*stream);
}

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

std::size_t draw(std::size_t below) {
  std::uint64_t& x = machine().random;
  x = x * 6364136223846793005U + 1442695040888963407U;
  return static_cast<std::size_t>(x >> 33) % below;
}

void enqueue(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(machine().mutex);
  append(of(stream), {std::move(work), nullptr, 0});
}

int device_of(cudaStream_t stream) {
  return of(stream).device;
}

void launch(const char* kernel, const Configuration& configuration, std::function<void()> thread) {
  const Lock lock(machine().mutex);
  const dim3& blocks = configuration.blocks;
  const dim3& threads = configuration.threads;
  const bool possible = blocks.x >= 1 && blocks.x <= 2147483647U && blocks.y >= 1 && blocks.y <= 65535 &&
                        blocks.z >= 1 && blocks.z <= 65535 && threads.z >= 1 && threads.z <= 64 &&
                        threads.x * threads.y * threads.z >= 1 && threads.x * threads.y * threads.z <= 1024;
  if (!possible) {
    told(cudaErrorInvalidConfiguration);
    return;
  }
  if (of(configuration.stream).device != current_device) {
    told(cudaErrorInvalidResourceHandle);
    return;
  }
  append(of(configuration.stream), {[=] { run_kernel(kernel, configuration, thread); }, nullptr, 0});
}

}  // namespace emulated

using namespace emulated;

// ---- devices ----

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
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
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= kDevices) return told(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated");
  properties->major = 9;
  properties->multiProcessorCount = 1;
  properties->totalGlobalMem = kDeviceBytes;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 1;
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
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
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

// ---- memory ----

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

// ---- streams and events ----

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(machine().mutex);
  machine().streams.push_back(std::make_shared<Stream>());
  machine().streams.back()->device = current_device;
  *stream = reinterpret_cast<cudaStream_t>(machine().streams.back().get());
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(machine().mutex);
  finish(of(stream));
  machine().streams.remove_if([&](const auto& known) { return known.get() == &of(stream); });
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  finish(of(stream));
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  enqueue(stream, [=] { function(data); });
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  auto* made = new Event;
  made->marks->device = current_device;
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (of(event).marks->device != on.device) return told(cudaErrorInvalidResourceHandle);
  of(event).captured_on = on.capture ? &on : nullptr;
  if (on.capture) return cudaSuccess;
  const std::shared_ptr<Marks> marks = of(event).marks;
  const std::uint64_t mark = ++marks->asked;
  append(on, {[marks, mark] {
                marks->reached = std::max(marks->reached, mark);
                marks->at = Clock::now();
              },
              nullptr, 0});
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (of(event).captured_on != nullptr || on.capture) {
    if (of(event).captured_on == &on) return cudaSuccess;
    is_forbidden();  // another stream would join the capture, or the capture depend on what is outside
    return told(cudaErrorStreamCaptureIsolation);
  }
  append(on, {{}, of(event).marks, of(event).marks->asked});
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(machine().mutex);
  if (is_forbidden()) return told(cudaErrorStreamCaptureUnsupported);
  const Marks& marks = *of(event).marks;
  go_on_until([&, mark = marks.asked] { return marks.reached >= mark; });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const Lock lock(machine().mutex);
  const Marks& first = *of(start).marks;
  const Marks& last = *of(end).marks;
  if (first.reached < first.asked || last.reached < last.asked) return told(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(last.at - first.at).count();
  return cudaSuccess;
}

// ---- graphs ----

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (on.capture) return told(cudaErrorIllegalState);
  on.capture = std::make_unique<Graph>();
  on.capturing_thread = std::this_thread::get_id();
  on.is_spoilt = false;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  const std::unique_ptr<Graph> captured = std::move(on.capture);
  *graph = nullptr;
  if (on.is_spoilt) return told(cudaErrorStreamCaptureInvalidated);
  *graph = reinterpret_cast<cudaGraph_t>(new Graph(*captured));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  for (const Item& item : reinterpret_cast<Graph*>(executable)->items) append(of(stream), item);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Graph*>(executable);
  return cudaSuccess;
}
