#pragma once
// Priors of the fitted constants: value and uncertainty without any record. The fit starts at them and is pulled
// towards them. A prediction uses them for constants that were not fitted. One table serves both.
#include <string>
#include <vector>

namespace lockstep::sim {
inline namespace stack {

struct Prior {
  std::string prefix;  ///< of constants' names; the first entry that matches applies
  std::string part;    ///< text that the names must contain
  double value;        ///< in SI units
  double most;         ///< upper limit; larger values would have another cause
  /// Standard deviation of the logarithm without any record. `spread` is that of a chain's most general constant.
  /// `narrower_spread` is that of each more specific constant around the next general one (fit.hpp).
  double spread, narrower_spread;
  std::string source;
};

const std::vector<Prior>& priors();

/// Speed of kernels on AMD GPUs relative to the laws of NVIDIA GPUs of their class, scaled by peaks.
inline constexpr const char* kSpeedOnAmd = "speed/carried to AMD";
/// The constant for the tuning of software's kernels on AMD's GPUs, relative to the software of the fitted results.
inline constexpr const char* kTuningOnAmd = "tuning on AMD";

/// The constant by which computing takes longer while weights or gradients are exchanged, beyond the multiprocessors that
/// the exchange's kernels hold.
inline constexpr const char* kSlowdownByExchanges = "slowdown by exchanges";

/// The constant by which all-to-alls between nodes fall short of the NICs' bandwidth.
inline constexpr const char* kAllToAllShare = "all-to-all share";

/// Finds the prior of a constant by name. Throws std::logic_error if there is none.
const Prior& prior_of(const std::string& constant);

}  // namespace stack
}  // namespace lockstep::sim
