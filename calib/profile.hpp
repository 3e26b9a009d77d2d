#pragma once
// A profile: what was measured or imported, the fits over it, and where all of it comes from. Schema
// "lockstep/profile/1"; every key is described in calib/README.md.
//
// Samples of one probe that differ in one number only (bytes, batch, ...) form a curve, and each curve gets a fit:
//
//   probe        key                                                      curve over
//   iteration    model, precision, learners, devices, batch               batch
//   layer        model, layer, pass, precision, batch                     batch
//   copy         from, to, both_ways, memory, link, bytes                 bytes
//   collective   operation, library, ranks, nodes, bytes                  bytes
//   launch       how, kernels                                             kernels
//   update       kernel, elements                                         elements
//   pass         model, precision, batch                                  batch
//   input        source, model, learners, devices, batch                  batch
//   overlap      model, precision, devices, batch, library, beside, bytes bytes
//   gradient     model, precision, devices, batch                         batch
//   step         model, precision, how, ranks, nodes, batch               batch; of one rank with devices
//
// `iteration` is one learner's gradient and update without communication, while `learners` of them share a device; with
// `input` in its key, while the input pipeline prepares the next batches beside it. `gradient` is the same without the
// update, `step` a framework's own step over all ranks with its communication: the truth to compare predictions with.
#include <map>
#include <string>
#include <vector>

#include "calib/line_fit.hpp"
#include "calib/sample_log.hpp"

namespace lockstep::calib {

struct DeviceFacts {
  std::string name;  ///< "NVIDIA H200", or the processor
  std::string kind;  ///< cuda, host, imported
  int count = 0;     ///< devices measured together
  Json facts = Json::object();
};

/// A curve's fit.
struct Fit {
  std::string probe;
  Json key;              ///< without the variable
  std::string variable;  ///< "bytes", "batch", ...
  LineFit line;
  std::string kind;  ///< that of its samples; "imported" where they differ
  std::string id() const;
};

struct Profile {
  std::string name;
  DeviceFacts device;
  std::vector<Sample> samples;
  std::vector<Fit> fits;
  Json provenance = Json::object();

  /// Null where there is none.
  const Fit* find(const std::string& probe, const Json& key) const;
  /// Samples of the curve, by its variable.
  std::vector<Measured> curve(const std::string& probe, const Json& key) const;
};

/// The variable of a probe's curves. Throws std::invalid_argument for an unknown probe.
std::string variable_of(const std::string& probe);
const std::vector<std::string>& probes();

/// Fits every curve of the samples, in the order of their first sample.
std::vector<Fit> fit_curves(const std::vector<Sample>& samples, const LineFitOptions& options = {});

Json to_json(const Profile& profile);
/// Throws InputError: anything malformed, a fit that does not follow from its samples' keys.
Profile profile_from_json(const JsonNode& node);
Profile load_profile(const std::string& path);
/// All samples of both (of the same thing, b's replace a's), fitted anew, and the facts of both (of two that differ
/// b's, but measured ones before imported ones). Throws InputError where the devices differ in name: two that were
/// measured, two GPUs of logs, or a GPU of logs and one that was measured. Logs that name no GPU go with any device,
/// and all logs with a host.
Profile merge(const Profile& a, const Profile& b, const std::string& name);
/// Of the facts that both have but not alike, a line each: name, a's, b's.
std::vector<std::string> differing_facts(const DeviceFacts& a, const DeviceFacts& b);
/// The name of a device that a log does not tell.
extern const char* const kUnknownGpu;
/// What of a profile not to rely on, a line each: series that drifted, have outliers, or whose median is not known to 5
/// %; fits of iterations and collectives whose worst residual, or worst error at a left-out point, is above 5 %.
struct Doubts {
  std::vector<std::string> series, fits;
};
Doubts doubts_of(const Profile& profile);
/// A readable report: device, samples by probe, every fit with residual, range and leave-one-out error.
std::string report_text(const Profile& profile);

}  // namespace lockstep::calib
