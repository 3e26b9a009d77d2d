#pragma once
// How much longer a GPU's compute takes while a collective of its goes on: the collective's kernels hold
// multiprocessors and memory bandwidth all that time. As a scenario states it ("compute": {"overlap_slowdown": 1.1}),
// or as a profile has measured it (`overlap`, calib/overlap.hpp).
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "calib/profile.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// Time of compute beside a collective over its time alone, by batch per GPU and bytes of the collective.
class OverlapSlowdown {
 public:
  /// None: 1 for everything.
  OverlapSlowdown() = default;
  /// The same for everything.
  explicit OverlapSlowdown(double ratio) { add(1, 1, ratio); }
  /// A measured ratio; batch and bytes above 0. One below 1 is noise, for nothing gets faster by sharing: it counts
  /// as 1.
  void add(double batch, double bytes, double ratio);

  explicit operator bool() const { return !ratios_.empty(); }
  /// At least 1. Linear in ln(bytes) between the sizes of each batch, then in ln(batch); outside that of the nearest.
  double at(double batch, double bytes) const;
  /// What at() does not clamp: batches, and bytes of all of them. {0, 0} where nothing was measured.
  std::pair<double, double> batches() const;
  std::pair<double, double> bytes() const;
  double least() const;
  double most() const;
  /// Where one processor computes and sums, and no core is spare: while a sum takes turns with the compute it lasts longer,
  /// too, and in the end compute has lost as long as the sum lasts alone. Of ratio r = 2, half of a core each; below it in
  /// proportion, r - 1 of that time. What compute beside sums of unchanged times must be slowed by for that is
  ///   1 / (2 - r),  at most 100
  OverlapSlowdown in_turns() const;

 private:
  std::map<double, std::map<double, double>> ratios_;  // by batch, then bytes
};

/// What a profile's samples of `overlap` say of a model at a precision, and where it comes from.
struct MeasuredOverlap {
  OverlapSlowdown slowdown;
  int devices = 0;
  std::string library;
  /// One GPU summed with nobody: the collective beside it is an assumption (calib/README.md).
  bool is_emulated = false;
  /// Summed by the processors that compute (OverlapSlowdown::in_turns()).
  bool is_in_turns = false;
};

/// Of the devices measured together those nearest to `devices`: that many, else the next larger number, else the
/// largest. Emulated collectives only where no real one was measured. Nothing where the profile has no `overlap`.
std::optional<MeasuredOverlap> measured_overlap(const calib::Profile& profile, const std::string& model,
                                                const std::string& precision, int devices);

}  // namespace lockstep::sim::scenario
