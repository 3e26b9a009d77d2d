#pragma once
// What the emulated runtime knows: devices, streams with the work that waits on them, events, memory. Each of its
// sources has the CUDA functions of one kind: devices.cpp, memory.cpp, streams.cpp (with events), graphs.cpp.
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
  bool is_of_host = false;           ///< a function of the host
  bool is_counted = true;            ///< takes an entry of the stream's queue: of a graph's launch the first does
};

struct Graph {
  std::vector<Item> items;
};

struct Stream {
  int device = 0;
  std::deque<Item> queue;
  std::size_t entries = 0;  ///< those that are counted
  std::unique_ptr<Graph> capture;
  std::thread::id capturing_thread;
  bool is_spoilt = false;  ///< the capture
  bool runs = false;
  bool is_default = false;  ///< nothing waits for it by an event: its work is put off while there is other work
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

/// A call that works on the current device opens a context there.
void open_context();
/// The error, kept for cudaGetLastError().
cudaError_t told(cudaError_t error);

Stream& of(cudaStream_t stream);
Event& of(cudaEvent_t event);

/// work.cpp: onto a stream, or into what it captures.
void append(Stream& stream, Item item);
/// A call that waits or changes memory: not while this thread captures.
bool is_forbidden();
/// Work is done, of streams as they are drawn, until `is_done`.
void go_on_until(const std::function<bool()>& is_done);
void finish(const Stream& stream);
void finish_device(int device);

}  // namespace emulated
