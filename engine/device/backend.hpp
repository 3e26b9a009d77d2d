#pragma once
// The interface between training and devices; engine/host and engine/cuda implement it.
//
// A backend owns devices 0 .. devices() - 1 and the vector operations on their memory (sync::VectorOps). A replica is
// one learner's network on one device: it computes a gradient from (parameters, batch). Parameters are in the buffers
// of the synchronisation algorithm, not in the replica, so that every algorithm is written only once.
//
// All backends use the same layouts at this interface. Images are batch x C x H x W on the host. Parameters and
// gradients are flat floats in the order of graph.layers and Layer::parameters (convolution K x C/groups x R x S,
// fully-connected O x I). Each backend chooses its internal layout (NHWC, half precision).
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/precision.hpp"
#include "engine/device/repeater.hpp"
#include "engine/model/graph.hpp"
#include "engine/sync/processes.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::device {

struct ReplicaOptions {
  int batch = 1;  ///< images per call of gradient() and correct()
  int device = 0;
  Precision precision = Precision::fp32;
  std::uint64_t seed = 1;  ///< for dropout
  int learners = 1;        ///< of the whole run, including this one: an upper limit of those that compute concurrently
  /// Compares library engines with sums by the definition before use, and the first replayed pass with an eager one. An
  /// engine or replay with another result is not used. Costs a few milliseconds per new problem.
  bool is_self_checked = true;
  /// For gradients that VectorOps::average_all() averages over several devices. Each bucket of at least this size is
  /// averaged while the pass continues. 0: the whole gradient is averaged after the pass. Must be the same for all
  /// replicas of a run.
  std::int64_t bucket_bytes = 0;
};
/// The default of PyTorch's DistributedDataParallel: large enough to use the links' bandwidth, small enough for several
/// buckets.
constexpr std::int64_t kGradientBucketBytes = std::int64_t{25} << 20;

/// The rotation and zoom of an image about its centre (engine/data/augment.hpp): cosine and sine, both divided by the
/// zoom. The new pixel at (dx, dy) gets the old value at (cosine dx - sine dy, sine dx + cosine dy), interpolated
/// bilinearly. Outside the image, the nearest border pixel is used. {1, 0}: unchanged.
struct ImageTurn {
  double cosine, sine;
};

/// Images as bytes (NCHW), a quarter of the size of floats. The device converts them: values[256 c + byte] for channel
/// c, interpolated if `turns` are given.
struct ByteImages {
  const std::uint8_t* bytes;
  const float* values;  ///< must stay valid and unchanged as long as the replica lives
  const ImageTurn* turns = nullptr;
  /// The bytes are in memory of Backend::allocate_pinned() and stay unchanged until Replica::until_input_is_read()
  /// returns. So the host need not copy them.
  bool is_pinned = false;
};

/// Contiguous images (NCHW, normalised) and labels in [0, classes), in host memory. They are read before the call
/// returns unless they are pinned.
struct HostBatch {
  const float* images;
  const std::int32_t* labels;
  const ByteImages* as_bytes = nullptr;  ///< replaces `images`, if Backend::takes_bytes()
};

/// Part of a layer's work in a training pass. A layer computes all gradients at once (`backward`), or first its
/// parameters' gradients and then its input's.
enum class LayerPart { forward, backward, backward_data, backward_filter };
std::string to_string(LayerPart part);

/// The state of a device's clock at one moment.
struct ClockState {
  double clock_hz = 0;  ///< of the multiprocessors; 0: unknown
  double highest_hz = 0;
  bool is_held_down = false;         ///< by something that would not happen in training: heat, a power brake
  std::vector<std::string> reasons;  ///< all reasons why it is not higher
  /// Returns clock_hz / highest_hz if heat or a power brake holds the clock down, else 1. The power cap and idling do
  /// not count: the cap limits training, too, and an idle clock rises under load.
  double ratio() const;
};

/// The memory of a device as the device reports it; 0: unknown.
struct MemoryFacts {
  std::int64_t bytes = 0;
  double bandwidth_bytes_per_s = 0;
};

struct LayerTime {
  int layer;  ///< index in Graph::layers; for fused layers, the first
  LayerPart part;
  double seconds;
};

/// Collective operations between devices, named as in MPI and NCCL.
enum class Collective { all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all };
std::string to_string(Collective collective);

constexpr int kHost = -1;  ///< instead of a device's number

/// A copy of `count` floats between devices; kHost as a device means host memory.
struct Transfer {
  const float* from;
  int from_device;
  float* to;
  int to_device;
  std::int64_t count;
};

class Replica {
 public:
  virtual ~Replica() = default;

  /// The gradient of the mean loss over the batch at `parameters`, a buffer on the replica's device that is only read.
  /// The result is on that device and valid until the next call. May return before the device has finished; later
  /// VectorOps on the result wait for it. `step` numbers the training pass; together with the seed it determines the
  /// elements that dropout drops.
  virtual const float* gradient(const float* parameters, const HostBatch& batch, std::uint64_t step) = 0;
  /// As gradient(), but calls `ready` for each part of the gradient as soon as it is complete, from the last part to
  /// the first. A backend that does not know when parts are complete makes no such call.
  virtual const float* gradient_in_parts(const float* parameters, const HostBatch& batch, std::uint64_t step,
                                         const sync::GradientFunction::ReadyFunction& /*ready*/) {
    return gradient(parameters, batch, step);
  }
  /// The loss of the last gradient(); waits for it.
  virtual double loss() = 0;
  /// The number of correctly classified images among the first `count` of the batch, in evaluation mode (running
  /// statistics, no dropout). Waits.
  virtual int correct(const float* parameters, const HostBatch& batch, int count) = 0;

  /// Returns a function that waits until the pinned images last given to gradient() or correct() have been read. It may
  /// be called from any thread, even after the replica is destroyed. Empty: they have been read.
  virtual std::function<void()> until_input_is_read() const { return {}; }

  /// Sets the factor on the loss inside half precision, 1 at first, which keeps small gradients from vanishing
  /// (sync/loss_scale.hpp). gradient() divides by it again. Its result is the gradient of the loss, or contains
  /// infinities or NaN if a scaled value overflowed. A backend that needs no such factor ignores it.
  virtual void set_loss_scale(double /*scale*/) {}

  /// Batch norm's running statistics, per layer all means and then all variances; empty for a model without batch norm.
  /// Means start at 0, variances at 1, and each gradient() updates them.
  virtual std::vector<float> running_statistics() = 0;
  virtual void set_running_statistics(const std::vector<float>& statistics) = 0;

  /// Runs a training pass as in gradient() and times each part, in the order in which they run; waits. The pass takes
  /// longer than gradient(), because clocks are read between parts and no graph is replayed. Empty if the backend
  /// cannot do this.
  virtual std::vector<LayerTime> time_layers(const float* /*parameters*/, const HostBatch& /*batch*/,
                                             std::uint64_t /*step*/) {
    return {};
  }

  /// Device memory that only this replica uses: gradients, copies of parameters in another precision, and activations
  /// and workspaces unless they are shared (Backend::shared_bytes()).
  virtual std::int64_t memory_bytes() const = 0;
  /// Memory of the layers' outputs and their gradients in a pass, shared or not.
  virtual std::int64_t activation_bytes() const = 0;

  /// One line per operation that is slower than the device allows, and per engine with wrong results, with the reason.
  /// Records call them "slow_paths". Examples: no library offers an
  /// engine for a convolution; a pass cannot be captured. Empty if there is none; complete after two passes.
  virtual std::vector<std::string> fallbacks() const { return {}; }
  /// One line with the comparisons of ReplicaOptions::is_self_checked and the time they took. Empty if another replica
  /// of the process has already made them, because results are shared.
  virtual std::string self_check_text() const { return {}; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;         ///< "host", "cuda"
  virtual std::string description() const = 0;  ///< one line: the processor or GPUs, and library versions
  virtual int devices() const = 0;
  virtual sync::VectorOps& ops() = 0;
  /// Throws InputError for a graph that the backend cannot run, std::invalid_argument for wrong options,
  /// std::runtime_error if the device fails (out of memory).
  virtual std::unique_ptr<Replica> make_replica(const model::Graph& graph, const ReplicaOptions& options) = 0;
  /// Waits until all devices are idle.
  virtual void synchronise() = 0;
  /// Memory on all devices that replicas use in turn; 0 if each has its own.
  virtual std::int64_t shared_bytes() const { return 0; }
  /// Unallocated memory of a device. The host, whose memory grows on demand, returns the largest number.
  virtual std::int64_t free_bytes(int /*device*/) { return std::numeric_limits<std::int64_t>::max(); }

  /// A collective over all devices, out of place. Arrays send[d] and receive[d] are on device d and have n numbers of
  /// element_bytes(element) each; n is a multiple of devices(). For all_gather, each sends its first n / devices()
  /// numbers, and for reduce_scatter each receives that many. For reduce and broadcast, the root is 0. With several
  /// processes, all their devices take part in the order of ranks, and n is a multiple of their total number. Throws
  /// std::runtime_error if the devices cannot do it (two of them are one GPU, or they cannot add this precision).
  virtual void exchange(Collective collective, Precision element, std::int64_t n, const std::vector<const void*>& send,
                        const std::vector<void*>& receive);

  /// Allocates `count` zeroed floats of page-locked host memory, which a device's copy engines access directly. Null if
  /// there is no such memory.
  virtual std::shared_ptr<float> allocate_pinned(std::int64_t /*count*/) { return nullptr; }
  /// Runs copies concurrently, each on its own stream (on the host: as many at a time as there are threads). No earlier
  /// operation may still use their memory, except an earlier call's copies in the same order. Host memory must be
  /// pinned if the backend has pinned memory. May return early; synchronise() waits. Throws std::invalid_argument for a
  /// device that does not exist.
  virtual void copy_at_once(const std::vector<Transfer>& transfers);

  /// Records the calls of ops() that `work` makes, all on memory of `device`, as one unit (a CUDA graph). Each call of
  /// the result enqueues them again; the first call runs them eagerly. Empty if the backend has no such feature.
  virtual std::function<void()> recorded(int /*device*/, std::function<void()> /*work*/) { return {}; }

  /// Whether repeat_sums() works here; with several processes, whether it does in all of them.
  virtual bool can_repeat_sums() { return false; }
  /// Sums n floats over all devices repeatedly, in parallel with all other work, in its own memory. While it runs, no
  /// device memory may be allocated or freed, and no kernel may run for the first time. Both would wait for a device,
  /// and the sum waits for all devices. A single GPU emulates the sum. Null if the backend cannot do this.
  ///
  /// All processes must create, start and stop it, and must make no other call across processes in between. If one
  /// process fails to create it, all fail. The sums continue until all processes have asked to stop.
  virtual std::unique_ptr<Repeater> repeat_sums(std::int64_t /*n*/) { return nullptr; }

  /// Returns the largest of all processes' numbers to each of them, for decisions that depend on a clock. With one
  /// process, returns x. Returns only after all processes have called it.
  virtual double agreed(double x) { return x; }

  /// Whether the devices share one cache, so that each evicts the others' data.
  virtual bool has_shared_cache() const { return false; }
  /// Whether replicas take images as bytes.
  virtual bool takes_bytes() const { return false; }
  /// Whether exchange() works here for numbers of this precision.
  virtual bool has_exchange(Precision /*element*/) { return false; }
  /// Sets the precision in which average_all() sends values from now on. fp16 or bf16 halves the bytes, and rounds
  /// every device's share and the sum. All processes must choose the same. Throws std::runtime_error if the backend
  /// supports only fp32.
  virtual void set_gradient_wire(Precision wire);
  /// NVML's identifier of each device, "GPU-1c8f..."; empty if there is none.
  virtual std::vector<std::string> device_ids() { return {}; }

  /// The steady host clock, in seconds, by which work is timed. A synthetic device has its own clock.
  virtual double now_s();
  /// Whether device_seconds() works here.
  virtual bool has_device_clock() { return false; }
  /// Times `repeats` calls of `work` in sequence by the devices' own clocks, after one untimed call. Returns the
  /// seconds of the slowest device. All devices are held until everything is enqueued, for at most 0.1 s, so that
  /// launch times do not count.
  ///
  /// `work` uses ops(), exchange() and copy_at_once() of pinned memory, and must not wait for any of it (no upload, no
  /// dot product). It must have run before, because first runs may wait for a device. All processes must call this.
  /// Returns nothing, in all processes, if a device continued before everything was enqueued: its queue was full or the
  /// host was slow. Throws std::runtime_error if there is no such clock.
  virtual std::optional<double> device_seconds(const std::function<void()>& work, int repeats);
  /// The current clock of each device; empty if clocks cannot be read. After the first call, other threads may call it
  /// at any time.
  virtual std::vector<ClockState> clocks() { return {}; }
  /// The smallest ClockState::ratio() of all devices; 1 if clocks cannot be read.
  virtual double clock_ratio();
  /// One line with the processors to which this process's threads are bound, and why; empty if they are not bound.
  virtual std::string binding() const { return {}; }
  /// Returns the smallest memory and the smallest bandwidth among the devices.
  virtual MemoryFacts memory() const { return {}; }
};

/// The parameter tensors of a graph, described as segments of the flat buffer.
sync::Layout layout_of(const model::Graph& graph);
/// Draws initial parameters as host::Network::initialise(seed) does, the same for every backend.
std::vector<float> initial_parameters(const model::Graph& graph, std::uint64_t seed);

/// `devices` logical devices that use this machine's cores. `threads` is the total; 0 means one per core. With
/// `processes`, which must outlive the backend, sums include all processes; the devices belong to this process.
std::unique_ptr<Backend> make_host_backend(int devices, int threads, sync::Processes* processes = nullptr);

}  // namespace lockstep::device
