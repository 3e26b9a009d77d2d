#pragma once
// Runs the probes and keeps every sample: the measuring part of `calibrate`.
#include <functional>
#include <string>

#include "calib/probe/probes.hpp"
#include "calib/profile.hpp"

namespace lockstep::calib {

struct Progress {
  std::size_t done = 0;
  std::size_t of = 0;
  std::size_t resumed = 0;  ///< part of `done` that an earlier run's log contains
  std::string now;          ///< the current measurement; empty at the end
  double expected_s = 0;    ///< remaining seconds (expectation.hpp)
};

/// The backend's description without the number of its devices, with which some descriptions begin ("8 x NVIDIA H200
/// (...").
std::string device_name_of(const device::Backend& backend);

/// Returns the source of the backend's samples: the number of devices of all processes, and its description.
std::string source_of(device::Backend& backend);

/// Measures the series that `log` lacks and appends each one when it is complete. Then it measures disturbed series
/// once more (second_look.hpp), and appends both measurements as one sample. A probe that fails (because memory is
/// short at a large batch, for example) is reported through `failed` and skipped. Throws std::runtime_error if the log
/// cannot be written.
///
/// With several processes, all make the same calls, and one has the log (null in the others). A probe that one process
/// cannot prepare is skipped by all. Later failures throw, because the others are waiting in the middle of the
/// measurement.
void measure(device::Backend& backend, const std::vector<Probe>& probes, const SamplingOptions& options, SampleLog* log,
             const std::function<void(const Progress&)>& progress,
             const std::function<void(const std::string& probe, const std::string& why)>& failed);

/// Makes a profile of all samples of the log, for the devices of all processes, with the facts of the machine.
Profile profile_of(const SampleLog& log, const std::string& name, device::Backend& backend, const Json& facts,
                   const Json& provenance);

}  // namespace lockstep::calib
