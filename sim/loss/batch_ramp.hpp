#pragma once
// Tokens of a training whose batch changes on the way, by a law of the loss (loss_law.hpp).
//
// At a constant batch B, D = D_min (1 + B / B_crit(D_min)). Its derivative dD/dD_min = 1 + B d(D_min / B_crit)/dD_min
// holds at every moment of a training with another batch in each stage:
//   `D = sum over stages of (m_end - m_begin) + B (m_end / B_crit(m_end) - m_begin / B_crit(m_begin))`
// with m the D_min that the training has reached.
#include <vector>

#include "sim/loss/loss_law.hpp"

namespace lockstep::sim::loss {

/// A stage of a training that ends after `until_tokens` tokens of the whole training.
struct BatchStageTokens {
  double until_tokens = 0;
  double batch_tokens = 0;
};

/// Returns the tokens D of a training that has reached `minimal` = D_min. Its batch grows by `stages`, in ascending
/// order, and is `last_batch` after them.
double tokens_of_ramp(const LossLaw& law, const std::vector<BatchStageTokens>& stages, double last_batch,
                      double minimal);
/// The inverse of tokens_of_ramp(): returns D_min after `tokens` tokens.
double minimal_tokens_of_ramp(const LossLaw& law, const std::vector<BatchStageTokens>& stages, double last_batch,
                              double tokens);

/// Returns the constant batch at which `tokens` tokens give the same D_min, and so the same loss. 0: a small batch.
double equivalent_batch(const LossLaw& law, double minimal, double tokens);

}  // namespace lockstep::sim::loss
