#pragma once
// Learners without networks: gradients of a noisy quadratic, and gradients read from a table.
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/sync/learner.hpp"

namespace lockstep::sync {

/// Has the loss curvature / 2 |w - optimum|^2; gradient_i = curvature (w_i - optimum) + noise * normal(learner, step,
/// i).
class Quadratic {
 public:
  Quadratic(std::int64_t n, double curvature, double optimum, double noise = 0)
      : n_(n), curvature_(curvature), optimum_(optimum), noise_(noise) {}

  GradientFunction gradient() {
    return [this](int learner, const float* w, std::int64_t step) {
      std::vector<float>& g = buffers_[learner];
      g.resize(static_cast<std::size_t>(n_));
      for (std::int64_t i = 0; i < n_; ++i) {
        double slope = curvature_ * (w[i] - optimum_);
        if (noise_ > 0) slope += noise_ * random_normal(7, static_cast<std::uint64_t>(learner), at(step, i));
        g[static_cast<std::size_t>(i)] = static_cast<float>(slope);
      }
      return static_cast<const float*>(g.data());
    };
  }
  void set_noise(double noise) { noise_ = noise; }

 private:
  std::uint64_t at(std::int64_t step, std::int64_t i) const { return static_cast<std::uint64_t>(step * n_ + i); }

  std::int64_t n_;
  double curvature_;
  double optimum_;
  double noise_;
  std::map<int, std::vector<float>> buffers_;
};

/// One parameter. table[step][learner] is the gradient for any value of the parameter.
inline GradientFunction from_table(const std::vector<std::vector<float>>& table) {
  return [&table](int learner, const float*, std::int64_t step) {
    return &table.at(static_cast<std::size_t>(step)).at(static_cast<std::size_t>(learner));
  };
}

/// Returns the mean over the elements of (w_i - center)^2.
inline double mean_square(const std::vector<float>& w, double center) {
  double sum = 0;
  for (const float x : w) sum += (x - center) * (x - center);
  return sum / static_cast<double>(w.size());
}

}  // namespace lockstep::sync
