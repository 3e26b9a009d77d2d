#pragma once
// The one interface that training is written against; engine/host and engine/cuda implement it.
//
// A backend owns devices 0 .. devices() - 1 and the vector operations on their memory (sync::VectorOps). A replica is
// one learner's network on one device: it turns (parameters, batch) into a gradient. Parameters live outside it, in
// the buffers of the synchronisation algorithm, so that every algorithm is written once.
//
// Layouts at this boundary are the same for all backends: images batch x C x H x W on the host, parameters and
// gradients float, flat, in the order of graph.layers and Layer::parameters (convolution K x C/groups x R x S,
// fully-connected O x I). What a backend stores inside (NHWC, half precision) is its own business.
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
  int batch = 1;  ///< images of every gradient() and of every correct() call
  int device = 0;
  Precision precision = Precision::fp32;
  std::uint64_t seed = 1;  ///< of dropout
  int learners = 1;        ///< of the whole run, this one included: how many may compute side by side
  /// Library engines are compared with sums by the definition before they are used, and the first pass that is replayed
  /// with one that is not; what computes something else is not used. Costs some milliseconds for each new problem.
  bool is_self_checked = true;
  /// Gradients that go to VectorOps::average_all() over several devices: buckets of at least so many bytes are averaged
  /// while the rest of the pass goes on. 0: the whole gradient after the pass. The same for all replicas of a run.
  std::int64_t bucket_bytes = 0;
};
/// As PyTorch's DistributedDataParallel has it: large enough for the links' bandwidth, small enough for several.
constexpr std::int64_t kGradientBucketBytes = std::int64_t{25} << 20;

/// How an image is turned and enlarged about its centre: the pixel at (dx, dy) from it shows what was at
/// (cosine dx - sine dy, sine dx + cosine dy), interpolated bilinearly, the nearest border pixel beyond the border
/// (engine/data/augment.hpp; both are over the zoom). {1, 0}: as it was.
struct ImageTurn {
  double cosine, sine;
};

/// Images as bytes (NCHW), a quarter of what floats are, of which the device makes floats: values[256 c + byte] for
/// channel c, interpolated where `turns` are given.
struct ByteImages {
  const std::uint8_t* bytes;
  const float* values;  ///< stays where and as it is as long as the replica lives
  const ImageTurn* turns = nullptr;
  /// They lie in memory of Backend::allocate_pinned(), and stay as they are until Replica::until_input_is_read(): then
  /// nobody copies them on the host.
  bool is_pinned = false;
};

/// Images one after another (NCHW, normalised) and labels in [0, classes), on the host, read before the call returns unless
/// they are pinned.
struct HostBatch {
  const float* images;
  const std::int32_t* labels;
  const ByteImages* as_bytes = nullptr;  ///< in place of `images`, where Backend::takes_bytes()
};

/// A part of a training pass through one layer: a layer computes all its gradients at once (`backward`), or that of its
/// parameters and that of its input one after the other.
enum class LayerPart { forward, backward, backward_data, backward_filter };
std::string to_string(LayerPart part);

/// A device's clock at one moment.
struct ClockState {
  double clock_hz = 0;  ///< of the multiprocessors; 0: unknown
  double highest_hz = 0;
  bool is_held_down = false;         ///< by what would not do so in training: heat, a power brake
  std::vector<std::string> reasons;  ///< why it is not higher, all of them
  /// Over the highest where it is held down, else 1: at the power cap and idle it runs as it will when it trains.
  double ratio() const;
};

/// Of a device's memory, as the device says; 0: unknown.
struct MemoryFacts {
  std::int64_t bytes = 0;
  double bandwidth_bytes_per_s = 0;
};

struct LayerTime {
  int layer;  ///< in Graph::layers; of layers that run as one, the first
  LayerPart part;
  double seconds;
};

/// What devices exchange, named as in MPI and NCCL.
enum class Collective { all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all };
std::string to_string(Collective collective);

constexpr int kHost = -1;  ///< in place of a device's number

/// A copy of `count` floats; `from_device` and `to_device` say where they lie, kHost: in the host's memory.
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

  /// Gradient of the mean loss over the batch at `parameters` (a buffer of the replica's device, only read). The
  /// buffer returned lies on that device and stays valid until the next call. May return before the device is done:
  /// operations of the backend's VectorOps on it wait for it. `step` numbers the training pass: with the seed it
  /// decides what dropout drops.
  virtual const float* gradient(const float* parameters, const HostBatch& batch, std::uint64_t step) = 0;
  /// The same; calls `ready` for each part of the gradient as soon as it is complete, from the last part to the first.
  /// A backend that does not know when parts are complete calls nothing.
  virtual const float* gradient_in_parts(const float* parameters, const HostBatch& batch, std::uint64_t step,
                                         const sync::GradientFunction::ReadyFunction& /*ready*/) {
    return gradient(parameters, batch, step);
  }
  /// Loss of the last gradient() (waits for it).
  virtual double loss() = 0;
  /// Number of the first `count` images of the batch that are classified correctly in evaluation mode (running
  /// statistics, no dropout). Waits.
  virtual int correct(const float* parameters, const HostBatch& batch, int count) = 0;

  /// A wait, for any thread and even after the replica is gone, until pinned images last given to gradient() or correct()
  /// have been read. Empty: they have.
  virtual std::function<void()> until_input_is_read() const { return {}; }

  /// Factor on the loss inside half precision, 1 at first, so that small gradients do not vanish (sync/loss_scale.hpp).
  /// gradient() divides it out again: its result is the gradient of the loss, or holds infinities or NaN where a scaled
  /// value did not fit. A backend that needs no such factor ignores it.
  virtual void set_loss_scale(double /*scale*/) {}

  /// Batch norm's running statistics, per layer all means and then all variances; empty for a model without.
  /// Starts at means 0, variances 1. Each gradient() moves them.
  virtual std::vector<float> running_statistics() = 0;
  virtual void set_running_statistics(const std::vector<float>& statistics) = 0;

  /// A training pass as in gradient(), timed part by part in the order in which they ran; waits. In all it takes longer
  /// than gradient(): clocks are read in between and nothing is replayed from a graph. Empty: the backend cannot.
  virtual std::vector<LayerTime> time_layers(const float* /*parameters*/, const HostBatch& /*batch*/,
                                             std::uint64_t /*step*/) {
    return {};
  }

  /// Device memory that the replica has for itself: gradients, copies of parameters in another precision, activations
  /// and workspaces where it does not share them (Backend::shared_bytes()).
  virtual std::int64_t memory_bytes() const = 0;
  /// Memory of its outputs and their gradients in a pass, its own or shared.
  virtual std::int64_t activation_bytes() const = 0;

  /// One line for each thing that runs more slowly than the device could, with the reason: a convolution that no
  /// library offers an engine for, a pass that cannot be captured. Empty where all is well; complete after two passes.
  virtual std::vector<std::string> slow_paths() const { return {}; }
  /// One line: what ReplicaOptions::is_self_checked has compared, and how long it took. Empty where nothing was: replicas
  /// of a process share what one of them found.
  virtual std::string self_check() const { return {}; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;         ///< "host", "cuda"
  virtual std::string description() const = 0;  ///< one line: processor or GPUs, library versions
  virtual int devices() const = 0;
  virtual sync::VectorOps& ops() = 0;
  /// Throws InputError for a graph that the backend cannot run, std::invalid_argument for wrong options,
  /// std::runtime_error where the device fails (out of memory).
  virtual std::unique_ptr<Replica> make_replica(const model::Graph& graph, const ReplicaOptions& options) = 0;
  /// Waits until all devices are idle.
  virtual void synchronise() = 0;
  /// Memory that replicas take turns in, on all devices; 0 where each has its own.
  virtual std::int64_t shared_bytes() const { return 0; }
  /// Memory of a device that nothing has taken; the host, whose memory grows on demand, does not say: the largest
  /// number.
  virtual std::int64_t free_bytes(int /*device*/) { return std::numeric_limits<std::int64_t>::max(); }

  /// A collective over all devices, out of place: send[d] and receive[d] lie on device d and have n numbers of
  /// element_bytes(element) each, n a multiple of devices(). all_gather sends the first n / devices() of each,
  /// reduce_scatter receives as many; reduce and broadcast have root 0. With several processes all their devices take
  /// part, in the order of the ranks, and n is a multiple of their number. Throws std::runtime_error where the devices
  /// cannot (two of them on one GPU, a precision that they do not add).
  virtual void exchange(Collective collective, Precision element, std::int64_t n, const std::vector<const void*>& send,
                        const std::vector<void*>& receive);

  /// `count` floats of host memory that a device's copy engines reach by themselves (page-locked), zeros. Null where
  /// there is no such memory.
  virtual std::shared_ptr<float> allocate_pinned(std::int64_t /*count*/) { return nullptr; }
  /// Copies that go on side by side, each on a stream of its own (on the host, as far as threads reach). Nothing that
  /// was handed in before may still touch their memory, but copies of an earlier call in the same order, and what is
  /// the host's is pinned where there is such memory. May return before they are done: synchronise() waits. Throws
  /// std::invalid_argument for a device that is not there.
  virtual void copy_at_once(const std::vector<Transfer>& transfers);

  /// What `work` hands in to ops(), all of it on memory of `device`, as one thing (a CUDA graph): a call of the result
  /// hands it in again. The first call runs it as it is. Empty where the backend has no such thing.
  virtual std::function<void()> recorded(int /*device*/, std::function<void()> /*work*/) { return {}; }

  /// Whether repeat_sums() works here; over several processes, where it does in each of them.
  virtual bool can_repeat_sums() { return false; }
  /// Sums of n floats over all devices, again and again beside whatever else they do, on memory of its own. While it is
  /// started no memory may be allocated or freed on the devices, and nothing may run there for the first time: both
  /// wait for a device, and the sum waits for all of them. One GPU emulates it; null where the backend cannot.
  /// All processes make, start and stop it, and make no other call that goes over processes meanwhile; what one cannot
  /// make fails in all. The sums of one go on until all have asked for a stop.
  virtual std::unique_ptr<Repeater> repeat_sums(std::int64_t /*n*/) { return nullptr; }

  /// The largest of all processes' numbers, for each of them: what follows from a clock must be agreed upon. One
  /// process: x. Returns in none of them before all have called.
  virtual double agreed(double x) { return x; }

  /// Whether the devices' caches are one: what several of them go through leaves it sooner than what one does.
  virtual bool has_shared_cache() const { return false; }
  /// Whether replicas take images as bytes.
  virtual bool takes_bytes() const { return false; }
  /// Whether exchange() works here, of numbers in this precision.
  virtual bool has_exchange(Precision /*element*/) { return false; }
  /// What average_all() sends between devices from now on: `wire` fp16 or bf16 halves its bytes and rounds every
  /// device's share and the sum to it. Of all processes alike. Throws std::runtime_error where the backend sends fp32
  /// alone.
  virtual void set_gradient_wire(Precision wire);
  /// Of each device, the name by which NVML knows it: "GPU-1c8f..."; empty where there is no such thing.
  virtual std::vector<std::string> device_ids() { return {}; }

  /// The clock that work is timed by, in seconds: steady, of the host. A synthetic device has one of its own.
  virtual double now_s();
  /// Whether device_seconds() works here.
  virtual bool has_device_clock() { return false; }
  /// Seconds of `repeats` calls of `work` one after another, after one more that does not count, by the devices' own
  /// clocks: of the device that took longest. All devices are held back until everything is handed in, or for 0.1 s,
  /// so that launching does not show. `work` uses ops(), exchange() and copy_at_once() of pinned memory, waits for none
  /// of it (no upload, no dot product), and has run before: what runs for the first time may wait for a device. All
  /// processes call it. Empty in all of them where a device went on before everything was handed in: more than its
  /// queue holds, or a slow host. Throws std::runtime_error where there is no such clock.
  virtual std::optional<double> device_seconds(const std::function<void()>& work, int repeats);
  /// Of each device, now; empty where clocks cannot be read. After a first call other threads may call it at any time.
  virtual std::vector<ClockState> clocks() { return {}; }
  /// The least ClockState::ratio() of all devices; 1 where clocks cannot be read.
  virtual double clock_ratio();
  /// One line on which processors this process's threads are bound to, and why; empty where nothing was bound.
  virtual std::string binding() const { return {}; }
  /// Of the devices, the least of each.
  virtual MemoryFacts memory() const { return {}; }
};

/// Parameter tensors of a graph as segments of the flat buffer.
sync::Layout layout_of(const model::Graph& graph);
/// Initial parameters: those of host::Network::initialise(seed), the same for every backend.
std::vector<float> initial_parameters(const model::Graph& graph, std::uint64_t seed);

/// `devices` threads-as-devices sharing this machine's cores; `threads` in all, 0: as many as there are cores. With
/// `processes`, which must outlive it, sums go over all of them; devices are those of this process.
std::unique_ptr<Backend> make_host_backend(int devices, int threads, sync::Processes* processes = nullptr);

}  // namespace lockstep::device
