#include <algorithm>

#include "sim/collective/collectives.hpp"

namespace lockstep::sim {
inline namespace collective {

Plan tree_all_reduce(int ranks, std::int64_t bytes) {
  Plan plan{"tree", ranks, bytes, {}};
  std::vector<Phase> down;
  for (int step = 1; step < ranks; step *= 2) {
    Phase up_phase, down_phase;
    for (int parent = 0; parent + step < ranks; parent += 2 * step) {
      up_phase.transfers.push_back({parent + step, parent, bytes, true});
      down_phase.transfers.push_back({parent, parent + step, bytes});
    }
    plan.phases.push_back(up_phase);
    down.push_back(down_phase);
  }
  plan.phases.insert(plan.phases.end(), down.rbegin(), down.rend());
  return plan;
}

}  // namespace collective
}  // namespace lockstep::sim
