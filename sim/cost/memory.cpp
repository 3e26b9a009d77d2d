#include "sim/cost/memory.hpp"

#include <cmath>

#include "engine/model/checkpoints.hpp"
#include "engine/model/memory_plan.hpp"

namespace lockstep::sim::cost {

double ArenaCache::find_elements(const model::Graph& graph, bool recomputes_blocks) {
  const bool is_latest = !graph.layers.empty() && &latest_.layers.get() == &graph.layers.get() &&
                         latest_.input == graph.input && latest_.tokens == graph.tokens &&
                         latest_.recomputes_blocks == recomputes_blocks;
  if (!is_latest) {
    const std::vector<int> blocks = recomputes_blocks ? model::checkpointed_blocks(graph) : std::vector<int>();
    const double elements = static_cast<double>(model::offline_plan(graph, blocks).arena_elements);
    latest_ = {graph.layers, graph.input, graph.tokens, recomputes_blocks, elements};
  }
  return latest_.elements;
}

double activation_arena_bytes(const model::Graph& graph, int batch, int activation_bytes, bool recomputes_blocks,
                              ArenaCache* cache) {
  ArenaCache own;
  return (cache ? *cache : own).find_elements(graph, recomputes_blocks) * batch * activation_bytes;
}

int LearnerMemory::most_learners(double gpu_bytes) const {
  const double left = gpu_bytes - shared_bytes();
  return left < learner_bytes() ? 0 : static_cast<int>(std::floor(left / learner_bytes()));
}

}  // namespace lockstep::sim::cost
