#include "sim/collective/collectives.hpp"

namespace lockstep::sim::collective {

Plan ring_all_reduce(int ranks, std::int64_t bytes) {
  Plan plan{"ring", ranks, bytes, {}};
  append_ring_all_reduce(plan, 1, ranks, chunk_bytes(bytes, ranks));
  return plan;
}

Plan reduce_scatter(int ranks, std::int64_t bytes) {
  Plan plan{"reduce-scatter", ranks, bytes, {}};
  if (ranks > 1) plan.phases.edit().push_back(ring_phase(0, 1, ranks, chunk_bytes(bytes, ranks), ranks - 1, true));
  return plan;
}

Plan all_gather(int ranks, std::int64_t bytes) {
  Plan plan{"all-gather", ranks, bytes, {}};
  if (ranks > 1) plan.phases.edit().push_back(ring_phase(0, 1, ranks, chunk_bytes(bytes, ranks), ranks - 1, false));
  return plan;
}

}  // namespace lockstep::sim::collective
