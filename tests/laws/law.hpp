#pragma once
// Laws that every answer obeys, checked on random jobs. A law compares answers to jobs that differ in one fact.
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/laws/random_job.hpp"

namespace lockstep::tests {

/// Relative amount by which a case breaks its law. At or below 0 it keeps the law.
struct Compared {
  double beyond = 0;
  std::vector<std::string> commands;  ///< commands that show it
};

/// None: the law does not apply to the drawn job.
using Case = std::optional<Compared>;

struct Law {
  std::string name;
  double tolerance;
  std::function<Case(Draws& draws)> compare;  ///< throws InputError if the drawn job is refused
  int slowness = 1;                           ///< only one of this number of cases is tried
};

const std::vector<Law>& laws_of_replicas();
const std::vector<Law>& laws_of_splits();
const std::vector<Law>& laws_of_intervals();
const std::vector<Law>& laws_of_all_reduces();
const std::vector<Law>& laws_of_machines();
const std::vector<Law>& laws_of_plans();

struct LawResult {
  int cases = 0, violations = 0;
  Compared worst;
};
LawResult hold(const Law& law, int cases, unsigned seed);

/// Returns the relative difference.
inline double apart(double a, double b) {
  return std::abs(a / b - 1);
}

/// The second job may be no slower than the first.
inline Case no_slower(const CommandJob& first, const CommandJob& second) {
  return Compared{answer(first).samples_per_s / answer(second).samples_per_s - 1, {first.command(), second.command()}};
}

/// Compares with the same job on a network of twice the rate, if it has a network.
inline Case on_faster_network(const CommandJob& job) {
  if (job.value("--gpus") == job.value("--gpus-per-node")) return std::nullopt;
  CommandJob faster = job;
  faster.give("--network", *with_double_rate(job.value("--network")));
  return no_slower(job, faster);
}

/// Compares the job in one of its GPU's precisions with that in the next lower one. Measured kernels may be slower in
/// the lower precision: 8 and 4 bits need scales and quantisation, which cost small matrices more than they save. The
/// job is then slower by no more than the pass of a layer that slows most, since messages take as long.
inline Case in_lower_precision(CommandJob job, Draws& draws) {
  const std::vector<std::string> precisions = precisions_of(job.value("--gpu"));
  if (precisions.size() < 2) return std::nullopt;
  std::vector<std::size_t> places(precisions.size() - 1);
  std::iota(places.begin(), places.end(), std::size_t{0});
  const std::size_t at = draws.of(places);
  CommandJob lower = job.give("--precision", precisions[at]);
  lower.give("--precision", precisions[at + 1]);
  Case compared = no_slower(job, lower);
  if (compared->beyond > 0.005) compared->beyond -= slowdown_by_kernels(job, lower);
  return compared;
}

}  // namespace lockstep::tests
