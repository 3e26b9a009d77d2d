// The memory of learners: the offline plan of outputs by hand, its bounds, how many learners fit.
#include "sim/cost/memory.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

TEST_CASE("offline plan by hand: two convolutions, ReLU between") {
  // Input 1 x 4 x 4; a: conv to 4 channels (64 elements), r: ReLU (64), b: conv to 2 channels (32), f: fc to 5,
  // loss: 5.
  model::GraphBuilder builder("two", "two", {1, 4, 4});
  const int a = builder.conv("a", 0, 4, {}, false);
  const int r = builder.relu("r", a);
  const int b = builder.conv("b", r, 2, {}, false);
  const int f = builder.fc("f", b, 5);
  builder.softmax("loss", f);
  const OutputPlan plan = plan_outputs(builder.finish(), 1, 4);
  // Forward: a -> A (64). r -> R (64), then A is free: only ReLU read it. b (32) -> A. f (5) -> F: R and A hold what
  // the backward passes of b and f read. loss (5) -> G, f is read and F is free.
  // Backward: loss: gradient of f (5) -> F. f: gradient of b (32) -> new D, then A (b) and F are free. b: gradient of r
  // (64) -> A. R is read by b and still by ReLU; D is free. ReLU: gradient of a (64) -> new E. a: its input is the
  // batch. Buffers: A 64, R 64, F 5, G 5, D 32, E 64 elements.
  CHECK(plan.bytes == 4 * (64 + 64 + 5 + 5 + 32 + 64));
  CHECK(plan.buffers == 6);
  // Outputs 64 + 64 + 32 + 5 + 5, gradients 5 + 32 + 64 + 64; the loss has no gradient of its own.
  CHECK(plan.bytes_without_reuse == 4 * (170 + 165));
}

TEST_CASE("reuse of outputs saves memory in every network, half of it or more in ResNet-50") {
  for (const std::string& name : model::zoo_names()) {
    const model::Graph graph = model::zoo_graph(name);
    const OutputPlan one = plan_outputs(graph, 1, 4), eight = plan_outputs(graph, 8, 4);
    double largest = 0;
    for (std::size_t i = 1; i < graph.layers.size(); ++i)
      largest = std::max(largest, 4.0 * static_cast<double>(graph.layers[i].out.elements()));
    INFO(name);
    CHECK(one.bytes >= largest);
    CHECK(one.bytes < one.bytes_without_reuse);
    if (name == "resnet50") CHECK(one.bytes < 0.5 * one.bytes_without_reuse);
    CHECK(eight.bytes == 8 * one.bytes);
    CHECK(eight.buffers == one.buffers);
  }
}

TEST_CASE("learners fit while their memory and the shared models do") {
  LearnerMemory memory;
  memory.model_bytes = 100e6;
  memory.outputs_bytes = 500e6;
  memory.workspace_bytes = 150e6;
  memory.input_bytes = 50e6;
  // Each 3 x 100 + 500 + 150 + 50 = 1,000 MB; 300 MB whatever their number.
  CHECK(memory.learner_bytes() == 1000e6);
  CHECK(memory.most_learners(4.3e9) == 4);
  CHECK(memory.most_learners(4.299e9) == 3);
  CHECK(memory.most_learners(1.2e9) == 0);
  for (int m = 1; m <= 4; ++m) CHECK(memory.total_bytes(m) <= 4.3e9);
  CHECK(memory.total_bytes(5) > 4.3e9);
}
