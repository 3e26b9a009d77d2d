#include "sim/scenario/same_parts.hpp"

#include <algorithm>
#include <tuple>

namespace lockstep::sim::scenario {
namespace {

// Each structure is decomposed into all of its members. A new member does not compile until it is compared here, too.

bool is_same(const RateSpec& a, const RateSpec& b) {
  const auto& [batch, samples_per_s, model] = a;
  return std::tie(batch, samples_per_s, model) == std::tie(b.batch, b.samples_per_s, b.model);
}

bool is_same(const EfficiencySpec& a, const EfficiencySpec& b) {
  const auto& [flop, efficiency] = a;
  return std::tie(flop, efficiency) == std::tie(b.flop, b.efficiency);
}

bool is_same(const KernelsSpec& a, const KernelsSpec& b) {
  const auto& [gpus, laws, speed, half_speed] = a;
  return std::tie(gpus, laws, speed, half_speed) == std::tie(b.gpus, b.laws, b.speed, b.half_speed);
}

bool is_same(const model::KeptPrecisions& a, const model::KeptPrecisions& b) {
  const auto& [state, master] = a;
  return std::tie(state, master) == std::tie(b.state, b.master);
}

// `layers` follow from the profile, the model and the precision.
bool is_same(const ProfileSpec& a, const ProfileSpec& b) {
  const auto& [profile, model, precision, input, layers] = a;
  return std::tie(profile, model, precision, input) == std::tie(b.profile, b.model, b.precision, b.input) &&
         layers == b.layers;
}

bool is_same(const DdpSpec& a, const DdpSpec& b) {
  const auto& [bucket_cap_bytes, first_bucket_bytes] = a;
  return std::tie(bucket_cap_bytes, first_bucket_bytes) == std::tie(b.bucket_cap_bytes, b.first_bucket_bytes);
}

bool is_same(const NcclGraphSpec& a, const NcclGraphSpec& b) {
  const auto& [channels, intra_bytes_per_s, inter_bytes_per_s] = a;
  return std::tie(channels, intra_bytes_per_s, inter_bytes_per_s) ==
         std::tie(b.channels, b.intra_bytes_per_s, b.inter_bytes_per_s);
}

bool is_same(const NcclSpec::BetweenNodes& a, const NcclSpec::BetweenNodes& b) {
  const auto& [nodes, bytes, seconds] = a;
  return std::tie(nodes, bytes, seconds) == std::tie(b.nodes, b.bytes, b.seconds);
}

template <class T>
bool are_same(const T& a, const T& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return is_same(x, y); });
}

bool are_same(const std::optional<NcclGraphSpec>& a, const std::optional<NcclGraphSpec>& b) {
  return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
}

bool is_same(const NcclSpec& a, const NcclSpec& b) {
  const auto& [generation, has_amd_cpu, nic_latency_s, algorithm, protocol, in_switch, all_to_all_share, ring, tree,
               nvls, profile, measured, measured_ranks, measured_between_nodes] = a;
  return std::tie(generation, has_amd_cpu, nic_latency_s, algorithm, protocol, in_switch, all_to_all_share, profile,
                  measured, measured_ranks) == std::tie(b.generation, b.has_amd_cpu, b.nic_latency_s, b.algorithm,
                                                        b.protocol, b.in_switch, b.all_to_all_share, b.profile,
                                                        b.measured, b.measured_ranks) &&
         are_same(ring, b.ring) && are_same(tree, b.tree) && are_same(nvls, b.nvls) &&
         are_same(measured_between_nodes, b.measured_between_nodes);
}

}  // namespace

bool is_same_compute(const ComputeSpec& a, const ComputeSpec& b) {
  const auto& [precision, rates, time_factor, launch_s, host_launch_s, compute_efficiency, attention_efficiency,
               expert_efficiency, kernels, unaligned_2_efficiency, unaligned_4_efficiency, gelu_bytes, rms_norm_bytes,
               rotary_bytes, loss_bytes_per_logit, chunks_loss, memory_efficiency, fast_convolution_gain, channel_tile,
               cast_bytes_per_parameter, recomputes_blocks, repeated_shares, sum_bytes, softmax_bytes, half_parameters,
               optimizer, kept, jitter, jitter_variation, profile, overlap_slowdown, busy_devices] = a;
  return std::tie(precision, time_factor, launch_s, host_launch_s, attention_efficiency, expert_efficiency,
                  unaligned_2_efficiency, unaligned_4_efficiency, gelu_bytes, rms_norm_bytes, rotary_bytes,
                  loss_bytes_per_logit, chunks_loss, memory_efficiency, fast_convolution_gain, channel_tile,
                  cast_bytes_per_parameter) ==
             std::tie(b.precision, b.time_factor, b.launch_s, b.host_launch_s, b.attention_efficiency,
                      b.expert_efficiency, b.unaligned_2_efficiency, b.unaligned_4_efficiency, b.gelu_bytes,
                      b.rms_norm_bytes, b.rotary_bytes, b.loss_bytes_per_logit, b.chunks_loss, b.memory_efficiency,
                      b.fast_convolution_gain, b.channel_tile, b.cast_bytes_per_parameter) &&
         std::tie(recomputes_blocks, repeated_shares, sum_bytes, softmax_bytes, half_parameters, optimizer, jitter,
                  jitter_variation, overlap_slowdown, busy_devices) ==
             std::tie(b.recomputes_blocks, b.repeated_shares, b.sum_bytes, b.softmax_bytes, b.half_parameters,
                      b.optimizer, b.jitter, b.jitter_variation, b.overlap_slowdown, b.busy_devices) &&
         are_same(rates, b.rates) && are_same(compute_efficiency, b.compute_efficiency) &&
         is_same(kernels, b.kernels) && is_same(kept, b.kept) && is_same(profile, b.profile);
}

bool is_same_communication(const CommunicationSpec& a, const CommunicationSpec& b) {
  const auto& [all_reduce, group_size, chain_slices, hybrid_threshold_bytes, torus_columns, tree_slices, wire,
               fusion_threshold_bytes, fuses_as_ddp, ddp, accumulation, overlap, message_overhead_s, launch_overhead_s,
               nccl, profile, library, reduction_rate_bytes_per_s, bucket_copy_bytes_per_s] = a;
  return std::tie(all_reduce, group_size, chain_slices, hybrid_threshold_bytes, torus_columns, tree_slices, wire,
                  fusion_threshold_bytes, fuses_as_ddp, accumulation, overlap, message_overhead_s, launch_overhead_s) ==
             std::tie(b.all_reduce, b.group_size, b.chain_slices, b.hybrid_threshold_bytes, b.torus_columns,
                      b.tree_slices, b.wire, b.fusion_threshold_bytes, b.fuses_as_ddp, b.accumulation, b.overlap,
                      b.message_overhead_s, b.launch_overhead_s) &&
         std::tie(profile, library, reduction_rate_bytes_per_s, bucket_copy_bytes_per_s) ==
             std::tie(b.profile, b.library, b.reduction_rate_bytes_per_s, b.bucket_copy_bytes_per_s) &&
         is_same(ddp, b.ddp) && is_same(nccl, b.nccl);
}

}  // namespace lockstep::sim::scenario
