#pragma once
// Values of constants before any record, and how far they may be off: what the fit begins with and is pulled towards,
// and what a prediction takes where nothing was fitted. One table for both.
#include <string>
#include <vector>

namespace lockstep::sim {
inline namespace records {

struct UsualValue {
  std::string prefix;  ///< of the names that it is for, of which the first entry counts
  std::string part;    ///< that these names contain
  double value;        ///< SI
  double most;         ///< beyond which it stands for something else
  /// Standard deviation of the logarithm before any record: of the widest class of a chain, and of what narrower ones
  /// differ from the next wider one (fit.hpp).
  double spread, spread_of_narrower;
  std::string source;
};

const std::vector<UsualValue>& usual_values();

/// The entry of a constant's name. Throws std::logic_error for a name that has none.
const UsualValue& usual_of(const std::string& constant);

}  // namespace records
}  // namespace lockstep::sim
