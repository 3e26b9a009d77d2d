// Models that carry a state from token to token: parameters compared with their checkpoints, multiply-adds by hand.
#include <algorithm>

#include "engine/model/transformer/huggingface.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

TransformerSpec hybrid_of(const std::string& text) {
  return transformer_of_huggingface(JsonDocument::parse(text, "config.json").root());
}

// Returns the sum over the layers, after comparing it with the closed form of the specification.
std::int64_t counted(const TransformerSpec& spec) {
  const std::int64_t sum = transformer_graph(spec).parameter_count();
  CHECK(parameters_of(spec).total() == sum);
  return sum;
}

const Layer& layer_named(const Graph& graph, const std::string& name) {
  return *std::find_if(graph.layers.begin(), graph.layers.end(),
                       [&](const Layer& layer) { return layer.name == name; });
}

}  // namespace

// Uses the sizes of each config.json on huggingface.co, and the totals of its checkpoint.
TEST_CASE("hybrids have the parameters of their checkpoints") {
  CHECK(counted(hybrid_of(R"({"model_type": "mamba", "num_hidden_layers": 24})")) == 129'135'360);
  CHECK(counted(hybrid_of(R"({"model_type": "mamba2", "hidden_size": 768, "num_hidden_layers": 24, "num_heads": 24,
      "n_groups": 1, "vocab_size": 50288, "tie_word_embeddings": true})")) == 128'989'632);
  CHECK(counted(zoo_graph("falcon_mamba_7b").transformer->spec) == 7'272'665'088);
  CHECK(counted(zoo_graph("jamba_52b").transformer->spec) == 51'570'323'328);
  CHECK(counted(zoo_graph("nemotron_nano_9b_v2").transformer->spec) == 8'888'227'328);
  CHECK(counted(zoo_graph("nemotron3_nano_30b").transformer->spec) == 31'577'937'344);
  CHECK(counted(zoo_graph("qwen3_next_80b").transformer->spec) == 79'674'391'296);
  CHECK(counted(zoo_graph("granite4_h_small").transformer->spec) == 32'207'337'984);
  CHECK(counted(zoo_graph("minimax_text_01").transformer->spec) == 456'089'655'296);
}

// By hand, it has 4096 features, 24 layers of Mamba-2, 4 of attention, and 24 of a network, each with a norm.
TEST_CASE("Nemotron-H 8B by hand") {
  const TransformerSpec spec = hybrid_of(R"({"model_type": "nemotron_h"})");
  const std::int64_t h = 4096, width = 128 * 64, keys = 8 * 128;
  const std::int64_t mamba =
      h * (2 * width + 2 * keys + 128) + (width + 2 * keys) * (4 + 1) + 3 * 128 + width + width * h;
  const std::int64_t attention = h * (4096 + 2 * 1024) + 4096 * h, network = 2 * h * 21504;
  CHECK(std::count(spec.layer_parts.begin(), spec.layer_parts.end(),
                   LayerParts{TokenMixing::recurrence, FeedForward::none}) == 24);
  CHECK(counted(spec) == 24 * mamba + 4 * attention + 24 * network + 53 * h + 2 * 131072 * h);
  // Per token, 7 FLOP for each element of the state, as Megatron-LM counts, and the convolution.
  const Graph graph = transformer_graph(spec, {1024, true});
  CHECK(layer_named(graph, "l1/recurrence").macs == 1024 * (7 * width * 128 / 2 + 4 * (width + 2 * keys)));
}

TEST_CASE("recurrence grows with the sequence, attention with its square") {
  const TransformerSpec spec = zoo_graph("qwen3_next_80b").transformer->spec;
  const Graph one = transformer_graph(spec, {1024, true}), two = transformer_graph(spec, {2048, true});
  CHECK(layer_named(two, "l1/recurrence").macs == 2 * layer_named(one, "l1/recurrence").macs);
  CHECK(layer_named(two, "l4/attention").macs == 4 * layer_named(one, "l4/attention").macs);
  CHECK(one.parameter_count() == two.parameter_count());
}

TEST_CASE("a model with recurrences is the same again from its layers") {
  for (const char* name : {"jamba_52b", "nemotron3_nano_30b", "qwen3_next_80b", "minimax_text_01"}) {
    const Graph graph = zoo_graph(name);
    const Graph again = graph_from_json(JsonDocument::parse(to_json(graph).dump(), "model.json").root());
    CHECK(again.parameter_count() == graph.parameter_count());
    CHECK(again.macs() == graph.macs());
    CHECK(to_json(again) == to_json(graph));
  }
}

TEST_CASE("what a recurrence cannot be is refused by name") {
  const auto problem = [](const RecurrenceShape& shape, int width) -> std::string {
    try {
      GraphBuilder net("r", "r", {1, 8, 1});
      net.recurrence("scan", net.embedding("words", 0, 10, width), shape);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  RecurrenceShape shape;
  shape.heads = 4;
  shape.head_dim = 8;
  shape.state = 16;
  CHECK(problem(shape, 2 * 32 + 2 * 16 + 4).empty());
  CHECK_THAT(problem(shape, 64), Contains("input features 64, its heads need 100"));
  shape.groups = 3;
  CHECK_THAT(problem(shape, 64), Contains("4 heads cannot share 3 groups of keys"));
  shape.groups = 1;
  shape.rule = RecurrenceRule::per_channel;
  CHECK_THAT(problem(shape, 64), Contains("steps without a rank"));
  CHECK_THROWS_WITH(hybrid_of(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "MX"})"),
                    Contains("a layer of a kind that is not known"));
  CHECK_THROWS_WITH(hybrid_of(R"({"model_type": "nemotron_h", "num_hidden_layers": 50})"),
                    Contains("the pattern has 52 layers"));
}

}  // namespace lockstep::model
