// Memory plans: live buffers never overlap, no plan needs less than the live bytes, and a case worked by hand.
#include "engine/model/memory_plan.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

bool live_together(const Buffer& a, const Buffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}
bool overlap(const Buffer& a, const Buffer& b) {
  return a.offset < b.offset + b.elements && b.offset < a.offset + a.elements;
}

TEST_CASE("Plans of the zoo keep the laws of memory") {
  for (const char* name :
       {"lenet", "cifar10_quick", "resnet32_crossbow", "resnet32_optA", "alexnet", "vgg16", "googlenet", "resnet50"}) {
    INFO(name);
    const Graph graph = zoo_graph(name);
    const MemoryPlan plan = offline_plan(graph);
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer& a = plan.buffers[i];
      REQUIRE(a.offset + a.elements <= plan.arena_elements);
      REQUIRE(a.first_step <= a.last_step);
      REQUIRE(a.last_step < plan.steps);
      for (std::size_t j = 0; j < i; ++j) {
        const Buffer& b = plan.buffers[j];
        if (live_together(a, b) && overlap(a, b)) FAIL("layers " << a.layer << " and " << b.layer << " overlap");
      }
    }
    CHECK(plan.arena_elements >= least_elements(plan));
    CHECK(plan.arena_elements <= plan.unshared_elements);
    const std::int64_t one = plan.arena_elements * 2 * 4;
    CHECK(pooled_bytes(graph, plan, 1, 2, 4) <= one);
    for (const int learners : {2, 3, 4}) {
      const std::int64_t pooled = pooled_bytes(graph, plan, learners, 2, 4);
      CHECK(pooled <= learners * one);
      CHECK(pooled >= least_elements(plan) * 2 * 4);
    }
  }
}

// The steps are forward of input 0, conv 1, relu 2, fc 3, loss 4; backward of loss 5, fc 6, relu 7, conv 8 (9: the
// input's, which does nothing). The buffers and the steps that use them:
//   input   4  written 0, read by conv forward (1) and backward (8)                                [0, 8]
//   conv    8  written 1, read by relu forward (2); relu's backward looks at its own output         [1, 2]
//   relu    8  written 2, read by fc forward (3) and backward (6), and by relu's backward (7)       [2, 7]
//   fc      2  written 3, read by the loss to the end                                               [3, 9]
//   loss    2  written 4, to the end                                                                [4, 9]
//   d fc    2  written 5, read 6     d relu 8  written 6, read 7     d conv 8  written 7, read 8
// With separate memory they need 4 + 8 + 8 + 2 + 2 + 2 + 8 + 8 = 42. The fullest step is 7: input, relu, fc, loss, d
// relu, d conv = 4 + 8 + 2 + 2 + 8 + 8 = 32. Placed largest first: conv at 0, relu at 8, d relu at 0 (conv is no longer
// live), d conv at 16, input at 24, fc at 28, loss at 30, and d fc at 16 (before d conv): 32 in all.
TEST_CASE("A plan by hand") {
  GraphBuilder net("small", "small", {1, 2, 2});
  const int conv = net.conv("conv", 0, 2, {}, true);
  net.softmax("loss", net.fc("fc", net.relu("relu", conv), 2));
  const Graph graph = net.finish();
  const MemoryPlan plan = offline_plan(graph);
  CHECK(plan.steps == 10);
  CHECK(plan.unshared_elements == 42);
  CHECK(least_elements(plan) == 32);
  CHECK(plan.arena_elements == 32);
  const std::vector<std::vector<std::int64_t>> expected{{0, 0, 4, 0, 8, 24}, {1, 0, 8, 1, 2, 0},  {2, 0, 8, 2, 7, 8},
                                                        {3, 0, 2, 3, 9, 28}, {4, 0, 2, 4, 9, 30}, {3, 1, 2, 5, 6, 16},
                                                        {2, 1, 8, 6, 7, 0},  {1, 1, 8, 7, 8, 16}};
  std::vector<std::vector<std::int64_t>> buffers;
  for (const Buffer& b : plan.buffers)
    buffers.push_back({b.layer, b.is_gradient ? 1 : 0, b.elements, b.first_step, b.last_step, b.offset});
  CHECK(buffers == expected);
}

TEST_CASE("Bytes grow with the batch, and there is no pool of no learners") {
  const Graph graph = zoo_graph("lenet");
  const MemoryPlan plan = offline_plan(graph);
  CHECK(pooled_bytes(graph, plan, 2, 32, 4) == 2 * pooled_bytes(graph, plan, 2, 16, 4));
  CHECK(pooled_bytes(graph, plan, 2, 16, 4) == 2 * pooled_bytes(graph, plan, 2, 16, 2));
  CHECK_THROWS_AS(pooled_bytes(graph, plan, 0, 16, 4), std::invalid_argument);
}

// x -> a = conv(x), s = softmax(a), p = product(s, a), fc(p), loss: attention's softmax is a layer as any other, and
// the product's backward pass reads both of its inputs again.
TEST_CASE("A softmax in the middle has a gradient, and a product of activations reads them again") {
  GraphBuilder net("net", "net", {2, 1, 1});
  const int a = net.fc("a", 0, 4);
  const int s = net.softmax("s", a);
  const int p = net.add("p", {s, a});
  net.softmax("loss", net.fc("f", p, 3));
  Graph graph = net.finish();
  const auto buffer = [&](const MemoryPlan& plan, int layer, bool is_gradient) -> const Buffer* {
    for (const Buffer& b : plan.buffers)
      if (b.layer == layer && b.is_gradient == is_gradient) return &b;
    return nullptr;
  };
  const auto backward = [&](int layer) { return 2 * static_cast<int>(graph.layers.size()) - 1 - layer; };
  MemoryPlan plan = live_buffers(graph);
  REQUIRE(buffer(plan, s, true) != nullptr);
  CHECK(buffer(plan, s, true)->first_step == backward(p));
  CHECK(buffer(plan, s, false)->last_step == backward(s));  // its own backward pass reads what it put out
  CHECK(buffer(plan, a, false)->last_step == p);            // a sum reads its inputs once
  CHECK(buffer(plan, static_cast<int>(graph.layers.size()) - 1, true) == nullptr);
  graph.layers.edit()[static_cast<std::size_t>(p)].macs = 16;
  plan = live_buffers(graph);
  CHECK(buffer(plan, a, false)->last_step == backward(p));
}

}  // namespace
}  // namespace lockstep::model
