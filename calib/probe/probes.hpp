#pragma once
// What calibrate measures, on any backend of the engine: each probe sets up one thing to time and says how.
//
//   iteration    every learner of every device computes a gradient and applies it (momentum), none exchanges anything
//   copy         host to device, device to host (pinned memory apart), within a device, between two devices for each
//                kind of link: one way, and both ways at once; from pinned memory to all devices at once
//   collective   the sum of a vector over all devices, as the algorithms use it
//   update       momentum, LARS, SMA correction and average model, over their vectors
//   launch       small operations one after another, or recorded and handed in as one (a CUDA graph): what each costs
//                before it does anything
//   layer        every layer of a model, forward, backward (of parameters and input apart where the layer can), update
//   pass         the training pass whose parts those are: slower than an iteration by the clocks read in between
//   overlap      an iteration while all-reduces go on beside it one after another, and in turns with it one without
//   input        one iteration's batches, as train prepares them in a thread beside the learners
//
// An `iteration` with "input" in its key has that thread beside it.
//
// Where several processes run the same probes, they begin each sample together and the slowest one's time counts.
//
// Times are by the device's own events where it has them: of layers, collectives, updates, and of copies but those from
// and to ordinary (pageable) memory. Else, and for what the host is part of (iterations, input, launches, overlap), by
// the backend's clock around work that the device has finished. Short work is repeated inside one sample, as often as
// makes it last `kShortestSample_s`; iterations of a device that goes on by itself in windows (iteration_window()).
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
  bool has_input = true;  ///< the input pipeline: alone, and beside iterations of one learner a device
  std::int64_t most_bytes = std::int64_t{1} << 26;  ///< of copies, collectives and update vectors
  int nodes = 1;                                    ///< that the run's processes are on
  /// Whose copies to each other are measured, the same in all processes; empty: the first two devices'.
  std::vector<LinkedPair> pairs;
};

/// Numbers of learners that share a device: 1, 2, 4 and 8 of a GPU, whose streams they compute on side by side, so that
/// `simulate` knows what sharing costs; 1 of the host, where they would share the cores that all devices share anyway.
std::vector<int> usual_learners(const device::Backend& backend);

/// What a probe prepared: how it is timed, and, where one run times several things, the samples of those.
struct Prepared {
  Timed timed;
  /// Samples of the parts, from the runs whose times were kept (Series::runs). Empty: there are none.
  std::function<std::vector<Sample>(const Series&)> parts;
};

/// One thing to measure. `prepare` allocates what it needs; the result owns it.
struct Probe {
  std::string probe;
  Json key;
  std::function<Prepared()> prepare;
  /// As in Sample::id().
  std::string id() const;
};

/// All probes of the options on all devices of the backend, cheap ones first and layers' updates last. `backend` must
/// outlive them. Throws InputError for a model that the backend cannot run at a precision.
std::vector<Probe> plan_probes(device::Backend& backend, const ProbeOptions& options);

/// The parts.
Probe iteration_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int learners,
                      int batch, bool has_input = false);
Probe input_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int learners,
                  int batch);
/// `pairs` as in ProbeOptions.
std::vector<Probe> copy_probes(device::Backend& backend, std::int64_t most_bytes, const std::vector<LinkedPair>& pairs);
/// Over all devices of all processes, which are on `nodes` machines.
std::vector<Probe> collective_probes(device::Backend& backend, std::int64_t most_bytes, int nodes = 1);
std::vector<Probe> update_probes(device::Backend& backend, std::int64_t most_bytes);
std::vector<Probe> launch_probes(device::Backend& backend);
/// Of iterations beside sums of `bytes`: the sample of iterations alone comes with it.
Probe overlap_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int batch,
                    std::int64_t bytes);
/// For three sizes at each batch, over the devices of all processes. On one device a GPU's only, which emulates the
/// sum.
std::vector<Probe> overlap_probes(device::Backend& backend, const model::Graph& model, const std::string& precision,
                                  const std::vector<int>& batches, std::int64_t most_bytes);
/// A pass over all layers; its parts are the samples of `layer`.
Probe pass_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int batch);
/// The update (momentum) of every layer with parameters; batch-independent, and keyed by `batch`.
std::vector<Probe> layer_update_probes(device::Backend& backend, const model::Graph& model,
                                       const std::string& precision, int batch);

/// How much work a sample holds at least: so long, and so many times.
struct Window {
  double shortest_s = kShortestSample_s;
  int least_repeats = 1;
};
/// Of iterations. A device that goes on by itself copies the next batch while it computes, and the host hands in the
/// next iteration: what is timed alone, from idle to idle, has all of that in it (a fifth to a third of ResNet-50's step
/// at batch 64). So a window is 5 iterations and 50 ms, and waits for the device at its ends only; one copy of its five
/// or more still shows. The host computes what it is handed in before it goes on: no window.
Window iteration_window(device::Backend& backend);

/// Times `work` by the backend's clock, from an idle backend to an idle one, repeated so that a sample fills the window;
/// gives the seconds of one. Samples taken at a low device clock are told from others.
Prepared timed_work(device::Backend& backend, std::function<void()> work, const Window& window = {});
/// The same by the devices' own clocks, where they have any (Backend::device_seconds(), whose rules `work` keeps): the
/// host's launches do not show. Short work is repeated up to 256 times. What a device did not wait for is taken anew.
Prepared device_timed_work(device::Backend& backend, std::function<void()> work);

}  // namespace lockstep::calib
