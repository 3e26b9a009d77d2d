// Layers of sequences: shapes and counts by hand, the model format, and their memory.
#include "engine/model/graph.hpp"
#include "engine/model/memory_plan.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

Graph tokens_graph(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "m.json");
  return graph_from_json(document.root());
}

std::string problem_of_layers(const std::string& layers) {
  try {
    tokens_graph(R"({"schema": "lockstep/model/1", "name": "m", "tokens": 8, "layers": [)" + layers + "]}");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Eight tokens of 100 words pass one layer with two query heads on one of keys and values, and two of four experts.
const char* const kSmall = R"({
  "schema": "lockstep/model/1", "name": "small", "tokens": 8,
  "layers": [
    {"name": "words", "kind": "embedding", "vocabulary": 100, "out": 16},
    {"name": "places", "kind": "positions", "count": 8},
    {"name": "norm", "kind": "rms_norm"},
    {"name": "q", "kind": "linear", "out": 16, "bias": false},
    {"name": "q/turned", "kind": "rotary", "features": 8},
    {"name": "k", "kind": "linear", "from": "norm", "out": 8},
    {"name": "v", "kind": "linear", "from": "norm", "out": 8},
    {"name": "look", "kind": "attention", "from": ["q/turned", "k", "v"], "heads": 2, "kv_heads": 1, "causal": true,
     "window": 4},
    {"name": "sum", "kind": "add", "from": ["places", "look"]},
    {"name": "norm2", "kind": "layer_norm"},
    {"name": "choose", "kind": "router", "experts": 4, "active": 2},
    {"name": "experts", "kind": "experts", "from": ["norm2", "choose"], "inner": 32},
    {"name": "out", "kind": "linear", "tied": "words", "bias": false},
    {"name": "loss", "kind": "softmax"}
  ]})";

const Layer& named(const Graph& graph, const std::string& name) {
  for (const Layer& layer : graph.layers)
    if (layer.name == name) return layer;
  throw std::runtime_error("no layer " + name);
}

}  // namespace

TEST_CASE("layers of sequences by hand") {
  const Graph graph = tokens_graph(kSmall);
  CHECK(graph.tokens == 8);
  CHECK(named(graph, "words").parameter_count() == 100 * 16);
  CHECK(named(graph, "places").parameter_count() == 8 * 16);
  CHECK(named(graph, "norm").parameter_count() == 16);
  CHECK(named(graph, "norm2").parameter_count() == 32);
  CHECK(named(graph, "q").macs == 8 * 16 * 16);
  CHECK(named(graph, "k").parameter_count() == 16 * 8 + 8);
  CHECK(named(graph, "q/turned").input_elements == 8 * 8);
  // Two heads, eight queries that are counted with four keys each, features of 8 in and out.
  CHECK(named(graph, "look").macs == 2 * 8 * 4 * (8 + 8));
  CHECK(named(graph, "choose").macs == 8 * 16 * 4);
  // Each token passes two experts of three matrices 16 x 32; parameters count all four.
  CHECK(named(graph, "experts").macs == 8 * 2 * 3 * 16 * 32);
  CHECK(named(graph, "experts").parameter_count() == 4 * 3 * 16 * 32);
  CHECK(named(graph, "out").macs == 8 * 16 * 100);
  CHECK(named(graph, "out").parameters.empty());
  CHECK(named(graph, "out").out == Shape{100, 8, 1});
}

TEST_CASE("the format gives layers of sequences back") {
  const auto again = [](const Graph& graph) { return tokens_graph(to_json(graph).dump()); };
  for (const Graph& graph : {tokens_graph(kSmall), Graph(zoo_graph("deepseek_v3@64")), Graph(zoo_graph("gpt3_125m@64")),
                             Graph(zoo_graph("mistral_7b@64"))}) {
    INFO(graph.name);
    const Graph back = again(graph);
    CHECK(to_json(back) == to_json(graph));
    CHECK(back.tokens == graph.tokens);
    REQUIRE(back.layers.size() == graph.layers.size());
    for (std::size_t i = 0; i < back.layers.size(); ++i) {
      const Layer &a = back.layers[i], &b = graph.layers[i];
      INFO(b.name);
      CHECK(a.macs == b.macs);
      CHECK(a.out == b.out);
      CHECK(a.input_elements == b.input_elements);
      CHECK(a.parameter_count() == b.parameter_count());
      CHECK(a.attention == b.attention);
      CHECK(a.experts == b.experts);
      CHECK(a.tied_to == b.tied_to);
      CHECK(a.kept_elements == b.kept_elements);
    }
  }
}

TEST_CASE("layers of sequences that do not fit are refused") {
  const std::string words = R"({"name": "w", "kind": "embedding", "vocabulary": 10, "out": 6},)";
  const std::string loss = R"(, {"name": "l", "kind": "softmax"})";
  const auto with = [&](const std::string& layer) { return problem_of_layers(words + layer + loss); };
  CHECK(with(R"({"name": "n", "kind": "rms_norm", "width": 4})") ==
        "m.json: /layers/1: model \"m\", layer \"n\": 6 features are no groups of 4");
  CHECK(with(R"({"name": "t", "kind": "take", "tokens": 9})") ==
        "m.json: /layers/1: model \"m\", layer \"t\": takes 9, of 8");
  CHECK(with(R"({"name": "a", "kind": "attention", "from": ["w", "w", "w"], "heads": 4})")
            .find("m.json: /layers/1/heads") == 0);
  CHECK(with(R"({"name": "a", "kind": "attention", "from": ["w", "w"], "heads": 2})").find("reads queries, keys") !=
        std::string::npos);
  CHECK(with(R"({"name": "a", "kind": "attention", "from": ["w", "w", "w"], "heads": 3, "kv_heads": 2})") != "");
  CHECK(with(R"({"name": "o", "kind": "linear", "tied": "w", "out": 10})").find("m.json: /layers/1/out") == 0);
  CHECK(with(R"({"name": "o", "kind": "linear", "tied": "x"})").find("m.json: /layers/1/tied: no earlier layer") == 0);
  CHECK(with(R"({"name": "r", "kind": "router", "experts": 4, "active": 5})") != "");
  CHECK(with(R"({"name": "e", "kind": "experts", "from": ["w", "w"], "inner": 8})").find("\"w\" is no router") !=
        std::string::npos);
  CHECK(with(R"({"name": "s", "kind": "silu", "out": 8})").find("m.json: /layers/1: unknown key \"out\"") == 0);
  CHECK(with(R"({"name": "d", "kind": "silu"})") == "");
}

TEST_CASE("gradients of a tied table come last, with the words") {
  const Graph graph = zoo_graph("gpt3_125m");
  const std::vector<Gradient> order = gradient_order(graph);
  CHECK(order.back().elements == 50257LL * 768);
  CHECK(order.front().elements == 768);
}

// Korthikanti et al. 2022, equation 1: a layer keeps s b h (34 + 5 a s / h) bytes in half precision. The 34 are 19 for
// the network, 11 for attention and 4 for norms. They also count the masks of dropout at one byte each: s b h for each
// part (2 of the 34) and a s^2 b for the weights (1 of the 5). Our plan omits those masks. Otherwise it keeps the same
// elements of two bytes: inputs of both norms and of the matrices after them, q, k, v, both sides of their product, and
// GELU's input.
TEST_CASE("a layer keeps what Korthikanti et al. count, less the masks of dropout") {
  TransformerSpec spec;
  spec.name = spec.title = "gpt";
  spec.hidden = 512;
  spec.heads = spec.kv_heads = 8;
  spec.head_dim = 64;
  spec.inner = 4 * 512;
  spec.vocabulary = 1000;
  spec.context = spec.position_rows = 256;
  spec.positions = PositionKind::learned;
  spec.qkv_bias = spec.attention_out_bias = spec.inner_bias = spec.tied_output = true;
  spec.dropout = spec.attention_dropout = true;
  const double s = 256, h = 512, a = 8;
  // Memory that one more layer keeps between forward and backward pass.
  const auto layer_bytes = [&](bool fused) {
    const auto held = [&](int layers) {
      spec.layers = layers;
      const Graph graph = transformer_graph(spec, {256, fused});
      return static_cast<double>(live_elements(live_buffers(graph), static_cast<int>(graph.layers.size()) - 1));
    };
    return 2 * (held(3) - held(2));
  };
  CHECK(layer_bytes(false) == s * h * (34 - 2 + (5 - 1) * a * s / h));
  // If fused, the scores are not kept, only a sum of 4 bytes per query and head.
  CHECK(layer_bytes(true) == s * h * (34 - 2) + 4 * a * s);
}

TEST_CASE("the plan lays out a transformer without a byte above what lives at once and two per cent") {
  for (const char* name : {"gpt3_125m@512", "qwen3_0_6b@512", "mixtral_8x7b@512"}) {
    INFO(name);
    const MemoryPlan plan = offline_plan(zoo_graph(name));
    CHECK(plan.arena_elements >= least_elements(plan));
    CHECK(plan.arena_elements < plan.unshared_elements);
    CHECK(static_cast<double>(plan.arena_elements) < 1.02 * static_cast<double>(least_elements(plan)));
  }
}

}  // namespace lockstep::model
