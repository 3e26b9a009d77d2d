#include "sim/loss/loss_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/student_t.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/convergence/law.hpp"

namespace lockstep::sim::loss {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the N part of `excess`, which is (A / N^alpha + B / D_min^beta)^gamma.
double size_term(const LossLaw& law, double parameters) {
  const auto& p = law.parameters;
  return std::exp(p[kLogA] - p[kAlpha] * std::log(parameters / kReferenceParameters));
}

double token_term(const LossLaw& law, double minimal) {
  const auto& p = law.parameters;
  return std::exp(p[kLogB] - p[kBeta] * std::log(minimal / kReferenceTokens));
}

double log_loss(const LossLaw& law, double parameters, double tokens, double batch) {
  return std::log(loss_of(law, parameters, tokens, batch));
}

/// Returns the standard deviation of a function of the law, from the covariance of the law's parameters and the
/// function's gradient.
template <class Function>
double deviation_of(const LossLaw& law, const Function& function) {
  LossVector gradient = LossVector::Zero();
  LossLaw moved = law;
  for (int i = 0; i < kLossParameters; ++i) {
    if (law.covariance(i, i) == 0) continue;
    const double step = 1e-5 * std::max(1.0, std::abs(law.parameters[i]));
    moved.parameters[i] = law.parameters[i] + step;
    const double above = function(moved);
    moved.parameters[i] = law.parameters[i] - step;
    gradient[i] = (above - function(moved)) / (2 * step);
    moved.parameters[i] = law.parameters[i];
  }
  return std::sqrt(std::max(0.0, gradient.dot(law.covariance * gradient)));
}

/// Hoffmann et al. 2022, eq. 4. Gamma changes the loss, but not the place of its minimum.
double log_optimal_size(const LossLaw& law, double flops) {
  const double alpha = law.parameters[kAlpha], beta = law.parameters[kBeta];
  const double log_g =
      (std::log(alpha) + std::log(law.amplitude_a()) - std::log(beta) - std::log(law.amplitude_b())) / (alpha + beta);
  return log_g + beta / (alpha + beta) * std::log(flops / 6);
}

/// Returns the standard deviation of ln L of a new run: covariance of the parameters and spread, in quadrature.
double deviation_of_log_loss(const LossLaw& law, double parameters, double tokens, double batch) {
  const double of_parameters =
      deviation_of(law, [&](const LossLaw& moved) { return log_loss(moved, parameters, tokens, batch); });
  const auto factors_beyond = [](const Interval& range, double x) {
    return range.high == 0 ? 0 : std::max({0.0, std::log(x / range.high), std::log(range.low / x)});
  };
  const double spread =
      law.spread * (1 + factors_beyond(law.parameter_range, parameters) + factors_beyond(law.token_range, tokens));
  return std::hypot(of_parameters, spread);
}

double quantile_of(const LossLaw& law, double coverage) {
  return student_t_quantile(0.5 + 0.5 * coverage, law.degrees);
}

void note_beyond(const Interval& range, double x, const char* unit, std::vector<std::string>& notes) {
  if (range.high == 0 || range.contains(x)) return;
  const bool is_above = x > range.high;
  notes.push_back(format_count(x) + " " + unit + " are " +
                  (is_above ? formatted("%.3g", x / range.high) + " times the most"
                            : formatted("%.3g", range.low / x) + " times less than the least") +
                  " of its runs");
}

}  // namespace

double LossLaw::amplitude_a() const {
  return std::exp(parameters[kLogA] + parameters[kAlpha] * std::log(kReferenceParameters));
}

double LossLaw::amplitude_b() const {
  return std::exp(parameters[kLogB] + parameters[kBeta] * std::log(kReferenceTokens));
}

double least_loss(const LossLaw& law, double parameters) {
  return std::exp(law.parameters[kLogE]) + std::pow(size_term(law, parameters), law.gamma);
}

double critical_batch(const LossLaw& law, double minimal) {
  return std::exp(law.parameters[kLogCritical] +
                  law.parameters[kCriticalExponent] * std::log(minimal / kReferenceTokens));
}

double tokens_at_batch(const LossLaw& law, double minimal, double batch) {
  return std::isinf(minimal) ? minimal : minimal * samples_over_fewest(batch, critical_batch(law, minimal));
}

double minimal_tokens(const LossLaw& law, double tokens, double batch) {
  if (batch <= 0) return tokens;
  // D(D_min) rises if the exponent is below 1. Newton's steps in the logarithm converge from above.
  double log_minimal = std::log(tokens);
  const double exponent = law.parameters[kCriticalExponent];
  for (int step = 0; step < 100; ++step) {
    const double over = batch / critical_batch(law, std::exp(log_minimal));
    const double off = log_minimal + std::log1p(over) - std::log(tokens);
    log_minimal -= off / (1 - exponent * over / (1 + over));
    if (std::abs(off) < 1e-14) break;
  }
  return std::exp(log_minimal);
}

double loss_of(const LossLaw& law, double parameters, double tokens, double batch) {
  const double excess = size_term(law, parameters) + token_term(law, minimal_tokens(law, tokens, batch));
  return std::exp(law.parameters[kLogE]) + std::pow(excess, law.gamma);
}

double minimal_tokens_to(const LossLaw& law, double parameters, double loss) {
  const double above = loss - std::exp(law.parameters[kLogE]);
  const double term = above > 0 ? std::pow(above, 1 / law.gamma) - size_term(law, parameters) : 0;
  if (term <= 0) return kInfinity;
  return kReferenceTokens * std::exp((law.parameters[kLogB] - std::log(term)) / law.parameters[kBeta]);
}

BoundedValue predict_loss(const LossLaw& law, double parameters, double tokens, double batch, double coverage) {
  const double middle = loss_of(law, parameters, tokens, batch);
  const double reach = quantile_of(law, coverage) * deviation_of_log_loss(law, parameters, tokens, batch);
  return {middle, middle * std::exp(-reach), middle * std::exp(reach)};
}

BoundedValue predict_tokens(const LossLaw& law, double parameters, double loss, double batch, double coverage) {
  const auto tokens_to = [&](double target) {
    return tokens_at_batch(law, minimal_tokens_to(law, parameters, target), batch);
  };
  BoundedValue estimate{tokens_to(loss), 0, kInfinity};
  if (std::isinf(estimate.middle)) return estimate;
  const double reach = quantile_of(law, coverage) * deviation_of_log_loss(law, parameters, estimate.middle, batch);
  estimate.low = tokens_to(loss * std::exp(reach));
  estimate.high = tokens_to(loss * std::exp(-reach));
  return estimate;
}

std::vector<std::string> beyond_range(const LossLaw& law, double parameters, double tokens) {
  std::vector<std::string> notes;
  note_beyond(law.parameter_range, parameters, "parameters", notes);
  note_beyond(law.token_range, tokens, "tokens", notes);
  return notes;
}

ComputeOptimum optimum_of(const LossLaw& law, double flops) {
  const double log_size = log_optimal_size(law, flops);
  const double reach = quantile_of(law, kLossCoverage) *
                       deviation_of(law, [&](const LossLaw& moved) { return log_optimal_size(moved, flops); });
  ComputeOptimum optimum;
  optimum.parameters = {std::exp(log_size), std::exp(log_size - reach), std::exp(log_size + reach)};
  optimum.tokens = flops / 6 / optimum.parameters.middle;
  optimum.loss = loss_of(law, optimum.parameters.middle, optimum.tokens, 0);
  return optimum;
}

BoundedValue effective_parameters(double active, double all) {
  return {std::sqrt(active * all), active, all};
}

}  // namespace lockstep::sim::loss
