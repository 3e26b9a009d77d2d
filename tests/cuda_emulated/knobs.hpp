#pragma once
// Settings and counters of the emulated devices, for tests.
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace emulated {

/// Entries that a stream's queue holds: a further call waits until one is done. A graph's launch is one.
constexpr std::size_t kQueueEntries = 1024;
extern std::atomic<std::size_t> queue_entries;
/// GPUs that a GPU can have as peers.
extern std::atomic<int> most_peers;
/// The driver's, as CUDA counts versions; below the runtime's it serves nothing.
extern std::atomic<int> driver_version;
/// Whether the switches between the devices add, as the driver tells.
extern std::atomic<bool> can_multicast;
/// Whether cuDNN's engines overwrite existing values to which they should add.
extern std::atomic<bool> ignores_beta;
/// Whether cuDNN has an engine for a convolution with sums of its outputs in fp16, and whether that forgets half of the rows.
extern std::atomic<bool> has_summing_engine, forgets_rows;
/// Time that such an engine, and our own kernel that sums channels, take besides, in nanoseconds as events tell it.
extern std::atomic<std::int64_t> summing_engine_ns, channel_sums_ns;
/// How far events' clocks are ahead by that.
extern std::atomic<std::int64_t> clock_ahead_ns;

/// Whether graphs cannot be made, and whether they lose the last thing that was captured.
extern std::atomic<bool> refuses_graphs, loses_graphs_end;

/// The number of multiprocessors per device, and of blocks of a kernel that one of them holds.
extern std::atomic<int> multiprocessors, resident_blocks;
/// The number of blocks, over all dimensions, in the last launch of a kernel whose name begins like this.
std::uint64_t last_blocks(const std::string& kernel);

/// Records the devices' work in order while such an object exists: kernels by name, and collectives as "nccl".
class Journal {
 public:
  Journal();
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  const std::vector<std::string>& done() const { return done_; }

 private:
  friend void note(const std::string& what);
  std::vector<std::string> done_;
};
void note(const std::string& what);

/// Page-locked memory of the host that is allocated now.
std::size_t pinned_bytes();

/// Which devices have had a context opened on them since forget_contexts().
bool has_context(int device);
void forget_contexts();

/// Counted since the program began:
extern std::atomic<std::uint64_t> waits_for_room;         ///< calls that a full queue made wait
extern std::atomic<std::uint64_t> waits_between_devices;  ///< a stream told to wait for another device's event
extern std::atomic<std::uint64_t> device_synchronisations, stream_synchronisations;
extern std::atomic<std::uint64_t> graph_launches;
extern std::atomic<std::uint64_t> collective_bytes;  ///< of sums and what else NCCL moves, of one rank

/// Sets a knob for a scope.
template <typename T>
class With {
 public:
  With(std::atomic<T>& knob, T value) : knob_(knob), before_(knob.exchange(value)) {}
  ~With() { knob_ = before_; }
  With(const With&) = delete;
  With& operator=(const With&) = delete;

 private:
  std::atomic<T>& knob_;
  T before_;
};

}  // namespace emulated
