#include "sim/loss/batch_ramp.hpp"

#include <algorithm>

namespace lockstep::sim::loss {
namespace {

double updates_lost(const LossLaw& law, double minimal) {
  return minimal > 0 ? minimal / critical_batch(law, minimal) : 0;
}

// Walks through the stages: D_min and D at the start of the current one.
struct Progress {
  double minimal = 0, tokens = 0;
};

double tokens_at(const LossLaw& law, const Progress& from, double batch, double minimal) {
  return from.tokens + (minimal - from.minimal) +
         batch * (updates_lost(law, minimal) - updates_lost(law, from.minimal));
}

// Solves tokens_at() = tokens by bisection; the left side rises by at least 1 with each token of D_min.
double minimal_at(const LossLaw& law, const Progress& from, double batch, double tokens) {
  double low = from.minimal, high = from.minimal + (tokens - from.tokens);
  for (int step = 0; step < 200 && high - low > 1e-15 * high; ++step) {
    const double middle = low + (high - low) / 2;
    (tokens_at(law, from, batch, middle) < tokens ? low : high) = middle;
  }
  return high;
}

}  // namespace

double tokens_of_ramp(const LossLaw& law, const std::vector<BatchStageTokens>& stages, double last_batch,
                      double minimal) {
  Progress progress;
  for (const BatchStageTokens& stage : stages) {
    const double end = minimal_at(law, progress, stage.batch_tokens, stage.until_tokens);
    if (end >= minimal) return tokens_at(law, progress, stage.batch_tokens, minimal);
    progress = {end, stage.until_tokens};
  }
  return tokens_at(law, progress, last_batch, minimal);
}

double minimal_tokens_of_ramp(const LossLaw& law, const std::vector<BatchStageTokens>& stages, double last_batch,
                              double tokens) {
  Progress progress;
  for (const BatchStageTokens& stage : stages) {
    if (stage.until_tokens >= tokens) return minimal_at(law, progress, stage.batch_tokens, tokens);
    progress = {minimal_at(law, progress, stage.batch_tokens, stage.until_tokens), stage.until_tokens};
  }
  return minimal_at(law, progress, last_batch, tokens);
}

double equivalent_batch(const LossLaw& law, double minimal, double tokens) {
  return std::max(0.0, (tokens / minimal - 1) * critical_batch(law, minimal));
}

}  // namespace lockstep::sim::loss
