#pragma once
// Values of constants before any record, and how far they may be off: what the fit begins with and is pulled towards,
// and what a prediction takes where nothing was fitted. One table for both.
#include <string>
#include <vector>

namespace lockstep::sim {
inline namespace stack {

struct Prior {
  std::string prefix;  ///< of the names that it is for; the first entry that fits counts
  std::string part;    ///< that these names contain
  double value;        ///< SI
  double most;         ///< beyond which it stands for something else
  /// Standard deviation of the logarithm before any record: of the widest class of a chain, and of what narrower ones
  /// differ from the next wider one (fit.hpp).
  double spread, narrower_spread;
  std::string source;
};

const std::vector<Prior>& priors();

/// How fast AMD's GPUs run kernels, over the laws of NVIDIA's GPUs of their class, scaled by peaks.
inline constexpr const char* kSpeedOnAmd = "speed/carried to AMD";

/// The entry of a constant's name. Throws std::logic_error for a name that has none.
const Prior& prior_of(const std::string& constant);

}  // namespace stack
}  // namespace lockstep::sim
