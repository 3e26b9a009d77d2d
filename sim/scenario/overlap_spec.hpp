#pragma once
// The slowdown of a GPU's compute during one of its collectives, whose kernels occupy multiprocessors and memory
// bandwidth. The scenario gives it ("compute": {"overlap_slowdown": 1.1}), or a profile has measured it (`overlap`,
// calib/overlap.hpp).
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "calib/profile.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// Compute time during a collective over that without one, by batch per GPU and bytes of the collective.
class OverlapSlowdown {
 public:
  /// Makes no slowdown: 1 for every batch and size.
  OverlapSlowdown() = default;
  /// Returns the same ratio for every batch and size.
  explicit OverlapSlowdown(double ratio) { add(1, 1, ratio); }
  /// Adds a measured ratio; batch and bytes must be above 0. A ratio below 1 is noise, because sharing makes nothing
  /// faster, and counts as 1.
  void add(double batch, double bytes, double ratio);

  explicit operator bool() const { return !ratios_.empty(); }
  /// Returns a ratio of at least 1. It is linear in ln(bytes) between the sizes of each batch, then in ln(batch).
  /// Outside the measured ones it uses the nearest.
  double at(double batch, double bytes) const;
  /// The ranges in which at() interpolates: of batches, and of bytes over all batches. {0, 0} if nothing was measured.
  std::pair<double, double> batches() const;
  std::pair<double, double> bytes() const;
  double least() const;
  double most() const;
  /// Converts ratios for CPUs that both compute and sum, without a spare core. There compute and a sum take turns, so
  /// that the sum lasts longer, too. At ratio r = 2 each has half of a core, and in the end compute is delayed by the
  /// time of the sum without compute. Below 2 it is delayed by r - 1 of that time. The simulation leaves the sum's time
  /// unchanged. For the same delay it must slow compute during the sum by 1 / (2 - r), at most 100.
  OverlapSlowdown in_turns() const;

 private:
  std::map<double, std::map<double, double>> ratios_;  // by batch, then bytes
};

/// The measured slowdown of a model at a precision, from a profile's samples of `overlap`, and its origin.
struct MeasuredOverlap {
  OverlapSlowdown slowdown;
  int devices = 0;
  std::string library;
  /// Only one GPU was measured, so the collective during its compute was emulated (calib/README.md).
  bool is_emulated = false;
  /// The processors that compute also sum (OverlapSlowdown::in_turns()).
  bool is_in_turns = false;
};

/// Uses measurements with `devices` devices, else with the next larger number, else with the largest. Emulated
/// collectives count only if no real one was measured. None if the profile has no `overlap`.
std::optional<MeasuredOverlap> measured_overlap(const calib::Profile& profile, const std::string& model,
                                                const std::string& precision, int devices);

}  // namespace lockstep::sim::scenario
