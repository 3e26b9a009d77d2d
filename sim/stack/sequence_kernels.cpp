// Sets the costs of transformer kernels that differ by software: attention, experts, GELUs, losses, output projections.
#include <algorithm>

#include "sim/cost/layer_cost.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim {
inline namespace stack {
namespace {

const model::Layer* attention_of(const model::Graph& graph) {
  for (const model::Layer& layer : graph.layers)
    if (layer.kind == model::LayerKind::attention) return &layer;
  return nullptr;
}

// Speed of the software's fused attention, relative to the kernels that were measured.
struct AttentionSpeed {
  double over_law;
  const char* why;
};

// On Hopper and Blackwell, the laws were measured with kernels written for them (FlashAttention-3, TensorRT-LLM's).
// Kernels written for Ampere reach 0.35 of an H100's peak, FlashAttention-3 0.6 to 0.75 (Shah et al. 2024,
// arXiv:2407.08608). They reach no more FLOP/s on Blackwell, whose peak is 2.3 times as high.
AttentionSpeed attention_speed(const StackModel& m) {
  const bool is_hopper = m.gpu->generation == "hopper", is_blackwell = m.gpu->generation == "blackwell";
  if (m.stack->hopper_attention || (!is_hopper && !is_blackwell)) return {1, "kernels as those that were timed"};
  return {is_hopper ? 0.55 : 0.3, "kernels written for Ampere: 0.35 of an H100's peak, by FlashAttention-3's paper"};
}

bool has_experts(StackModel& m) {
  const std::vector<model::Layer>& layers = graph_of(m).layers;
  return std::any_of(layers.begin(), layers.end(),
                     [](const model::Layer& layer) { return layer.kind == model::LayerKind::experts; });
}

// Returns the smallest alignment, in bytes and at most 16, of the GEMMs that do at least 1 % of a forward pass.
int alignment_bytes_of(const model::Graph& graph, int element_bytes) {
  constexpr double kLeast = 0.01;  // share of a forward pass
  const double least_macs = kLeast * static_cast<double>(graph.macs());
  int bytes = 16;
  for (const model::Layer& layer : graph.layers)
    if (static_cast<double>(layer.macs) >= least_macs) bytes = std::min(bytes, alignment_bytes(layer, element_bytes));
  return bytes;
}

// Returns multiprocessors times clock: FP32 FLOP/s over the FLOP of a multiprocessor per cycle (2 per core).
double cycles_per_s(const GpuEntry& gpu) {
  const bool has_half_of_cores =
      gpu.generation == "volta" || gpu.generation == "turing" || gpu.generation == "ampere";  // 64 cores, later 128
  return gpu.spec.fp32_flops / (2 * (has_half_of_cores ? 64 : 128));
}

double half_precision_flops(const GpuEntry& gpu) {
  return std::max(gpu.spec.fp16_flops, gpu.spec.bf16_flops);
}

// Unaligned GEMMs reach 95 to 147 TFLOP/s on 2 bytes and 246 to 271 on 4 or 8, aligned ones 605 to 704 (measured on an
// H100, results/h100/2026-11-26). Their kernels are those of older GPUs, which load element by element. So on other
// GPUs their FLOP/s scale with multiprocessors times clock, up to the peak.
struct UnalignedShares {
  double on_2_bytes, on_4_bytes;
  const char* why;
};
UnalignedShares unaligned_shares(const GpuEntry& gpu) {
  constexpr double kOn2Bytes = 0.185, kOn4Bytes = 0.386;
  constexpr double kCyclesOfH100 = 67e12 / 256, kPeakOfH100 = 989e12;
  const double slower = cycles_per_s(gpu) / kCyclesOfH100 / (half_precision_flops(gpu) / kPeakOfH100);
  return {std::min(1.0, kOn2Bytes * slower), std::min(1.0, kOn4Bytes * slower),
          "measured on an H100, results/h100/2026-11-26; by multiprocessors and clock, over the peak"};
}

// HuggingFace's GPT models compute the GELU in steps (NewGELUActivation: a power, a hyperbolic tangent, sums and
// multiplications), in single precision under autocast. On an H100, GPT-2 takes 39 ms longer than with one kernel, for
// 12 layers of 16384 x 3072 elements (results/h100/2026-11-26). Unit: bytes per element, at the bandwidth of other
// memory-bound passes.
constexpr double kGeluInSteps = 170;

// Why kernels run in steps: the job says so, or the software's default does.
std::string in_steps_reason(const StackModel& m, const std::optional<bool>& is_fused) {
  return is_fused ? "in steps of its own, as given" : "in steps of its own, by " + m.stack->name;
}

void set_gelu_bytes(StackModel& m, ComputeSpec& compute) {
  const std::vector<model::Layer>& layers = graph_of(m).layers;
  const model::Layer* const attention = attention_of(graph_of(m));
  const bool is_causal = attention != nullptr && attention->attention.causal;
  const bool has_gelu = std::any_of(layers.begin(), layers.end(),
                                    [](const model::Layer& layer) { return layer.kind == model::LayerKind::gelu; });
  const bool is_fused = m.job.fused_gelu.value_or(!m.stack->gelu_in_steps || !is_causal);
  if (is_fused || !has_gelu) return;
  compute.gelu_bytes = kGeluInSteps;
  m.assume(kGeluBytes, kGeluInSteps, in_steps_reason(m, m.job.fused_gelu));
}

// Bytes per element of RMS norms and rotary positions as Llama's code computes them. A norm is a cast to single
// precision, a square, a mean, a root and multiplications. A rotary position swaps halves, multiplies twice and adds.
//
// The norms' kernels of forward and backward pass take 30.0 ms on an H100 for 33 x 16.8 million elements. Those of the
// positions take 12.3 ms for 16 x 21.0 million. Both assume 0.8 of the memory bandwidth (priors.cpp;
// results/h100/2026-11-26, llama3_2_1b:4096:2).
constexpr double kRmsNormInSteps = 145, kRotaryInSteps = 98;

void set_norm_bytes(StackModel& m, ComputeSpec& compute) {
  const auto set_bytes = [&](model::LayerKind kind, std::optional<bool> is_fused, const char* name, double in_steps,
                             double& bytes) {
    const std::vector<model::Layer>& layers = graph_of(m).layers;
    if (is_fused.value_or(!m.stack->norms_in_steps) ||
        std::none_of(layers.begin(), layers.end(), [&](const model::Layer& layer) { return layer.kind == kind; }))
      return;
    bytes = in_steps;
    m.assume(name, in_steps, in_steps_reason(m, is_fused));
  };
  set_bytes(model::LayerKind::rms_norm, m.job.fused_norms, kRmsNormBytes, kRmsNormInSteps, compute.rms_norm_bytes);
  set_bytes(model::LayerKind::rotary, m.job.fused_rotary, kRotaryBytes, kRotaryInSteps, compute.rotary_bytes);
}

// Whether the job computes its loss in chunks. Such a loss is fused, so a job that forbids fusion is refused.
bool has_chunked_loss(const StackModel& m) {
  const bool is_chunked = m.job.chunked_loss.value_or(false);
  if (is_chunked && m.job.fused_loss && !*m.job.fused_loss)
    throw InputError(
        "fused_loss: a loss in chunks is fused; allowed: without --no-fused-loss, or without --chunked-loss");
  return is_chunked;
}

// Sets the costs of a vocabulary's scores that are not FLOP: the loss in single precision, and unaligned GEMMs.
void set_vocabulary_costs(StackModel& m, ComputeSpec& compute) {
  const int element_bytes = activation_bytes(m.precision);
  compute.chunks_loss = has_chunked_loss(m);
  if (!compute.chunks_loss && !m.job.fused_loss.value_or(m.stack->fused_loss)) {
    compute.loss_bytes_per_logit = float_loss_bytes(element_bytes);
    m.assume(kLossBytes, compute.loss_bytes_per_logit,
             "in single precision, " + (m.job.fused_loss ? "as given" : "by " + m.stack->name));
  }
  const bool is_on_tensor_cores = m.precision != Precision::fp32;
  const int row_bytes = alignment_bytes_of(graph_of(m), element_bytes);
  if (m.stack->pads_vocabulary || row_bytes == 16 || !is_on_tensor_cores) return;
  const UnalignedShares shares = unaligned_shares(*m.gpu);
  compute.unaligned_2_efficiency = shares.on_2_bytes;
  compute.unaligned_4_efficiency = shares.on_4_bytes;
  m.assume(kUnalignedProducts, row_bytes == 2 ? shares.on_2_bytes : shares.on_4_bytes, shares.why);
}

// Autocast runs GEMMs in half precision but keeps residual sums and norms in single precision. A compiler fuses the
// casts.
void set_autocast_bytes(StackModel& m, ComputeSpec& compute) {
  const bool is_autocast = m.stack->keeping == StateKeeping::autocast && !m.stack->fused_loss;
  if (!is_autocast || compute.half_parameters || activation_bytes(m.precision) != 2) return;
  compute.sum_bytes = 4;
  m.assume(kSumBytes, compute.sum_bytes, "sums and norms in single precision, by autocast of " + m.stack->name);
  if (has_fused_attention(m) || attention_of(graph_of(m)) == nullptr) return;
  compute.softmax_bytes = 4;
  m.assume(kSoftmaxBytes, compute.softmax_bytes, "in single precision, by autocast of " + m.stack->name);
}

}  // namespace

bool has_fused_attention(const StackModel& m) {
  const bool has_kernel = m.gpu == nullptr || m.gpu->compute_capability >= m.stack->fused_attention_capability;
  if (m.job.fused_attention.value_or(false) && !has_kernel)
    throw InputError(
        "fused_attention: " + m.stack->name + " has no fused attention for " + m.gpu->name + "; leave it out" +
        (m.gpu->compute_capability >= kAnyFusedAttention ? ", or name other software, such as pytorch" : ""));
  return m.job.fused_attention.value_or(m.stack->fused_attention && has_kernel);
}

void set_sequence_kernels(StackModel& m, ComputeSpec& compute) {
  if (m.stack->fused_attention && !m.job.fused_attention && !has_fused_attention(m))
    m.assume("fused attention", "none", m.stack->name + " has no kernels of it for " + m.gpu->name);
  if (has_fused_attention(m)) {
    const AttentionSpeed attention = attention_speed(m);
    compute.attention_efficiency = attention.over_law;
    m.assume(kFusedAttention, attention.over_law, attention.why);
  }
  set_vocabulary_costs(m, compute);
  set_gelu_bytes(m, compute);
  set_norm_bytes(m, compute);
  set_autocast_bytes(m, compute);
  if (has_experts(m))
    compute.expert_efficiency = m.constant({"speed of experts/" + m.gpu->generation, "speed of experts"});
}

}  // namespace stack
}  // namespace lockstep::sim
