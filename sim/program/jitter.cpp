#include "sim/program/jitter.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/index.hpp"
#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"

namespace lockstep::sim::program {
namespace {

constexpr std::size_t kMostCached = 4'000'000;   // factors, 32 MB
constexpr std::size_t kMostCachedGpus = 65'536;  // a row of more is drawn anew: it would leave no room for others

}  // namespace

Jitter jitter_of(const Scenario& scenario, std::uint64_t seed) {
  const double variation = scenario.compute.jitter_variation;
  switch (scenario.compute.jitter) {
    case JitterKind::none:
      break;
    case JitterKind::normal:
      return [=](int gpu, int iteration) { return std::max(0.0, 1 + variation * random_normal(seed, gpu, iteration)); };
    case JitterKind::lognormal: {
      // The mean is 1, with the given standard deviation: sigma^2 = ln(1 + cv^2), mu = -sigma^2 / 2.
      const double sigma = std::sqrt(std::log1p(variation * variation));
      return [=](int gpu, int iteration) {
        return std::exp(sigma * random_normal(seed, gpu, iteration) - sigma * sigma / 2);
      };
    }
  }
  return [](int, int) { return 1.0; };
}

JitterCache::Row JitterCache::row(const Scenario& scenario, std::uint64_t seed, int gpus, int iteration) {
  const Key key{scenario.compute.jitter, scenario.compute.jitter_variation, seed, gpus, iteration};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = rows_.find(key); known != rows_.end()) return known->second;
  }
  const Jitter jitter = jitter_of(scenario, seed);
  auto drawn = std::make_shared<std::vector<double>>();
  drawn->reserve(to_index(gpus));
  for (int gpu = 0; gpu < gpus; ++gpu) drawn->push_back(jitter(gpu, iteration));
  const std::lock_guard lock(mutex_);
  if (size_ + drawn->size() > kMostCached) {
    rows_.clear();
    size_ = 0;
  }
  if (rows_.try_emplace(key, drawn).second) size_ += drawn->size();
  return drawn;
}

Jitter jitter_of(const Scenario& scenario, std::uint64_t seed, int gpus, JitterCache& cache) {
  if (scenario.compute.jitter == JitterKind::none || to_index(gpus) > kMostCachedGpus) return jitter_of(scenario, seed);
  return [&scenario, &cache, seed, gpus, row = JitterCache::Row(), drawn = -1](int gpu, int iteration) mutable {
    if (iteration != drawn) {
      row = cache.row(scenario, seed, gpus, iteration);
      drawn = iteration;
    }
    return (*row)[to_index(gpu)];
  };
}

double expected_slowest(const Scenario& scenario, int gpus) {
  if (scenario.compute.jitter == JitterKind::none) return 1;
  const double variation = scenario.compute.jitter_variation, most = expected_normal_maximum(gpus);
  if (scenario.compute.jitter == JitterKind::normal) return 1 + variation * most;
  const double sigma = std::sqrt(std::log1p(variation * variation));
  // One GPU has the mean factor, not the median. The slowest of several GPUs is never faster than that.
  return std::max(1.0, std::exp(sigma * most - sigma * sigma / 2));
}

Jitter workers_only(Jitter jitter, int workers) {
  return [jitter = std::move(jitter), workers](int gpu, int iteration) {
    return gpu < workers ? jitter(gpu, iteration) : 0.0;
  };
}

}  // namespace lockstep::sim::program
