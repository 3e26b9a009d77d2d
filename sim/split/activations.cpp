#include "sim/split/activations.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/text.hpp"

namespace lockstep::sim::split {
namespace {

constexpr double kMaskBytes = 1;
constexpr double kIndexBytes = 8;

using Modules = std::set<RecomputeModule>;

class LayerActivations {
 public:
  LayerActivations(const TransformerShape& shape, const ParallelSpec& spec, const ActivationBytes& bytes)
      : shape_(shape),
        tokens_(static_cast<double>(spec.micro_batch) * shape.sequence / spec.context),
        tensor_(spec.tensor),
        whole_(spec.sequence ? spec.tensor : 1),
        gathered_(bytes.has_gathered_inputs ? 1 : whole_),
        kv_repeats_(kv_repeats(shape, spec)),
        bytes_(bytes),
        expert_load_(spec.expert_load()),
        has_adapters_(spec.lora_rank > 0),
        adapts_networks_(has_adapters_ && spec.lora_target == LoraTarget::all) {}

  std::vector<Activation> of_layer(const model::LayerParts& parts) {
    const bool feeds = parts.feed_forward != model::FeedForward::none;
    if (parts.mixing == model::TokenMixing::attention) attention();
    if (parts.mixing == model::TokenMixing::attention && shape_.has_latent_attention()) compressions();
    if (parts.mixing == model::TokenMixing::recurrence) recurrence();
    // In parallel layers both norms have the same input.
    if (feeds && shape_.norm_place != model::NormPlace::parallel) sequence_split("norm's input", shape_.hidden);
    if (shape_.norm_place == model::NormPlace::both) sequence_split("inputs of the norms behind", 2.0 * shape_.hidden);
    if (parts.feed_forward == model::FeedForward::experts) experts();
    if (parts.feed_forward == model::FeedForward::network) mlp();
    if (feeds && shape_.dropout) mask("dropout's mask");
    return std::move(list_);
  }

 private:
  // Adds a tensor that every tensor rank holds whole, or divided by sequence parallelism.
  void sequence_split(const std::string& what, double width) {
    list_.push_back({what, tokens_ * width * bytes_.element / whole_});
  }
  void tensor_split(const std::string& what, double width, Modules of = {}) {
    list_.push_back({what, tokens_ * width * bytes_.element / tensor_, std::move(of)});
  }
  // Adds the tensor that a GEMM keeps of its input, with `width` elements per token. A frozen matrix has no gradient,
  // so its GEMM keeps none, but the one of its adapter does.
  void product_input(const std::string& what, double width, double ranks, Modules of = {}, bool has_adapter = false) {
    if (has_adapters_ && !has_adapter) return;
    list_.push_back({what, tokens_ * width * bytes_.product_input / ranks, std::move(of)});
  }
  void mask(const std::string& what) { list_.push_back({what, tokens_ * shape_.hidden * kMaskBytes / whole_}); }

  void attention() {
    sequence_split("norm's input", shape_.hidden);
    product_input("queries', keys' and values' input", shape_.hidden, gathered_, {RecomputeModule::layer_norm});
    if (has_adapters_) sequence_split("adapter's input", shape_.hidden);
    const Modules up = shape_.has_latent_attention() ? Modules{RecomputeModule::latent_up} : Modules{};
    tensor_split("queries", static_cast<double>(shape_.query_width()), up);
    tensor_split("keys", static_cast<double>(shape_.key_width()) * kv_repeats_, up);
    tensor_split("values", static_cast<double>(shape_.value_width()) * kv_repeats_, up);
    if (shape_.qk_norm)
      tensor_split("heads' norms' inputs",
                   static_cast<double>(shape_.query_width()) + static_cast<double>(shape_.key_width()) * kv_repeats_);
    if (shape_.has_fused_attention)
      list_.push_back({"logarithms of the softmax's sums", tokens_ * shape_.heads * kSingleBytes / tensor_});
    else
      scores();
    tensor_split("output matrix's input", static_cast<double>(shape_.output_width()));
    if (bytes_.transposed_output > 0)
      list_.push_back({"transposed copy of it",
                       tokens_ * static_cast<double>(shape_.output_width()) * bytes_.transposed_output / tensor_});
    if (shape_.attention_gate)
      tensor_split("gate and heads' outputs", 2.0 * static_cast<double>(shape_.output_width()));
    if (shape_.dropout) mask("dropout's mask");
  }

  // The fused kernel keeps its inputs and the scan's output, and recomputes the convolution (mamba_ssm,
  // mamba_split_conv1d_scan_combined). The delta rule's kernels also keep the convolved input and the inverse of a
  // chunk (flash-linear-attention, ChunkGatedDeltaRuleFunction).
  void recurrence() {
    const model::RecurrenceShape& r = shape_.recurrence;
    sequence_split("norm's input", shape_.hidden);
    product_input("recurrence's matrix's input", shape_.hidden, whole_, {RecomputeModule::layer_norm});
    tensor_split("recurrence's input", static_cast<double>(r.input_width()));
    tensor_split("recurrence's output before its norm", static_cast<double>(r.value_width()));
    if (r.rule == model::RecurrenceRule::per_channel) tensor_split("steps", 2.0 * static_cast<double>(r.value_width()));
    if (r.rule == model::RecurrenceRule::delta)
      tensor_split("convolved input and inverse",
                   static_cast<double>(r.value_width()) + double(r.heads) * (2.0 * r.state + r.chunk));
    tensor_split("output matrix's input", static_cast<double>(r.value_width()));
  }

  void scores() {
    const double scores = tokens_ * shape_.sequence * shape_.heads / tensor_;
    const Modules of{RecomputeModule::core_attention};
    list_.push_back({"softmax's output", scores * bytes_.element, of});
    if (!shape_.attention_dropout) return;
    list_.push_back({"attention dropout's mask", scores * kMaskBytes, of});
    list_.push_back({"attention dropout's output", scores * bytes_.element, of});
  }

  // Adds the inputs and outputs of the norms of compressed queries, keys and values. Every tensor rank has them.
  void compressions() {
    const model::LatentSpec& l = shape_.latent;
    sequence_split("compressed queries", 2.0 * l.q_rank);
    sequence_split("compressed keys and values", 2.0 * l.kv_rank + l.rope_dim);
  }

  // Adds the inputs of the non-linearity and of the second matrix, for `rows` rows per token.
  void inner_activations(const std::string& what, double inner, double rows, const Modules& of, bool is_adapted) {
    const std::string inputs = shape_.gated ? "'s gate and its other half" : "'s non-linearity's input";
    list_.push_back({what + inputs, tokens_ * rows * (shape_.gated ? 2 : 1) * inner * bytes_.gate / tensor_, of});
    Modules of_second = of;
    of_second.insert(RecomputeModule::activation);
    product_input(what + "'s second input", rows * inner, tensor_, of_second, is_adapted);
    if (has_adapters_ && shape_.gated && bytes_.multiplied > 0)
      list_.push_back({what + "'s non-linearity's output", tokens_ * rows * inner * bytes_.multiplied / tensor_, of});
  }

  void mlp() {
    product_input("MLP's input", shape_.hidden, gathered_, {RecomputeModule::layer_norm}, adapts_networks_);
    inner_activations("MLP", shape_.inner, 1, {RecomputeModule::mlp}, adapts_networks_);
  }

  void experts() {
    const model::MixtureSpec& m = shape_.mixture;
    const Modules of{RecomputeModule::moe};
    list_.push_back({"router's scores", tokens_ * m.count * kSingleBytes / whole_, of});
    const double rows = m.active * expert_load_;
    product_input("experts' input", rows * shape_.hidden, whole_, of);
    inner_activations("experts", m.inner, rows, of, false);
    // Outputs are weighted and summed on the rank from which the tokens came.
    list_.push_back({"experts' outputs", tokens_ * m.active * shape_.hidden * bytes_.experts_output / whole_, of});
    if (m.shared_inner == 0) return;
    const Modules of_shared{RecomputeModule::shared_experts};
    product_input("shared expert's input", shape_.hidden, whole_, {RecomputeModule::layer_norm});
    inner_activations("shared expert", m.shared_inner, 1, of_shared, false);
  }

  const TransformerShape& shape_;
  double tokens_, tensor_, whole_, gathered_, kv_repeats_;
  ActivationBytes bytes_;
  double expert_load_;
  bool has_adapters_, adapts_networks_;
  std::vector<Activation> list_;
};

// Sums the bytes of tensors that are not recomputed.
double sum(const std::vector<Activation>& list, const ParallelSpec& spec) {
  double bytes = 0;
  for (const Activation& one : list)
    if (std::none_of(one.of.begin(), one.of.end(), [&](RecomputeModule module) { return spec.recomputes(module); }))
      bytes += one.bytes;
  return bytes;
}

double sum(const std::vector<Activation>& list) {
  double bytes = 0;
  for (const Activation& one : list) bytes += one.bytes;
  return bytes;
}

double tokens_of(const TransformerShape& shape, const ParallelSpec& spec) {
  return static_cast<double>(spec.micro_batch) * shape.sequence / spec.context;
}

double whole_of(const ParallelSpec& spec) {
  return spec.sequence ? spec.tensor : 1;
}

// Output widths of a layer's matrices: divided by the tensor ranks, or on every rank (whole, or a part of the
// sequence).
struct MatrixOutputs {
  double split = 0, whole = 0;
};

// The matrices are query, key, value, output, gate, up and down (without a gate: no up). The outputs of the first,
// third, fifth and seventh are kept: query, value, gate and down.
MatrixOutputs alternate_outputs(const TransformerShape& shape, double kv_repeats) {
  const auto query = static_cast<double>(shape.query_width());
  return {query + static_cast<double>(shape.value_width()) * kv_repeats + shape.inner,
          shape.gated ? double(shape.hidden) : 0};
}

MatrixOutputs outputs_of_attention(const TransformerShape& shape, double kv_repeats) {
  const auto kv = static_cast<double>(shape.key_width() + shape.value_width()) * kv_repeats;
  MatrixOutputs outputs{static_cast<double>(shape.query_width()) + kv, double(shape.hidden)};
  if (shape.has_latent_attention()) outputs.whole += shape.latent.q_rank + shape.latent.kv_rank + shape.latent.rope_dim;
  return outputs;
}

void add_mlp(const TransformerShape& shape, double inner, double share, MatrixOutputs& outputs) {
  outputs.split += share * (shape.gated ? 2 : 1) * inner;
  outputs.whole += share * shape.hidden;
}

// Layers with a router, experts and a shared expert, or with latent attention, have no single order of matrices. For
// them, half of all outputs count as kept. replica/rank_cost.hpp makes the same assumption for times.
MatrixOutputs half_of_outputs(const TransformerShape& shape, const ParallelSpec& spec, int layer, double kv_repeats) {
  const model::LayerParts parts = shape.parts_of(layer);
  MatrixOutputs outputs;
  if (parts.mixing == model::TokenMixing::attention) outputs = outputs_of_attention(shape, kv_repeats);
  if (parts.mixing == model::TokenMixing::recurrence)
    outputs = {static_cast<double>(shape.recurrence.input_width()), double(shape.hidden)};
  if (parts.feed_forward == model::FeedForward::experts) {
    outputs.whole += shape.mixture.count;
    add_mlp(shape, shape.mixture.inner, shape.mixture.active * spec.expert_load(), outputs);
    if (shape.mixture.shared_inner > 0) add_mlp(shape, shape.mixture.shared_inner, 1, outputs);
  } else if (parts.feed_forward == model::FeedForward::network) {
    add_mlp(shape, shape.inner, 1, outputs);
  }
  return {outputs.split / 2, outputs.whole / 2};
}

// Adds the output of attention or recurrence, the softmax's sums if attention is fused, and the layer's input.
double alternate_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer, double element_bytes) {
  const double repeats = kv_repeats(shape, spec);
  const model::LayerParts parts = shape.parts_of(layer);
  const bool has_attention = parts.mixing == model::TokenMixing::attention;
  const bool has_order =
      !shape.has_latent_attention() && has_attention && parts.feed_forward == model::FeedForward::network;
  const MatrixOutputs outputs =
      has_order ? alternate_outputs(shape, repeats) : half_of_outputs(shape, spec, layer, repeats);
  const double sums = has_attention && shape.has_fused_attention ? shape.heads * kSingleBytes : 0.0;
  const double mixed = has_attention ? static_cast<double>(shape.output_width())
                       : parts.mixing == model::TokenMixing::recurrence
                           ? static_cast<double>(shape.recurrence.value_width())
                           : 0.0;
  const double split = (outputs.split + mixed) * element_bytes + sums;
  const double whole = (outputs.whole + shape.hidden) * element_bytes;
  return tokens_of(shape, spec) * (split / spec.tensor + whole / whole_of(spec));
}

}  // namespace

std::vector<Activation> layer_activations(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                                          const ActivationBytes& bytes) {
  return LayerActivations(shape, spec, bytes).of_layer(shape.parts_of(layer));
}

double kept_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer, const ActivationBytes& bytes) {
  if (spec.recompute == Recomputation::full)
    return tokens_of(shape, spec) * shape.hidden * bytes.element / whole_of(spec);
  if (spec.recompute == Recomputation::alternate_matrices) return alternate_bytes(shape, spec, layer, bytes.element);
  return sum(layer_activations(shape, spec, layer, bytes), spec);
}

double recomputed_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                        const ActivationBytes& bytes) {
  return sum(layer_activations(shape, spec, layer, bytes)) - kept_bytes(shape, spec, layer, bytes);
}

double embedding_kept_bytes(const TransformerShape& shape, const ParallelSpec& spec) {
  const double mask = shape.dropout ? shape.hidden * kMaskBytes / whole_of(spec) : 0;
  return tokens_of(shape, spec) * (mask + kIndexBytes);
}

double tokens_of_loss_chunk(double tokens, int vocabulary, int hidden) {
  const double chunks = std::ceil(static_cast<double>(vocabulary) / hidden);
  return std::min(tokens, std::exp2(std::ceil(std::log2(std::max(1.0, std::ceil(tokens / chunks))))));
}

double loss_working_bytes(const TransformerShape& shape, const ParallelSpec& spec, double element_bytes,
                          const LossBytes& loss, bool has_gradient) {
  const double tokens = tokens_of(shape, spec), vocabulary = static_cast<double>(shape.vocabulary) / spec.tensor;
  if (!loss.is_chunked) return tokens * vocabulary * loss.working;
  const double gradient = has_gradient ? vocabulary * shape.hidden * element_bytes : 0;
  return tokens_of_loss_chunk(tokens, shape.vocabulary, shape.hidden) * vocabulary * loss.working + gradient;
}

double loss_kept_bytes(const TransformerShape& shape, const ParallelSpec& spec, double element_bytes,
                       const LossBytes& loss) {
  const double hidden = 2 * tokens_of(shape, spec) * shape.hidden * element_bytes / whole_of(spec);
  return hidden + tokens_of(shape, spec) * shape.vocabulary * loss.kept / spec.tensor;
}

}  // namespace lockstep::sim::split
