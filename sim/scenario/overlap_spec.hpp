#pragma once
// How much longer a GPU's compute takes during one of its collectives. The collective's kernels hold multiprocessors
// and memory bandwidth all that time. The scenario gives it ("compute": {"overlap_slowdown": 1.1}), or a profile has
// measured it (`overlap`, calib/overlap.hpp).
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "calib/profile.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// How much longer compute takes during a collective than without it, by batch per GPU and bytes of the collective.
class OverlapSlowdown {
 public:
  /// None: 1 for everything.
  OverlapSlowdown() = default;
  /// Returns the same ratio for every batch and size.
  explicit OverlapSlowdown(double ratio) { add(1, 1, ratio); }
  /// A measured ratio; batch and bytes above 0. One below 1 is noise, for nothing gets faster by sharing: it counts
  /// as 1.
  void add(double batch, double bytes, double ratio);

  explicit operator bool() const { return !ratios_.empty(); }
  /// Returns a ratio of at least 1. It is linear in ln(bytes) between the sizes of each batch, then in ln(batch).
  /// Outside the measured ones it uses the nearest.
  double at(double batch, double bytes) const;
  /// The ranges within which at() does not clamp: of batches, and of bytes over all batches. {0, 0} if nothing was
  /// measured.
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
  /// A single GPU was measured: the collective during its compute was an assumption (calib/README.md).
  bool is_emulated = false;
  /// Summed by the processors that compute (OverlapSlowdown::in_turns()).
  bool is_in_turns = false;
};

/// Uses measurements with `devices` devices, else with the next larger number, else with the largest. Emulated
/// collectives count only if no real one was measured. Nothing if the profile has no `overlap`.
std::optional<MeasuredOverlap> measured_overlap(const calib::Profile& profile, const std::string& model,
                                                const std::string& precision, int devices);

}  // namespace lockstep::sim::scenario
