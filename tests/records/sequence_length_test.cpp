// For any length that a job gives, its network has the operations of that length. The count here uses only a
// transformer's numbers and its layers' formulas. The network's own count is the sum over its layers.
#include <algorithm>
#include <cmath>

#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job/shape_model.hpp"
#include "tests/catalogue/catalogue.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

using model::TransformerSpec;

const TransformerSpec* transformer_of(const sim::ModelEntry& entry) {
  const std::string name = model::fused_attention_name(entry.id);
  const model::Graph& graph = model::zoo_graph(name);
  return graph.transformer && graph.transformer->spec.decoder_layers == 0 ? &graph.transformer->spec : nullptr;
}

// Returns the weights of the matrices by which a layer's attention multiplies a token.
double attention_weights(const TransformerSpec& s) {
  const double h = s.hidden, heads = s.heads;
  if (s.latent.kv_rank == 0)
    return 2.0 * h * s.head_dim * (heads + s.kv_heads) + (s.attention_gate ? h * heads * s.head_dim : 0);
  const auto& l = s.latent;
  const double query = heads * (l.nope_dim + l.rope_dim);
  return (l.q_rank > 0 ? l.q_rank * (h + query) : h * query) + h * (l.kv_rank + l.rope_dim) +
         heads * l.kv_rank * (l.nope_dim + l.value_dim) + heads * l.value_dim * h;
}

double network_weights(const TransformerSpec& s, int layer) {
  const auto& m = s.mixture;
  const double matrices = s.gated ? 3 : 2, h = s.hidden;
  if (!s.has_experts(layer)) return matrices * h * s.inner;
  return matrices * h * (m.active * m.inner + m.shared_inner) + h * m.count + (m.shared_gate ? h : 0);
}

// Multiply-adds of a token: both projections, the convolution, and the rule's share of a state of H P N elements.
double recurrence_macs(const TransformerSpec& s) {
  const model::RecurrenceShape& r = s.recurrence;
  const double values = double(r.heads) * r.head_dim, keys = double(r.groups) * r.state, state = values * r.state;
  const double h = s.hidden;
  switch (r.rule) {
    case model::RecurrenceRule::per_channel:
      return 3 * h * values + values * r.taps + values * (2. * r.step_rank + 2 * r.state) + 3.5 * state;
    case model::RecurrenceRule::per_head:
      return h * (3 * values + 2 * keys + r.heads) + r.taps * (values + 2 * keys) + 3.5 * state;
    case model::RecurrenceRule::delta:
      return h * (3 * values + 2 * keys + 2 * r.heads) + r.taps * (values + 2 * keys) + 4 * state;
    case model::RecurrenceRule::fixed:
      return h * 5 * values + 2 * state;  // queries, keys, values and gate are as wide; output
  }
  return 0;
}

// Returns the multiply-adds for a pair of query and key: for a score, and for adding a value.
double pair_macs(const TransformerSpec& s) {
  const auto& l = s.latent;
  return s.heads * (l.kv_rank > 0 ? l.nope_dim + l.rope_dim + l.value_dim : 2.0 * s.head_dim);
}

double output_macs(const TransformerSpec& s, int tokens) {
  const double h = s.hidden, words = s.vocabulary;
  if (s.objective == model::Objective::image_class) return h * words;
  if (s.objective == model::Objective::next_token) return tokens * h * words;
  const double masked = std::ceil(0.15 * tokens) * (h * words + h * h);
  return masked + (s.objective == model::Objective::masked_and_next_sentence ? h * h + 2 * h : 0);
}

double patch_macs(const TransformerSpec& s, int tokens) {
  return s.patches.image == 0 ? 0 : (tokens - 1.0) * s.patches.patch * s.patches.patch * s.patches.channels * s.hidden;
}

double forward_macs(const TransformerSpec& s, int tokens) {
  double sum = output_macs(s, tokens) + patch_macs(s, tokens);
  for (int layer = 0; layer < s.layers; ++layer) {
    const int window = s.window_of(layer), keys = window > 0 ? std::min(window, tokens) : tokens;
    const model::LayerParts parts = s.parts_of(layer);
    if (parts.mixing == model::TokenMixing::attention) sum += tokens * (attention_weights(s) + keys * pair_macs(s));
    if (parts.mixing == model::TokenMixing::recurrence) sum += tokens * recurrence_macs(s);
    if (parts.feed_forward != model::FeedForward::none) sum += tokens * network_weights(s, layer);
  }
  return sum;
}

const model::Graph& network_of(sim::Job& job, const std::string& name, int tokens) {
  job.model.stated = name;
  job.software.stated = "pytorch";
  job.gpu.stated = "H100";
  job.shape.sequence = tokens;
  sim::resolve_names(job, catalogue());
  REQUIRE(!job.model.id.empty());
  return job.own_model ? *job.own_model->fused : model::zoo_graph(model::fused_attention_name(job.model.id));
}

double gigaflop_per_token(const std::string& name, int tokens) {
  sim::Job job;
  return 6e-9 * static_cast<double>(network_of(job, name, tokens).macs()) / tokens;
}

}  // namespace

TEST_CASE("every transformer of the catalogue does the operations of the sequence that a job gives") {
  int counted = 0;
  for (const sim::ModelEntry& entry : catalogue().models) {
    const TransformerSpec* spec = transformer_of(entry);
    if (spec == nullptr) continue;
    ++counted;
    const bool is_image = spec->patches.image > 0;
    for (const int tokens : {0, 128, 512, 1024, 2048, 4096, 8192, 32768}) {
      const bool is_longer = spec->positions == model::PositionKind::learned && tokens > spec->context;
      if (is_longer || (is_image && tokens > 0)) continue;
      sim::Job job;
      const model::Graph& graph = network_of(job, entry.id, tokens);
      const int meant = tokens > 0 ? tokens : entry.tokens;
      INFO(entry.id << " at " << tokens << " tokens");
      CHECK(graph.transformer->job.tokens == meant);
      CHECK(static_cast<double>(graph.macs()) == Approx(forward_macs(*spec, meant)).epsilon(1e-12));
    }
  }
  CHECK(counted > 100);
}

TEST_CASE("gpt-oss and Kimi K2 at 4,096 tokens have the operations of 4,096, by hand") {
  // By hand, in GFLOP per token: 6 per active weight, and 6 per multiply-add of a pair. gpt-oss-20b: 24 x (26.5e6 of
  // attention + 99.6e6 of 4 experts) + 579e6 of the output = 3.61e9 weights, 21.6. Twelve layers see 4,096 keys and
  // twelve 128, with 8,192 multiply-adds each: 2.5.
  CHECK(gigaflop_per_token("gpt_oss_20b", 4096) == Approx(24.1).epsilon(5e-3));
  // gpt-oss-120b has 36 layers: 5.13e9 weights, 30.8; 3.7 of attention.
  CHECK(gigaflop_per_token("gpt_oss_120b", 4096) == Approx(34.5).epsilon(5e-3));
  // Kimi K2 has 31.7e9 weights, 190.1; 61 layers of 64 heads of 192 + 128 features over 4,096 keys, 30.7.
  CHECK(gigaflop_per_token("kimi_k2", 4096) == Approx(220.8).epsilon(5e-3));
  for (const char* name : {"gpt_oss_20b", "gpt_oss_120b", "kimi_k2"})
    CHECK(gigaflop_per_token(name, 4096) < gigaflop_per_token(name, 8192));
}

TEST_CASE("the zoo and the catalogue have one length for a name") {
  for (const sim::ModelEntry& entry : catalogue().models) {
    INFO(entry.id);
    const std::string name = model::fused_attention_name(entry.id);
    if (const auto& made_from = model::zoo_graph(name).transformer) CHECK(made_from->job.tokens == entry.tokens);
  }
}

}  // namespace lockstep::tests
