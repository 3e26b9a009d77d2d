#pragma once
// The choices that a scenario has. Other files have the training algorithms (engine/sync/algorithm.hpp), the optimizers
// (engine/model/optimizer.hpp), and NCCL's choices and GPU generations (sim/collective/nccl_choices.hpp and
// nccl_generations.hpp).
#include "engine/base/choice.hpp"
#include "engine/model/optimizer.hpp"
#include "engine/sync/algorithm.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

using model::Optimizer;

/// The fidelity of a point's replay (replay.hpp).
enum class Fidelity { message, fast, analytic };

inline const Choices<Fidelity>& choices_of(Fidelity) {
  static const Choices<Fidelity> all{
      {Fidelity::message, "message"}, {Fidelity::fast, "fast"}, {Fidelity::analytic, "analytic"}};
  return all;
}

/// The arithmetic of the layers.
///   `mixed`: The tensor cores' half precision (fp16 or bf16) with single-precision weights.
///   `fp8`: The same, with GEMMs with weights in eight bits (Micikevicius et al. 2022, "FP8 formats for deep
///   learning"). Attention, convolutions and the output layer stay in half precision, as in Transformer Engine.
///   `fp4`: The same with four bits (NVFP4: NVIDIA 2025, "Pretraining large language models with NVFP4", arXiv
///   2509.25149). Some blocks stay in more bits, see scenario_cost.hpp.
enum class Precision { fp32, tf32, fp16, bf16, mixed, fp8, fp4 };

inline const Choices<Precision>& choices_of(Precision) {
  static const Choices<Precision> all{{Precision::fp32, "fp32"}, {Precision::tf32, "tf32"},   {Precision::fp16, "fp16"},
                                      {Precision::bf16, "bf16"}, {Precision::mixed, "mixed"}, {Precision::fp8, "fp8"},
                                      {Precision::fp4, "fp4"}};
  return all;
}

/// Returns the bytes of an activation, which are also those of its gradient.
inline int activation_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

/// The type in which gradients are sent.
enum class Wire { fp32, fp16 };

inline const Choices<Wire>& choices_of(Wire) {
  static const Choices<Wire> all{{Wire::fp32, "fp32"}, {Wire::fp16, "fp16"}};
  return all;
}

inline int bytes_of(Wire wire) {
  return wire == Wire::fp16 ? 2 : 4;
}

/// sim/collective/collectives.hpp describes each.
enum class AllReduceKind {
  ring,
  hierarchical,
  hybrid,
  halving_doubling,
  double_binary_tree,
  tree,
  torus,
  nccl,            ///< as NCCL would choose
  profile,         ///< as a profile has measured its all-reduces
  profile_average  ///< likewise, but measured as averages
};

inline const Choices<AllReduceKind>& choices_of(AllReduceKind) {
  static const Choices<AllReduceKind> all{{AllReduceKind::ring, "ring"},
                                          {AllReduceKind::hierarchical, "hierarchical"},
                                          {AllReduceKind::hybrid, "hybrid"},
                                          {AllReduceKind::halving_doubling, "halving-doubling"},
                                          {AllReduceKind::double_binary_tree, "double-binary-tree"},
                                          {AllReduceKind::tree, "tree"},
                                          {AllReduceKind::torus, "torus"},
                                          {AllReduceKind::nccl, "nccl"},
                                          {AllReduceKind::profile, "profile"},
                                          {AllReduceKind::profile_average, "profile-average"}};
  return all;
}

/// The distribution of compute times over GPUs and iterations.
enum class JitterKind { none, normal, lognormal };

inline const Choices<JitterKind>& choices_of(JitterKind) {
  static const Choices<JitterKind> all{
      {JitterKind::none, "none"}, {JitterKind::normal, "normal"}, {JitterKind::lognormal, "lognormal"}};
  return all;
}

/// The exchange of fully-connected layers' gradients with the algorithm "parameter-server".
enum class ServerScheme { server, factors, best, adam, one_bit };

inline const Choices<ServerScheme>& choices_of(ServerScheme) {
  static const Choices<ServerScheme> all{{ServerScheme::server, "server"},
                                         {ServerScheme::factors, "factors"},
                                         {ServerScheme::best, "best"},
                                         {ServerScheme::adam, "adam"},
                                         {ServerScheme::one_bit, "one-bit"}};
  return all;
}

/// Exchanges of Theano-MPI (sim/schedule/theano_mpi.hpp).
enum class ParameterExchange { ar, asa, asa16 };

inline const Choices<ParameterExchange>& choices_of(ParameterExchange) {
  static const Choices<ParameterExchange> all{
      {ParameterExchange::ar, "ar"}, {ParameterExchange::asa, "asa"}, {ParameterExchange::asa16, "asa16"}};
  return all;
}

/// The quantity of a scenario's published result; values are in SI units.
enum class PublishedMetric { scaling_efficiency, time_to_accuracy, samples_per_s, iteration, throughput_gain };

inline const Choices<PublishedMetric>& choices_of(PublishedMetric) {
  static const Choices<PublishedMetric> all{{PublishedMetric::scaling_efficiency, "scaling_efficiency"},
                                            {PublishedMetric::time_to_accuracy, "time_to_accuracy"},
                                            {PublishedMetric::samples_per_s, "samples_per_s"},
                                            {PublishedMetric::iteration, "iteration"},
                                            {PublishedMetric::throughput_gain, "throughput_gain"}};
  return all;
}

}  // namespace lockstep::sim::scenario
