// The memory of learners: their outputs by the engine's plan, and how many learners fit.
#include "sim/cost/memory.hpp"

#include "engine/model/memory_plan.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

TEST_CASE("reuse of outputs saves memory in every network, two thirds of it or more in ResNet-50") {
  for (const std::string& name : model::zoo_names()) {
    const model::Graph& graph = model::zoo_graph(name);
    const double one = activation_arena_bytes(graph, 1, 4);
    const double apart = 4 * static_cast<double>(model::live_buffers(graph).unshared_elements);
    double largest = 0;
    for (std::size_t i = 1; i < graph.layers.size(); ++i)
      largest = std::max(largest, 4.0 * static_cast<double>(graph.layers[i].out.elements()));
    INFO(name);
    CHECK(one >= largest);
    CHECK(one < apart);
    if (name == "resnet50") CHECK(one < apart / 3);
    CHECK(activation_arena_bytes(graph, 8, 4) == 8 * one);
    CHECK(activation_arena_bytes(graph, 1, 2) == one / 2);
  }
}

TEST_CASE("law: a network has the memory of its own layers, whichever copies of it were counted before") {
  for (const std::string name : {"alexnet", "resnet50", "lenet"}) {
    const model::Graph& graph = model::zoo_graph(name);
    model::Graph wider = graph, apart = graph;
    for (model::Layer& layer : wider.layers.edit()) layer.out.channels *= 2;
    apart.arenas = nullptr;
    INFO(name);
    for (const bool recomputes : {false, true, false}) {
      const double alone = activation_arena_bytes(apart, 1, 4, recomputes);
      CHECK(activation_arena_bytes(graph, 1, 4, recomputes) == alone);
      CHECK(activation_arena_bytes(wider, 1, 4, recomputes) > alone);
    }
  }
}

TEST_CASE("learners fit while their memory and the shared models do") {
  LearnerMemory memory;
  memory.model_bytes = 100e6;
  memory.outputs_bytes = 500e6;
  memory.workspace_bytes = 150e6;
  memory.input_bytes = 50e6;
  // Each learner needs 3 x 100 + 500 + 150 + 50 = 1,000 MB; 300 MB are independent of their number.
  CHECK(memory.learner_bytes() == 1000e6);
  CHECK(memory.most_learners(4.3e9) == 4);
  CHECK(memory.most_learners(4.299e9) == 3);
  CHECK(memory.most_learners(1.2e9) == 0);
  for (int m = 1; m <= 4; ++m) CHECK(memory.total_bytes(m) <= 4.3e9);
  CHECK(memory.total_bytes(5) > 4.3e9);
  // A velocity of 100 MB each.
  memory.optimizer_state_bytes = 100e6;
  CHECK(memory.most_learners(4.3e9) == 3);
}
