#pragma once
// Runs the probes and keeps every sample: the measuring half of `calibrate`.
#include <functional>
#include <string>

#include "calib/probe/probes.hpp"
#include "calib/profile.hpp"

namespace lockstep::calib {

struct Progress {
  std::size_t done = 0;
  std::size_t of = 0;
  std::size_t resumed = 0;  ///< of `done`, taken from an earlier run's log
  std::string now;          ///< what is being measured; empty at the end
  double expected_s = 0;    ///< that is left (expectation.hpp)
};

/// The backend's description without the number of its devices, with which some begin ("8 x NVIDIA H200 (...").
std::string device_name_of(const device::Backend& backend);

/// What samples of the backend have as their source: its description, and how many devices share it.
std::string source_of(device::Backend& backend);

/// Measures what `log` lacks and appends each series as it is taken; then once more what was disturbed
/// (second_look.hpp), of which what counts and the rest are appended as one. A probe that fails (out of memory at a
/// large batch, say) is reported through `failed` and left out. Throws std::runtime_error when the log cannot be
/// written.
///
/// Of several processes all make the same calls, and one has the log (null in the others). What one of them cannot
/// prepare all leave out; what fails later throws, since the others are waiting in the middle of it.
void measure(device::Backend& backend, const std::vector<Probe>& probes, const SamplingOptions& options, SampleLog* log,
             const std::function<void(const Progress&)>& progress,
             const std::function<void(const std::string& probe, const std::string& why)>& failed);

/// A profile of all samples of the log, of all processes' devices, with what is known of the machine.
Profile profile_of(const SampleLog& log, const std::string& name, device::Backend& backend, const Json& facts,
                   const Json& provenance);

}  // namespace lockstep::calib
