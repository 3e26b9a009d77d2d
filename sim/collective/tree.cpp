
#include "sim/collective/collectives.hpp"

namespace lockstep::sim::collective {

Plan tree_all_reduce(int ranks, std::int64_t bytes) {
  Plan plan{"tree", ranks, bytes, {}};
  std::vector<Phase>& phases = plan.phases.edit();
  std::vector<Phase> down;
  for (int step = 1; step < ranks; step *= 2) {
    Phase up_phase, down_phase;
    const int parents = (ranks - step + 2 * step - 1) / (2 * step);  // ranks 0, 2 step, ... that have a child at + step
    up_phase.transfers.append(Run{step, 0, bytes, true, parents, 2 * step, 2 * step});
    down_phase.transfers.append(Run{0, step, bytes, false, parents, 2 * step, 2 * step});
    phases.push_back(up_phase);
    down.push_back(down_phase);
  }
  phases.insert(phases.end(), down.rbegin(), down.rend());
  return plan;
}

}  // namespace lockstep::sim::collective
