#pragma once
// A profile: measurements or imported times, the fits through them, and their origin. Schema "lockstep/profile/1";
// calib/README.md describes every key.
//
// Samples of one probe that differ in only one number (bytes, batch, ...) form a curve, and each curve has a fit:
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
//   step         model, precision, how, ranks, nodes, batch               batch; with devices if ranks is 1
//
// `iteration` is one learner's gradient and update without communication, while `learners` learners share a device.
// With `input` in its key, the input pipeline prepares the next batches at the same time. `gradient` is the same
// without the update. `step` is a framework's own step over all ranks with its communication, for comparison with
// predictions.
#include <map>
#include <string>
#include <vector>

#include "calib/line_fit.hpp"
#include "calib/sample_log.hpp"

namespace lockstep::calib {

struct DeviceFacts {
  std::string name;  ///< "NVIDIA H200", or the processor
  std::string kind;  ///< cuda, host, imported
  int count = 0;     ///< number of devices measured together
  Json facts = Json::object();
};

/// The fit of a curve.
struct Fit {
  std::string probe;
  Json key;              ///< without the variable
  std::string variable;  ///< "bytes", "batch", ...
  LineFit line;
  std::string kind;  ///< the kind of its samples; "imported" if they have several
  std::string id() const;
};

struct Profile {
  std::string name;
  DeviceFacts device;
  std::vector<Sample> samples;
  std::vector<Fit> fits;
  Json provenance = Json::object();

  /// Returns null if there is no such fit.
  const Fit* find(const std::string& probe, const Json& key) const;
  /// Returns the samples of the curve, sorted by its variable.
  std::vector<Measured> curve(const std::string& probe, const Json& key) const;
};

/// The variable of a probe's curves. Throws std::invalid_argument for an unknown probe.
std::string variable_of(const std::string& probe);
const std::vector<std::string>& probes();

/// Fits every curve of the samples, in the order of their first samples.
std::vector<Fit> fit_curves(const std::vector<Sample>& samples, const LineFitOptions& options = {});

Json to_json(const Profile& profile);
/// Throws InputError for malformed content, and for a fit that does not match its samples' keys.
Profile profile_from_json(const JsonNode& node);
Profile load_profile(const std::string& path);
/// Combines the samples of both and fits them again; b's samples replace a's of the same id. Facts are combined, too.
/// If a fact differs, b's is used, but measured facts take precedence over imported ones. Throws InputError if the
/// devices' names differ: two measured ones, two GPUs in logs, or one of each. Logs that name no GPU match any device,
/// and a host matches all logs.
Profile merge(const Profile& a, const Profile& b, const std::string& name);
/// One line per fact that both have with different values: name, a's value, b's value.
std::vector<std::string> differing_facts(const DeviceFacts& a, const DeviceFacts& b);
/// The name of a device that a log does not identify.
extern const char* const kUnknownGpu;
/// The unreliable parts of a profile, one line each. Series are unreliable if they drifted, have outliers, or have a
/// median that is uncertain by more than 5 %. Fits of iterations and collectives are unreliable if their worst residual
/// or worst leave-one-out error is above 5 %.
struct Doubts {
  std::vector<std::string> series, fits;
};
Doubts doubts_of(const Profile& profile);
/// A readable report: device, samples by probe, and every fit with residual, range and leave-one-out error.
std::string report_text(const Profile& profile);

}  // namespace lockstep::calib
