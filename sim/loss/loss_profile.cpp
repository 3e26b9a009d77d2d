#include "sim/loss/loss_profile.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/json.hpp"
#include "engine/base/student_t.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::sim::loss {
namespace {

constexpr double kMostCriticalBatches = 16;  // with larger batches, steps hardly decrease, and nobody has trained so
constexpr double kOpenReach = 1.4;           // ln 4, if the interval's upper end is out of reach

std::string least_loss_text(const LossLaw& law, const LossModel& model) {
  return format_count(model.parameters.middle) + " parameters reach " +
         short_number(least_loss(law, model.parameters.middle)) + " with endless data by the law " + law.id;
}

/// Returns half of the interval of ln D_min at `coverage`: the larger of its two sides, including the bounds of N.
double log_reach(const LossLaw& law, const LossModel& model, double loss) {
  const BoundedValue tokens = predict_tokens(law, model.parameters.middle, loss, 0, kLossCoverage);
  const double fewest = predict_tokens(law, model.parameters.high, loss, 0, kLossCoverage).low;
  const double most = predict_tokens(law, model.parameters.low, loss, 0, kLossCoverage).high;
  const double below = std::log(tokens.middle / fewest);
  const double above = std::isinf(most) ? kOpenReach : std::log(most / tokens.middle);
  return std::max(below, above);
}

}  // namespace

std::string loss_target_name(double loss) {
  return "loss " + short_number(loss);
}

double untrained_loss(const LossModel& model) {
  return std::log(model.vocabulary);
}

std::string untrained_loss_text(const LossModel& model) {
  return formatted("%.2f", untrained_loss(model)) + " nats, the loss of an untrained model with a vocabulary of " +
         with_thousands(model.vocabulary);
}

convergence::ConvergenceProfile profile_to_loss(const LossLaw& law, const LossModel& model, double loss) {
  const double minimal = minimal_tokens_to(law, model.parameters.middle, loss);
  if (std::isinf(minimal))
    throw InputError("--loss " + short_number(loss) + ": " + least_loss_text(law, model) +
                     "; allowed: a higher loss, a larger model or another --loss-law");
  if (loss >= untrained_loss(model))
    throw InputError("--loss " + short_number(loss) + ": is not below " + untrained_loss_text(model) +
                     "; allowed: a lower loss");
  const double critical = critical_batch(law, minimal);
  convergence::ConvergenceFit fit;
  fit.algorithm = Algorithm::s_sgd;
  fit.variable = "batch";
  fit.from_x = 1;
  fit.to_x = std::max(2.0, kMostCriticalBatches * critical / model.sequence_tokens);
  fit.law.kind = convergence::LawKind::saturating;
  fit.law.degrees = law.degrees;
  fit.law.parameters = {std::log(minimal / critical), std::log(minimal / model.sequence_tokens)};
  // ln D_min has variance v, and ln B_crit is its own part plus the exponent times ln D_min.
  const double deviation = log_reach(law, model, loss) / student_t_quantile(0.5 + 0.5 * kLossCoverage, law.degrees);
  const double v = deviation * deviation, own = law.covariance(kLogCritical, kLogCritical);
  const double kept = 1 - law.parameters[kCriticalExponent];
  fit.law.covariance << kept * kept * v + own, kept * v, kept * v, v;
  convergence::ConvergenceProfile profile;
  profile.name = model.id + " to " + loss_target_name(loss);
  profile.model = model.id;
  profile.data = law.data;
  profile.train_samples = std::max(1.0, minimal / model.sequence_tokens);
  profile.kind = "published";
  profile.source = law.name + ": " + law.source;
  for (const std::string& note : beyond_range(law, model.parameters.middle, minimal)) profile.source += "; " + note;
  profile.coverage = kLossCoverage;
  profile.targets.push_back({loss_target_name(loss), 0, loss});
  profile.fits.push_back(fit);
  return profile;
}

BoundedValue predict_loss(const LossLaw& law, const LossModel& model, double tokens, double batch_tokens,
                          double coverage) {
  BoundedValue estimate = predict_loss(law, model.parameters.middle, tokens, batch_tokens, coverage);
  estimate.low = predict_loss(law, model.parameters.high, tokens, batch_tokens, coverage).low;
  estimate.high = predict_loss(law, model.parameters.low, tokens, batch_tokens, coverage).high;
  return estimate;
}

}  // namespace lockstep::sim::loss
