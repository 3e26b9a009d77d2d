#include "sim/cost/memory.hpp"

#include <cmath>

#include "engine/model/memory_plan.hpp"

namespace lockstep::sim::cost {

double activation_arena_bytes(const model::Graph& graph, int batch, int activation_bytes, bool recomputes_blocks) {
  const double elements = static_cast<double>(model::count_arena_elements(graph, recomputes_blocks));
  return elements * batch * activation_bytes;
}

int LearnerMemory::most_learners(double gpu_bytes) const {
  const double left = gpu_bytes - shared_bytes();
  return left < learner_bytes() ? 0 : static_cast<int>(std::floor(left / learner_bytes()));
}

}  // namespace lockstep::sim::cost
