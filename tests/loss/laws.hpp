#pragma once
// A law with round numbers, and runs that follow it.
#include <cmath>
#include <vector>

#include "engine/base/random.hpp"
#include "sim/loss/loss_law.hpp"
#include "sim/loss/loss_points.hpp"

namespace lockstep::sim::tests {

/// L = 2 + 400 / N^0.3 + 1000 / D^0.3, a critical batch of 2e6 tokens at D = 1e10 that grows as D^0.4.
inline LossLaw simple_law() {
  LossLaw law;
  law.id = "simple";
  law.name = "a law of round numbers";
  law.kind = "published";
  law.source = "tests";
  law.data = "no text";
  law.critical_source = "tests";
  law.parameters << std::log(2.0), std::log(400 / std::pow(1e9, 0.3)), std::log(1000 / std::pow(1e10, 0.3)), 0.3, 0.3,
      std::log(2e6), 0.4;
  law.spread = 0.004;
  law.parameter_range = {1e8, 1e10};
  law.token_range = {1e9, 1e12};
  return law;
}

/// Returns runs of five sizes with four numbers of tokens each, at the given batches, scattered by `spread`.
inline std::vector<LossPoint> runs_of(const LossLaw& law, double spread, const std::vector<double>& batches,
                                      std::uint64_t seed) {
  std::vector<LossPoint> points;
  std::uint64_t draw = 0;
  for (const double parameters : {2e8, 5e8, 1e9, 3e9, 8e9})
    for (const double tokens : {5e9, 2e10, 8e10, 3e11})
      for (const double batch : batches)
        points.push_back({parameters, tokens, batch,
                          loss_of(law, parameters, tokens, batch) * std::exp(spread * random_normal(seed, 3, draw++))});
  return points;
}

}  // namespace lockstep::sim::tests
