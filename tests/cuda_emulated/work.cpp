// Work of the emulated streams. It stays on its stream until someone waits for it, and a random stream continues next.
// Work whose order is only accidental on a GPU thus gets out of order here.
#include <cstdio>
#include <cstdlib>

#include "tests/cuda_emulated/knobs.hpp"
#include "tests/cuda_emulated/machine.hpp"

namespace emulated {

std::atomic<std::size_t> queue_entries{kQueueEntries};
std::atomic<std::uint64_t> waits_for_room{0};
std::atomic<std::int64_t> channel_sums_ns{0}, clock_ahead_ns{0};

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

namespace {

bool can_go_on(const Stream& stream, bool is_waited_for) {
  if (stream.runs || stream.queue.empty()) return false;
  const Item& first = stream.queue.front();
  if (first.is_of_host && !is_waited_for) return false;
  return first.work || first.waits_for->reached >= first.mark;
}

/// Runs one item of a random stream; returns false if none can continue. A host function may wait for this thread's
/// next actions, so it starts only when this thread waits itself.
bool go_on(bool is_waited_for) {
  std::vector<std::shared_ptr<Stream>> able;
  for (const bool is_default : {false, true}) {
    if (!able.empty() && draw(8) > 0) break;
    for (const std::shared_ptr<Stream>& stream : machine().streams)
      if (stream->is_default == is_default && can_go_on(*stream, is_waited_for)) able.push_back(stream);
  }
  if (able.empty()) return false;
  Stream& stream = *able[draw(able.size())];
  const Item first = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (first.is_counted) --stream.entries;
  stream.runs = true;  // host functions may call back
  if (first.work) first.work();
  stream.runs = false;
  return true;
}

/// Runs some work at random before someone waits for it.
void perhaps_go_on() {
  while (draw(3) == 0 && go_on(false)) {
  }
}

}  // namespace

void go_on_until(const std::function<bool()>& is_done) {
  while (!is_done()) {
    if (go_on(true)) continue;
    std::fputs("emulated CUDA: waiting for ever: a stream waits for what no stream will do\n", stderr);
    std::abort();
  }
}

void append(Stream& stream, Item item) {
  if (stream.capture) {
    stream.capture->items.push_back(std::move(item));
    return;
  }
  if (item.is_counted && stream.entries >= queue_entries) {
    ++waits_for_room;
    go_on_until([&] { return stream.entries < queue_entries; });
  }
  if (item.is_counted) ++stream.entries;
  stream.queue.push_back(std::move(item));
  perhaps_go_on();
}

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

bool is_current(cudaStream_t stream) {
  return device_of(stream) == current_device;
}

namespace {

Journal* journal = nullptr;
std::map<std::string, std::uint64_t> blocks_of_kernels;

}  // namespace

Journal::Journal() {
  const Lock lock(machine().mutex);
  journal = this;
}
Journal::~Journal() {
  const Lock lock(machine().mutex);
  journal = nullptr;
}
void note(const std::string& what) {
  const Lock lock(machine().mutex);
  if (what.rfind("channel_sums", 0) == 0) clock_ahead_ns += channel_sums_ns;
  if (journal != nullptr) journal->done_.push_back(what);
}
std::uint64_t last_blocks(const std::string& kernel) {
  const Lock lock(machine().mutex);
  const auto found = blocks_of_kernels.lower_bound(kernel);
  return found == blocks_of_kernels.end() || found->first.rfind(kernel, 0) != 0 ? 0 : found->second;
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
  blocks_of_kernels[kernel] = std::uint64_t{blocks.x} * blocks.y * blocks.z;
  append(of(configuration.stream), {[=] { run_kernel(kernel, configuration, thread); }, nullptr, 0});
}

}  // namespace emulated
