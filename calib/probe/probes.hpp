#pragma once
// What calibrate measures, on any backend of the engine: each probe sets up one thing to time and says how.
//
//   iteration    every learner of every device computes a gradient and applies it (momentum), none exchanges anything
//   copy         host to device, device to host, within a device, from one device to the next
//   collective   the sum of a vector over all devices, as the algorithms use it
//   update       momentum, LARS, SMA correction and average model, over their vectors
//   launch       small operations one after another: what each costs before it does anything
//
// Times are of the host's steady clock around work that the device has finished; short work is repeated inside one
// sample, as often as makes it last `kShortestSample_s`.
#include <memory>
#include <string>
#include <vector>

#include "calib/sample_log.hpp"
#include "calib/sampler.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::calib {

constexpr double kShortestSample_s = 200e-6;

struct ProbeOptions {
  std::vector<std::string> models{"lenet"};
  std::vector<int> batches{1, 2, 4, 8, 16, 32, 64};
  std::vector<int> learners{1};
  std::vector<std::string> precisions{"fp32"};
  std::int64_t most_bytes = std::int64_t{1} << 26;  ///< of copies and collectives
};

/// One thing to measure. `prepare` allocates what it needs; the result owns it.
struct Probe {
  std::string probe;
  Json key;
  std::function<Timed()> prepare;
  /// As in Sample::id().
  std::string id() const;
};

/// All probes of the options on all devices of the backend, cheap ones first. `backend` must outlive them. Throws
/// InputError for an unknown model, or one that the backend cannot run at a precision.
std::vector<Probe> plan_probes(device::Backend& backend, const ProbeOptions& options);

/// The parts.
Probe iteration_probe(device::Backend& backend, const std::string& model, const std::string& precision, int learners,
                      int batch);
std::vector<Probe> copy_probes(device::Backend& backend, std::int64_t most_bytes);
std::vector<Probe> collective_probes(device::Backend& backend, std::int64_t most_bytes);
std::vector<Probe> update_probes(device::Backend& backend);
std::vector<Probe> launch_probes(device::Backend& backend);

/// Times `work` by the steady clock, from an idle backend to an idle one, repeated so that a sample lasts long enough;
/// gives the seconds of one.
std::function<double()> timed_work(device::Backend& backend, std::function<void()> work);

}  // namespace lockstep::calib
