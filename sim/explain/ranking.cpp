#include "sim/explain/ranking.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/statistics.hpp"

namespace lockstep::sim::explain {
namespace {

// A cause, represented by its likeliest variant.
struct ScoredCause {
  const CandidateCause* candidate = nullptr;
  const VariantTimes* variant = nullptr;
  double prior = 0, log_likelihood = 0;
  std::vector<double> log_likelihoods;  ///< of each observation by itself
};

ScoredCause score(const CandidateCause& candidate, const std::vector<Observation>& observations) {
  std::vector<double> measured_s, weights;
  for (const Observation& one : observations) {
    measured_s.push_back(one.measured_s);
    weights.push_back(one.weight);
  }
  std::vector<double> of_variants;
  for (const VariantTimes& variant : candidate.variants)
    of_variants.push_back(log_likelihood(measured_s, variant.expected, weights));
  const auto likeliest = std::max_element(of_variants.begin(), of_variants.end()) - of_variants.begin();
  ScoredCause scored;
  scored.candidate = &candidate;
  scored.variant = &candidate.variants[static_cast<std::size_t>(likeliest)];
  scored.log_likelihood = log_mean(of_variants);
  for (std::size_t i = 0; i < observations.size(); ++i)
    scored.log_likelihoods.push_back(log_likelihood({measured_s[i]}, {scored.variant->expected[i]}, {1}));
  return scored;
}

// log of the mean likelihood of one observation with all causes but one, weighted by their probabilities.
double log_likelihood_of_others(const std::vector<ScoredCause>& all, const std::vector<double>& log_weights,
                                std::size_t cause, std::size_t observation) {
  std::vector<double> others, weights;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != cause) weights.push_back(log_weights[i]);
  const std::vector<double> shares = normalised(weights);
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != cause) others.push_back(std::log(shares[next++]) + all[i].log_likelihoods[observation]);
  return log_mean(others) + std::log(static_cast<double>(others.size()));
}

void add_evidence(RankedCause& cause, const std::vector<Evidence>& of_observations) {
  const auto [least, most] =
      std::minmax_element(of_observations.begin(), of_observations.end(),
                          [](const Evidence& a, const Evidence& b) { return a.log_ratio < b.log_ratio; });
  if (most->log_ratio > 0) cause.most_for = *most;
  if (least->log_ratio < 0) cause.most_against = *least;
}

}  // namespace

std::vector<RankedCause> rank_causes(const std::vector<Observation>& observations,
                                     const std::vector<CandidateCause>& candidates) {
  std::vector<CauseId> ids;
  for (const CandidateCause& candidate : candidates) ids.push_back(candidate.id);
  MeasuredKinds kinds;
  for (const Observation& one : observations) (one.bytes > 0 ? kinds.has_collectives : kinds.has_trainings) = true;
  std::vector<ScoredCause> all;
  std::vector<double> log_weights;
  for (const CandidateCause& candidate : candidates) {
    all.push_back(score(candidate, observations));
    all.back().prior = prior_of(candidate.id, ids, kinds);
    const double by_statement = candidate.statement ? log_fact_factor(candidate.statement->is_present) : 0;
    log_weights.push_back(std::log(all.back().prior) + all.back().log_likelihood + by_statement);
  }
  const std::vector<double> probabilities = normalised(log_weights);
  std::vector<RankedCause> causes;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const ScoredCause& scored = all[c];
    const Cause& known = cause_of(scored.candidate->id);
    RankedCause cause;
    cause.id = known.id;
    cause.title = known.title + (scored.variant->text.empty() ? "" : " (" + scored.variant->text + ")");
    cause.prior = scored.prior;
    cause.probability = probabilities[c];
    cause.tests = known.tests;
    cause.statement = scored.candidate->statement;
    if (cause.statement)
      cause.tests.erase(std::remove_if(cause.tests.begin(), cause.tests.end(),
                                       [](const DecidingTest& test) { return test.run.find(kNcclDebug) == 0; }),
                        cause.tests.end());
    std::vector<double> errors;
    std::vector<Evidence> evidence;
    for (std::size_t i = 0; i < observations.size(); ++i) {
      const double expected_s = scored.variant->expected[i].seconds;
      errors.push_back(std::abs(std::log(observations[i].measured_s / expected_s)));
      if (all.size() > 1)
        evidence.push_back({i, expected_s - observations[i].offset_s,
                            scored.log_likelihoods[i] - log_likelihood_of_others(all, log_weights, c, i)});
    }
    cause.gain = scored.variant->gain;
    cause.median_error = median(errors);
    if (!evidence.empty()) add_evidence(cause, evidence);
    causes.push_back(cause);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const RankedCause& a, const RankedCause& b) { return a.probability > b.probability; });
  return causes;
}

}  // namespace lockstep::sim::explain
