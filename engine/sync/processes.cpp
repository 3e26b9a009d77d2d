#include "engine/sync/processes.hpp"

#include <algorithm>
#include <vector>

namespace lockstep::sync {

double largest(Processes& processes, double x) {
  if (processes.count() == 1) return x;
  std::vector<double> all(static_cast<std::size_t>(processes.count()), 0);  // the sum of slots of which one is filled
  all[static_cast<std::size_t>(processes.rank())] = x;
  processes.sum(processes.count(), all.data());
  return *std::max_element(all.begin(), all.end());
}

}  // namespace lockstep::sync
