// Activation checkpointing: blocks by name, and the remaining memory.
#include "engine/model/checkpoints.hpp"

#include <algorithm>
#include <set>

#include "engine/model/memory_plan.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

model::Graph named_graph(const std::vector<std::string>& names) {
  model::Graph graph;
  for (const std::string& name : names) {
    graph.layers.edit().emplace_back();
    graph.layers.edit().back().name = name;
  }
  return graph;
}

// Three blocks of two layers of 10 elements between input and output. Each layer reads the previous, also backward.
model::Graph chain() {
  model::Graph graph = named_graph({"input", "l1/a", "l1/b", "l2/a", "l2/b", "l3/a", "l3/b", "out"});
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    model::Layer& layer = graph.layers.edit()[i];
    layer.kind = i == 0 ? model::LayerKind::input : model::LayerKind::linear;
    layer.out = {10, 1, 1};
    if (i == 0) continue;
    layer.inputs = {static_cast<int>(i) - 1};
    layer.parameters.push_back({});
  }
  return graph;
}

}  // namespace

TEST_CASE("blocks are runs of layers whose names begin alike") {
  const model::Graph graph = named_graph({"input", "l1/q", "l1/cross/k", "l2/q", "down2/1/conv1", "down2/1/text/1/q",
                                          "down2/1/text/out", "s2b3/3x3/bn", "conv1", "out"});
  CHECK(model::checkpointed_blocks(graph) == std::vector<int>{-1, 0, 0, 1, 2, 3, 4, 5, -1, -1});
  const model::Graph of_pytorch = named_graph({"wte", "h.0.attn", "h.0.mlp", "h.1.attn", "ln_f"});
  CHECK(model::checkpointed_blocks(of_pytorch) == std::vector<int>{-1, 0, 0, 1, -1});
}

TEST_CASE("of a chain of blocks, what enters each and one block's inside are kept: by hand") {
  const model::Graph graph = chain();
  const std::vector<int> blocks = model::checkpointed_blocks(graph);
  CHECK(least_elements(model::live_buffers(graph)) > least_elements(model::live_buffers(graph, blocks)));
  // Kept after the forward pass: input, l1/b, l2/b, l3/b and the output. Freed: l1/a, l2/a and l3/a.
  const int layers = static_cast<int>(graph.layers.size());
  std::set<int> kept;
  for (const model::Buffer& buffer : model::live_buffers(graph, blocks).buffers)
    if (!buffer.is_gradient && buffer.first_step < layers && buffer.last_step >= layers) kept.insert(buffer.layer);
  CHECK(kept == std::set<int>{0, 2, 4, 6, 7});
  // l2/a is recomputed before the backward step of l2/b, and freed after it.
  bool is_back = false;
  for (const model::Buffer& buffer : model::live_buffers(graph, blocks).buffers)
    is_back = is_back || (buffer.layer == 3 && !buffer.is_gradient && buffer.first_step == 2 * layers - 1 - 4 &&
                          buffer.last_step == 2 * layers - 1 - 4);
  CHECK(is_back);
}

TEST_CASE("checkpointing never needs more memory, and of deep networks far less") {
  for (const std::string& name : model::zoo_names()) {
    const model::Graph graph = model::zoo_graph(name);
    if (graph.layers.size() > 700) continue;
    const std::vector<int> blocks = model::checkpointed_blocks(graph);
    const auto whole = model::least_elements(model::live_buffers(graph));
    const auto again = model::least_elements(model::live_buffers(graph, blocks));
    INFO(name << ": " << again << " of " << whole);
    CHECK(again <= whole);
  }
  for (const char* name : {"vit_l16", "wan2_1_1_3b", "flux1_dev"}) {
    const model::Graph graph = model::zoo_graph(name);
    const auto whole = model::offline_plan(graph).arena_elements;
    INFO(name);
    CHECK(model::offline_plan(graph, model::checkpointed_blocks(graph)).arena_elements < whole / 4);
  }
}

}  // namespace lockstep::tests
