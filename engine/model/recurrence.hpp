#pragma once
// A layer that carries a state from token to token instead of attention: Mamba, Mamba-2, the gated delta rule,
// lightning attention. Each of H heads keeps a matrix of N rows (features of a key) and P columns (features of a
// value).
//
// The input and output projections are separate layers. This layer reads one vector per token, the output of the input
// projection, in the frameworks' order. G is the number of groups of keys (B in Mamba's papers) and queries (C). R is
// the rank of the step (dt).
//
//   per_channel  Mamba (Gu & Dao 2023, arXiv:2312.00752): values and gate, 2 H P. A short convolution of the values, a
//                matrix to steps and keys (H P x (R + 2 N)), one from R to the steps (R x H P, with bias), the scan,
//                the gate
//   per_head     Mamba-2 (Dao & Gu 2024, arXiv:2405.21060): gate and values, keys and queries of G groups, a step for
//                each head: 2 H P + 2 G N + H. A short convolution of all but gate and steps, the scan in chunks, a
//                gated norm
//   delta        gated delta rule (Yang et al. 2024, arXiv:2412.06464): queries and keys of G groups, values and gate,
//                two scalars for each head: 2 G N + 2 H P + 2 H. A short convolution, the scan in chunks, a gated norm
//                of a head
//   fixed        lightning attention (Qin et al. 2024, arXiv:2405.17381): queries, keys, values and gate,
//                2 H N + 2 H P; decays that are not learned, a norm, the gate
//
// Multiply-adds per token are 7/2 H P N for Mamba and Mamba-2, 4 H P N for the delta rule (Megatron-LM, training.py),
// and 2 H P N for fixed decays, where each element of the state is written and read once. Inner projections and the
// convolution are added to that.
#include <cstdint>

#include "engine/base/choice.hpp"

namespace lockstep::model {

enum class RecurrenceRule { per_channel, per_head, delta, fixed };

inline const Choices<RecurrenceRule>& choices_of(RecurrenceRule) {
  static const Choices<RecurrenceRule> all{{RecurrenceRule::per_channel, "per_channel"},
                                           {RecurrenceRule::per_head, "per_head"},
                                           {RecurrenceRule::delta, "delta"},
                                           {RecurrenceRule::fixed, "fixed"}};
  return all;
}

struct RecurrenceShape {
  RecurrenceRule rule = RecurrenceRule::per_head;
  int heads = 0;     ///< H; for per_channel the number of channels
  int head_dim = 1;  ///< P: columns of a head's state, features of a value
  int state = 0;     ///< N: rows of a head's state, features of a key
  int groups = 1;    ///< G: H / G heads share keys and queries (fixed: every head has its own)
  int taps = 0;      ///< width of the convolution in tokens; 0: no convolution
  bool taps_bias = false;
  int chunk = 256;           ///< tokens that are computed together
  int step_rank = 0;         ///< R, per_channel
  bool inner_norms = false;  ///< per_channel: learned norms of steps, keys and queries (Jamba)
  bool operator==(const RecurrenceShape& o) const;

  std::int64_t value_width() const { return std::int64_t{heads} * head_dim; }
  std::int64_t key_width() const;    ///< G N; for fixed H N
  std::int64_t input_width() const;  ///< of the vector that the layer reads
  std::int64_t convolved_width() const;
  std::int64_t state_elements() const { return value_width() * state; }
};

struct RecurrenceParameters {
  std::int64_t split = 0;   ///< divided among tensor ranks, with their heads or channels
  std::int64_t shared = 0;  ///< on every tensor rank: norms over a head, or over steps, keys and queries
  std::int64_t total() const { return split + shared; }
};
/// Counts the layer's learnable parameters, without the input and output projections.
RecurrenceParameters recurrence_parameters(const RecurrenceShape& shape);
/// Counts the multiply-adds of one token.
std::int64_t count_recurrence_macs(const RecurrenceShape& shape);

}  // namespace lockstep::model
