#pragma once
// Settings and counters of the emulated devices, for tests.
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace emulated {

/// Entries of a stream's queue. If it is full, a call waits until one is done. The launch of a graph is one entry.
constexpr std::size_t kQueueEntries = 1024;
extern std::atomic<std::size_t> queue_entries;
/// Number of GPUs that a GPU can have as peers.
extern std::atomic<int> most_peers;
/// The driver's version, as CUDA counts. If it is below the runtime's, the driver serves nothing.
extern std::atomic<int> driver_version;
/// True if the switches between the devices add, according to the driver.
extern std::atomic<bool> can_multicast;
/// True if cuDNN's engines overwrite values to which they should add.
extern std::atomic<bool> ignores_beta;
/// cuDNN has an engine for fp16 convolutions with sums of outputs; that engine forgets half of the rows.
extern std::atomic<bool> has_summing_engine, forgets_rows;
/// Additional time of such an engine, and of our own kernel that sums channels, in nanoseconds of events.
extern std::atomic<std::int64_t> summing_engine_ns, channel_sums_ns;
/// Amount by which clocks of events are ahead.
extern std::atomic<std::int64_t> clock_ahead_ns;

/// True if graphs cannot be made, and if they lose the last captured work.
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

/// Returns the page-locked host memory that is allocated now.
std::size_t pinned_bytes();

/// Returns true if a context was opened on the device since forget_contexts().
bool has_context(int device);
void forget_contexts();

/// Counts since the start of the program:
extern std::atomic<std::uint64_t> waits_for_room;         ///< calls that waited because of a full queue
extern std::atomic<std::uint64_t> waits_between_devices;  ///< times that a stream waited for another device's event
extern std::atomic<std::uint64_t> device_synchronisations, stream_synchronisations;
extern std::atomic<std::uint64_t> graph_launches;
extern std::atomic<std::uint64_t> collective_bytes;  ///< of sums and other NCCL operations, for one rank

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
