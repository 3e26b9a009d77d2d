#include "sim/job_plan/model_family.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"

namespace lockstep::sim::job_plan {
namespace {

constexpr double kStep = 1.5;      // ratio of neighbouring sizes that are added
constexpr double kSameSize = 1.1;  // sizes within this ratio count as equal, such as Llama 3 8B and Llama 3.1 8B
constexpr int kHeadDim = 128;
constexpr int kSequence = 8192;  // tokens, for interpolated sizes

struct Member {
  std::string name;
  model::TransformerSpec spec;
  double parameters;
};

std::optional<Member> read_member(const std::string& id) {
  std::map<std::string, std::string> inputs;
  const model::Graph graph = model::graph_of(id, inputs);
  if (!graph.transformer || graph.tokens == 0) return std::nullopt;
  const model::TransformerSpec& spec = graph.transformer->spec;
  if (spec.objective != model::Objective::next_token || spec.mixture.count > 0) return std::nullopt;
  return Member{id, spec, static_cast<double>(graph.parameter_count())};
}

/// Reads the family's models, by size. Keeps only one of several equal sizes.
std::vector<Member> read_members(const std::string& family, const Catalogue& catalogue) {
  std::vector<Member> members;
  for (const ModelEntry& entry : catalogue.models) {
    if (entry.id != family && entry.id.rfind(family + "_", 0) != 0) continue;
    if (const std::optional<Member> member = read_member(entry.id)) members.push_back(*member);
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const Member& a, const Member& b) { return a.parameters < b.parameters; });
  const auto is_same = [](const Member& a, const Member& b) { return b.parameters < kSameSize * a.parameters; };
  members.erase(std::unique(members.begin(), members.end(), is_same), members.end());
  return members;
}

bool is_like_llama(const model::TransformerSpec& spec) {
  return spec.gated && spec.norm == model::LayerKind::rms_norm && spec.positions == model::PositionKind::rotary &&
         spec.norm_place == model::NormPlace::before && !spec.qkv_bias && !spec.qk_norm && spec.windows.empty() &&
         spec.latent.kv_rank == 0 && spec.head_dim * spec.heads == spec.hidden;
}

double interpolate(double a, double b, double share) {
  return a * std::pow(b / a, share);
}

int round_to(double value, int multiple) {
  return std::max(multiple, multiple * static_cast<int>(std::lround(value / multiple)));
}

std::string size_between(const Member& a, const Member& b, double share) {
  const int kv_heads = std::min(a.spec.kv_heads, b.spec.kv_heads);
  const int hidden = round_to(interpolate(a.spec.hidden, b.spec.hidden, share), kHeadDim * kv_heads);
  const double widening = interpolate(static_cast<double>(a.spec.inner) / a.spec.hidden,
                                      static_cast<double>(b.spec.inner) / b.spec.hidden, share);
  const Json config{{"model_type", "llama"},
                    {"hidden_size", hidden},
                    {"num_hidden_layers", round_to(interpolate(a.spec.layers, b.spec.layers, share), 4)},
                    {"num_attention_heads", hidden / kHeadDim},
                    {"num_key_value_heads", kv_heads},
                    {"intermediate_size", round_to(widening * hidden, 1024)},
                    {"vocab_size", b.spec.vocabulary},
                    {"max_position_embeddings", kSequence},
                    {"tie_word_embeddings", b.spec.tied_output}};
  return config.dump();
}

}  // namespace

std::vector<std::string> list_family_models(const std::string& name, const Catalogue& catalogue) {
  const std::vector<Member> members = read_members(name, catalogue);
  if (members.empty())
    throw InputError("--model-family " + in_quotes(name) +
                     ": no dense language model of the catalogue begins so; allowed: such as llama3, qwen3, gpt3");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < members.size(); ++i) {
    names.push_back(members[i].name);
    if (i + 1 == members.size()) break;
    const Member &a = members[i], &b = members[i + 1];
    if (!is_like_llama(a.spec) || !is_like_llama(b.spec)) continue;
    const int between = static_cast<int>(std::floor(std::log(b.parameters / a.parameters) / std::log(kStep)));
    for (int k = 1; k < between; ++k) names.push_back(size_between(a, b, static_cast<double>(k) / between));
  }
  return names;
}

}  // namespace lockstep::sim::job_plan
