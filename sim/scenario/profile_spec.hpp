#pragma once
// A profile as a scenario's source of compute and communication times ("compute": {"profile": "h200.json"}).
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calib/profile.hpp"
#include "sim/scenario/choices.hpp"
#include "sim/scenario/learners_spec.hpp"
#include "sim/scenario/overlap_spec.hpp"

namespace lockstep::sim::scenario {

/// Forward and backward of one layer, as measured.
struct LayerSeconds {
  double forward_s = 0;
  double backward_s = 0;
};

struct ProfileSpec {
  std::shared_ptr<const calib::Profile> profile;  ///< null: none
  std::string model;                              ///< as the profile's samples name it
  std::string precision;
  std::string input;  ///< of the iterations: measured with this input pipeline beside; empty: without

  explicit operator bool() const { return profile != nullptr; }
  /// The fit of whole iterations of one learner, measured while `devices` devices were busy; where that number was not
  /// measured, the next larger one, else the largest. Over the batch per device.
  const calib::Fit& iteration_fit(int devices) const;
  const calib::LineFit& iteration(int devices) const { return iteration_fit(devices).line; }
  /// How many devices were busy in the iterations that iteration() takes.
  int devices_measured(int devices) const { return iteration_fit(devices).key.value("devices", 1); }
  /// Whether single layers of the model were measured.
  bool has_layers() const { return !layers.empty(); }
  /// A layer at a batch, the passes of its backward part summed; zeros for one without samples: it ran as part of
  /// another (a ReLU in its convolution's kernels).
  LayerSeconds layer(const std::string& name, double batch) const;
  /// The fit of an optimizer's kernel ("momentum", "lars") over elements; null where it was not measured.
  const calib::LineFit* update(const std::string& kernel) const;
  /// What fraction of a device one learner can use, by batch per learner: of the batches that were measured by one
  /// learner and by m > 1 on as many devices as iteration() takes, the least of t_m / (m t_1), at most 1. Where
  /// learners share a device fluidly, t_m = t_1 max(1, m f), so that together they never train faster than was
  /// measured. Ascending; empty where several learners were not measured.
  std::vector<FillSpec> fill(int devices) const;
  /// Compute beside a collective, as measured with `devices` devices or the nearest number.
  std::optional<MeasuredOverlap> overlap(int devices) const;

  /// Fits of the layers by name and pass; kept by read_profile().
  std::map<std::string, std::map<std::string, const calib::LineFit*>> layers;
};

/// Reads /compute/profile, checks that it has iterations of the model at the precision (with `input` beside them), and
/// notes in the document's ledger what was taken. `precision` is the scenario's; "mixed" takes fp16, or bf16 where that
/// alone was measured.
ProfileSpec read_profile(const JsonNode& node, const std::string& model, Precision precision,
                         const std::string& input = "");

}  // namespace lockstep::sim::scenario
