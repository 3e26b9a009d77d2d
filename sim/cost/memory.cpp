#include "sim/cost/memory.hpp"

#include <cmath>

#include "engine/model/checkpoints.hpp"
#include "engine/model/memory_plan.hpp"

namespace lockstep::sim::cost {
namespace {

// The latest network of this thread, and its elements per sample. The points of a plan have one network. As `layers`
// keeps the array, another one has another address.
struct PlannedNetwork {
  SharedVector<model::Layer> layers;
  model::Shape input;
  int tokens = 0;
  bool recomputes_blocks = false;
  double elements = 0;
};

}  // namespace

double activation_arena_bytes(const model::Graph& graph, int batch, int activation_bytes, bool recomputes_blocks) {
  thread_local PlannedNetwork latest;
  const bool is_latest = !graph.layers.empty() && &latest.layers.get() == &graph.layers.get() &&
                         latest.input == graph.input && latest.tokens == graph.tokens &&
                         latest.recomputes_blocks == recomputes_blocks;
  if (!is_latest) {
    const std::vector<int> blocks = recomputes_blocks ? model::checkpointed_blocks(graph) : std::vector<int>();
    const double elements = static_cast<double>(model::offline_plan(graph, blocks).arena_elements);
    latest = {graph.layers, graph.input, graph.tokens, recomputes_blocks, elements};
  }
  return latest.elements * batch * activation_bytes;
}

int LearnerMemory::most_learners(double gpu_bytes) const {
  const double left = gpu_bytes - shared_bytes();
  return left < learner_bytes() ? 0 : static_cast<int>(std::floor(left / learner_bytes()));
}

}  // namespace lockstep::sim::cost
