#pragma once
// Learning-rate schedules: gamma of every iteration t = 0, 1, ...
//
//   constant     gamma(t) = base
//   steps        gamma(t) = base * factor^(number of boundaries <= t)          Crossbow's ResNet-50: epochs 30 and 60
//   polynomial   gamma(t) = end + (base - end) (1 - u)^power, u = (t - begin) / (finish - begin) clamped to [0, 1]
//                power 1 anneals linearly from `begin` on: the MNIST runs of Chen et al. 2016, appendix A.1
//   cosine       gamma(t) = end + (base - end) (1 + cos(pi u)) / 2, the same u (Loshchilov & Hutter 2017, no restarts)
//
// A linear warm-up (Goyal et al. 2017) may come first. In iterations t < warmup the rate is
//   warmup_start + (base - warmup_start) (t + 1) / warmup
// So its last iteration has the base rate. The schedule itself counts from t = 0.
#include <cstdint>
#include <vector>

namespace lockstep::sync {

struct LearningRate {
  enum class Kind { kConstant, kSteps, kPolynomial, kCosine };
  Kind kind = Kind::kConstant;
  double base = 0.1;

  std::vector<std::int64_t> boundaries;  ///< steps: rising iterations
  double factor = 0.1;                   ///< steps

  std::int64_t begin = 0;   ///< polynomial, cosine: the base rate applies before it
  std::int64_t finish = 1;  ///< polynomial, cosine: the end rate applies from here on
  double end = 0;           ///< polynomial, cosine
  double power = 1;         ///< polynomial

  std::int64_t warmup = 0;  ///< iterations; 0: none
  double warmup_start = 0;
};

/// Throws std::invalid_argument if base <= 0, boundaries do not rise, factor or power <= 0, finish <= begin, or if the
/// end, the warm-up or its start is negative.
void check(const LearningRate& schedule);

/// gamma(t), t >= 0, of a schedule that passed check().
double learning_rate(const LearningRate& schedule, std::int64_t t);

}  // namespace lockstep::sync
