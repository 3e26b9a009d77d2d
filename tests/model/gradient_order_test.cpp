#include <set>

#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {

TEST_CASE("Gradients: every parameter once, sizes sum to the model, never from an earlier to a later layer") {
  for (const std::string& name : zoo_names()) {
    INFO(name);
    const Graph graph = zoo_graph(name);
    const std::vector<Gradient> order = gradient_order(graph);
    REQUIRE(static_cast<int>(order.size()) == graph.parameter_tensors());
    std::set<std::pair<int, int>> seen;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Gradient& gradient = order[i];
      CHECK(seen.insert({gradient.layer, gradient.parameter}).second);
      CHECK(gradient.elements == graph.layers[gradient.layer].parameters[gradient.parameter].elements);
      sum += gradient.elements;
      if (i > 0) CHECK(gradient.layer <= order[i - 1].layer);
    }
    CHECK(sum == graph.parameter_count());
  }
}

// The classifier is the last layer with parameters, and its bias gradient is ready before its weight gradient.
TEST_CASE("ResNet-50 gives 161 gradients, from the classifier's bias to conv1's weight") {
  const Graph graph = zoo_graph("resnet50");
  const std::vector<Gradient> order = gradient_order(graph);
  const auto parameter = [&](std::size_t i) { return graph.layers[order[i].layer].parameters[order[i].parameter]; };
  REQUIRE(order.size() == 161);
  CHECK(parameter(0).name == "fc/bias");
  CHECK(parameter(0).elements == 1000);
  CHECK(parameter(1).name == "fc/weight");
  CHECK(parameter(1).elements == 2'048'000);
  CHECK(parameter(2).name == "s5b3/1x1b/bn/beta");
  CHECK(parameter(3).name == "s5b3/1x1b/bn/gamma");
  CHECK(parameter(160).name == "conv1/weight");
  CHECK(parameter(160).elements == 64 * 3 * 7 * 7);
}

}  // namespace lockstep::model
