#pragma once
// The probes of calibrate, for any backend of the engine. A probe prepares one thing to time and defines how it is
// timed.
//
//   iteration    every learner of every device computes a gradient and applies it (momentum), without exchange
//   copy         host to device, device to host (pinned memory separately), within a device, between two devices for
//                each kind of link: one way, and both ways at once; from pinned memory to all devices at once
//   collective   the sum of a vector over all devices, as the algorithms use it
//   update       momentum, LARS, SMA correction and average model, over their vectors
//   launch       small operations in sequence, or recorded and launched as one (a CUDA graph): the fixed cost of each
//   layer        every layer of a model: forward, backward (parameters and input separately if the layer can), update
//   pass         the training pass that contains these parts: slower than an iteration by the clock reads in between
//   overlap      an iteration overlapped with consecutive all-reduces, alternately with an iteration without them
//   input        one iteration's batches, as train prepares them in a thread in parallel with the learners
//
// An `iteration` with "input" in its key runs with that thread.
//
// If several processes run the same probes, they start each sample together, and the slowest process's time counts.
//
// Layers, collectives, updates and most copies are timed by the device's own events, if it has any; copies from and to
// ordinary (pageable) memory are not. All other work, and work in which the host takes part (iterations, input,
// launches, overlap), is timed by the backend's clock until the device has finished. Short work is repeated within one
// sample to last `kShortestSample_s`. Iterations on an asynchronous device are timed in windows (iteration_window()).
#include <memory>
#include <string>
#include <vector>

#include "calib/sample_log.hpp"
#include "calib/sampler.hpp"
#include "calib/topology/machine.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::calib {

constexpr double kShortestSample_s = 200e-6;

struct ProbeOptions {
  std::vector<model::Graph> models;
  std::vector<int> batches{1, 2, 4, 8, 16, 32, 64};
  std::vector<int> learners{1};
  std::vector<std::string> precisions{"fp32"};
  bool has_layers = true;
  bool has_input = true;  ///< the input pipeline, by itself and in parallel with iterations of one learner per device
  std::int64_t most_bytes = std::int64_t{1} << 26;  ///< of copies, collectives and update vectors
  int nodes = 1;                                    ///< number of nodes of the run's processes
  /// The pairs of devices whose copies are measured, the same in all processes; empty: the first two devices.
  std::vector<LinkedPair> pairs;
};

/// The default numbers of learners that share a device. On a GPU 1, 2, 4 and 8, which compute concurrently on its
/// streams, so that `simulate` knows the cost of sharing. On the host 1, because they would share cores that all
/// devices share anyway.
std::vector<int> usual_learners(const device::Backend& backend);

/// A prepared probe: how it is timed and, if one run times several things, their samples.
struct Prepared {
  Timed timed;
  /// Returns samples of the parts, from the runs whose times were kept (Series::runs). Empty if there are no parts.
  std::function<std::vector<Sample>(const Series&)> parts;
};

/// One thing to measure. `prepare` allocates its memory; the result owns it.
struct Probe {
  std::string probe;
  Json key;
  std::function<Prepared()> prepare;
  /// As in Sample::id().
  std::string id() const;
};

/// All probes for the options, on all devices of the backend: cheap ones first, updates of layers last. `backend` must
/// outlive them. Throws InputError for a model that the backend cannot run at a precision.
std::vector<Probe> plan_probes(device::Backend& backend, const ProbeOptions& options);

/// The probes, by kind.
Probe iteration_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int learners,
                      int batch, bool has_input = false);
Probe input_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int learners,
                  int batch);
/// `pairs` is ProbeOptions::pairs.
std::vector<Probe> copy_probes(device::Backend& backend, std::int64_t most_bytes, const std::vector<LinkedPair>& pairs);
/// Collectives over all devices of all processes, which run on `nodes` machines.
std::vector<Probe> collective_probes(device::Backend& backend, std::int64_t most_bytes, int nodes = 1);
std::vector<Probe> update_probes(device::Backend& backend, std::int64_t most_bytes);
std::vector<Probe> launch_probes(device::Backend& backend);
/// Iterations overlapped with sums of `bytes`. A sample of iterations without sums is included.
Probe overlap_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int batch,
                    std::int64_t bytes);
/// Three sizes at each batch, over the devices of all processes. A single device must be a GPU, which emulates the
/// sum.
std::vector<Probe> overlap_probes(device::Backend& backend, const model::Graph& model, const std::string& precision,
                                  const std::vector<int>& batches, std::int64_t most_bytes);
/// A pass over all layers; its parts are samples of `layer`.
Probe pass_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int batch);
/// The update (momentum) of every layer with parameters. It does not depend on the batch, but `batch` is in the key.
std::vector<Probe> layer_update_probes(device::Backend& backend, const model::Graph& model,
                                       const std::string& precision, int batch);

/// The minimum work in a sample, in seconds and in repetitions.
struct Window {
  double shortest_s = kShortestSample_s;
  int least_repeats = 1;
};
/// The window of iterations. An asynchronous device copies the next batch while it computes, and the host enqueues the
/// next iteration. A single iteration from idle to idle would include that work (a fifth to a third of ResNet-50's step
/// at batch 64). So a window has at least 5 iterations and 50 ms, and waits for the device only at its ends; it still
/// includes one copy per window. The host backend computes synchronously and needs no window.
Window iteration_window(device::Backend& backend);

/// Times `work` by the backend's clock, from an idle backend to an idle one, repeated to fill the window. Returns the
/// seconds per repetition. Samples taken at a low device clock are marked.
Prepared timed_work(device::Backend& backend, std::function<void()> work, const Window& window = {});
/// Times `work` by the devices' own clocks if there are any (Backend::device_seconds(), whose rules apply to `work`).
/// So host launches do not count. Short work is repeated up to 256 times. A sample that was not fully enqueued in time
/// is repeated.
Prepared device_timed_work(device::Backend& backend, std::function<void()> work);

}  // namespace lockstep::calib
