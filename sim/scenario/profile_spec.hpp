#pragma once
// A profile as the source of a scenario's compute and communication times ("compute": {"profile": "h200.json"}).
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

/// Measured seconds of forward and backward pass of one layer.
struct LayerSeconds {
  double forward_s = 0;
  double backward_s = 0;
};

struct ProfileSpec {
  std::shared_ptr<const calib::Profile> profile;  ///< null: none
  std::string model;                              ///< name in the profile's samples
  std::string precision;
  std::string input;  ///< input pipeline that ran during the measured iterations; empty: none

  explicit operator bool() const { return profile != nullptr; }
  /// The fit of whole iterations of one learner, over the batch per device, measured while `devices` devices were busy.
  /// If that number was not measured: the next larger one, else the largest.
  const calib::Fit& iteration_fit(int devices) const;
  const calib::LineFit& iteration(int devices) const { return iteration_fit(devices).line; }
  /// Returns how many devices were busy in the iterations that iteration() uses.
  int devices_measured(int devices) const { return iteration_fit(devices).key.value("devices", 1); }
  /// True if single layers of the model were measured.
  bool has_layers() const { return !layers.empty(); }
  /// Returns the measured times of a layer at a batch; the backward time is the sum of its measured parts. Zeros for a
  /// layer without samples, which ran in the kernels of another layer, such as a ReLU in those of a convolution.
  LayerSeconds layer(const std::string& name, double batch) const;
  /// The fit of an optimizer's kernel ("momentum", "lars") over elements; null if it was not measured.
  const calib::LineFit* update(const std::string& kernel) const;
  /// Estimates the fraction f of a device that one learner can use, by batch per learner, ascending. It needs batches
  /// that were measured with one learner and with m > 1, on as many devices as iteration() uses. f is the least t_m /
  /// (m t_1), at most 1. If learners share a device fluidly, t_m = t_1 max(1, m f), so that together they never train
  /// faster than was measured. Empty if several learners were not measured.
  std::vector<FillSpec> fill(int devices) const;
  /// Returns the slowdown of compute during a collective, as measured with `devices` devices or the nearest number.
  std::optional<MeasuredOverlap> overlap(int devices) const;

  /// Fits of the layers by name and pass; set by read_profile().
  std::map<std::string, std::map<std::string, const calib::LineFit*>> layers;
};

/// Reads /compute/profile and checks that it has iterations of the model at the precision (while `input` ran, if
/// given). Notes in the document's ledger what was used. `precision` is the scenario's; "mixed" uses fp16, or bf16 if
/// only that was measured.
ProfileSpec read_profile(const JsonNode& node, const std::string& model, Precision precision,
                         const std::string& input = "");

}  // namespace lockstep::sim::scenario
