#pragma once
// The state of the emulated runtime: devices, streams with their waiting work, events, memory. Each of its sources has
// the CUDA functions of one kind: devices.cpp, memory.cpp, streams.cpp (with events), graphs.cpp.
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/cuda_emulated/emulated.hpp"

namespace emulated {

constexpr int kDevices = 2;
constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;
using Clock = std::chrono::steady_clock;

/// Counts how often an event has been recorded, in the order of the calls and in that of the work.
struct Marks {
  int device = 0;
  std::uint64_t asked = 0, reached = 0;
  Clock::time_point at;
};

struct Item {
  std::function<void()> work;        ///< empty if it only waits
  std::shared_ptr<Marks> waits_for;  ///< event to wait for
  std::uint64_t mark = 0;            ///< its mark
  bool is_of_host = false;           ///< a host function
  bool is_counted = true;            ///< takes an entry of the stream's queue; of a graph's launch, the first item does
};

struct Graph {
  std::vector<Item> items;
};

struct Stream {
  int device = 0;
  std::deque<Item> queue;
  std::size_t entries = 0;  ///< number of counted items
  std::unique_ptr<Graph> capture;
  std::thread::id capturing_thread;
  bool is_spoilt = false;  ///< the capture is invalid
  bool runs = false;
  bool is_default = false;  ///< no event waits for it: its work runs only if there is no other work
};

struct Event {
  std::shared_ptr<Marks> marks = std::make_shared<Marks>();
  bool is_timed = true;
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
  std::shared_ptr<Stream> default_streams[kDevices];  ///< made when first needed
  std::map<const char*, Allocation> allocations;
  std::size_t allocated_bytes[kDevices] = {};
  bool has_context[kDevices] = {};
  std::uint64_t random = 1;
};
Machine& machine();
extern thread_local int current_device;
/// The error that cudaGetLastError() returns next.
extern thread_local cudaError_t last_error;

using Lock = std::lock_guard<std::recursive_mutex>;

/// Opens a context on the current device, as any call that works on it does.
void open_context();
/// Stores the error for cudaGetLastError() and returns it.
cudaError_t told(cudaError_t error);

Stream& of(cudaStream_t stream);
Event& of(cudaEvent_t event);

/// In work.cpp: appends work to a stream, or to the graph that it captures.
void append(Stream& stream, Item item);
/// Returns true for a call that waits or changes memory while this thread captures.
bool is_forbidden();
/// Runs work of randomly chosen streams until `is_done`.
void go_on_until(const std::function<bool()>& is_done);
void finish(const Stream& stream);
void finish_device(int device);

}  // namespace emulated
