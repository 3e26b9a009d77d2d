#include "engine/sync/learning_rate.hpp"

#include <algorithm>
#include <cmath>

#include "engine/sync/learner.hpp"

namespace lockstep::sync {
namespace {

double step_rate(const LearningRate& schedule, std::int64_t t) {
  const auto passed = std::upper_bound(schedule.boundaries.begin(), schedule.boundaries.end(), t);
  return schedule.base * std::pow(schedule.factor, static_cast<double>(passed - schedule.boundaries.begin()));
}

/// The rate between begin and finish.
double annealed_rate(const LearningRate& schedule, std::int64_t t) {
  const double length = static_cast<double>(schedule.finish - schedule.begin);
  const double done = std::clamp(static_cast<double>(t - schedule.begin) / length, 0.0, 1.0);
  const double left = schedule.kind == LearningRate::Kind::kCosine ? (1 + std::cos(M_PI * done)) / 2
                                                                   : std::pow(1 - done, schedule.power);
  return schedule.end + (schedule.base - schedule.end) * left;
}

double warmup_rate(const LearningRate& schedule, std::int64_t t) {
  const double done = static_cast<double>(t + 1) / static_cast<double>(schedule.warmup);
  return schedule.warmup_start + (schedule.base - schedule.warmup_start) * done;
}

}  // namespace

void check(const LearningRate& schedule) {
  require(schedule.base > 0, "learning rate: the base rate must be positive");
  require(schedule.warmup >= 0 && schedule.warmup_start >= 0, "learning rate: negative warm-up");
  if (schedule.kind == LearningRate::Kind::kSteps) {
    require(schedule.factor > 0, "learning rate: the factor of a step must be positive");
    const auto not_rising = [](std::int64_t a, std::int64_t b) { return a >= b; };
    const auto& boundaries = schedule.boundaries;
    require(std::adjacent_find(boundaries.begin(), boundaries.end(), not_rising) == boundaries.end(),
            "learning rate: the boundaries of steps must rise");
  }
  if (schedule.kind == LearningRate::Kind::kPolynomial || schedule.kind == LearningRate::Kind::kCosine) {
    require(schedule.begin < schedule.finish, "learning rate: annealing must finish after it begins");
    require(schedule.power > 0 && schedule.end >= 0, "learning rate: power <= 0 or a negative end");
  }
}

double learning_rate(const LearningRate& schedule, std::int64_t t) {
  if (t < schedule.warmup) return warmup_rate(schedule, t);
  switch (schedule.kind) {
    case LearningRate::Kind::kSteps:
      return step_rate(schedule, t);
    case LearningRate::Kind::kPolynomial:
    case LearningRate::Kind::kCosine:
      return annealed_rate(schedule, t);
    case LearningRate::Kind::kConstant:
      break;
  }
  return schedule.base;
}

}  // namespace lockstep::sync
