#include "sim/collective/exchange.hpp"

namespace lockstep::sim::collective {

Plan all_to_all(int ranks, std::int64_t bytes) {
  Plan plan{"all-to-all", ranks, bytes, {}};
  for (int distance = 1; distance < ranks; ++distance) {
    Phase phase;
    for (int rank = 0; rank < ranks; ++rank)
      phase.transfers.push_back({rank, (rank + distance) % ranks, chunk_bytes(bytes, ranks)});
    plan.phases.edit().push_back(std::move(phase));
  }
  return plan;
}

}  // namespace lockstep::sim::collective
