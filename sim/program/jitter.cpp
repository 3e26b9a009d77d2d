#include "sim/program/jitter.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"

namespace lockstep::sim::program {

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
