#pragma once
// Models the variation of compute times between GPUs and iterations.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::program {

/// Factors that were drawn before, so that predictions in a loop do not draw them again. Several threads may use it.
class JitterCache {
 public:
  using Row = std::shared_ptr<const std::vector<double>>;
  /// Returns the factors of GPUs 0 .. gpus - 1 for the iteration.
  Row row(const Scenario& scenario, std::uint64_t seed, int gpus, int iteration);

 private:
  using Key = std::tuple<JitterKind, double, std::uint64_t, int, int>;
  std::mutex mutex_;
  std::map<Key, Row> rows_;
  std::size_t size_ = 0;  // factors in all rows
};

/// Returns the scenario's jitter: a factor of mean 1, drawn for (seed, gpu, iteration).
Jitter jitter_of(const Scenario& scenario, std::uint64_t seed);
/// Returns the same for GPUs below `gpus`, from the cache. Threads need a copy each.
Jitter jitter_of(const Scenario& scenario, std::uint64_t seed, int gpus, JitterCache& cache);
/// Returns the expected maximum of the factors of `gpus` GPUs.
double expected_slowest(const Scenario& scenario, int gpus);
/// Sets the factor of GPUs from number `workers` on to 0, because they compute nothing.
Jitter workers_only(Jitter jitter, int workers);

}  // namespace lockstep::sim::program
