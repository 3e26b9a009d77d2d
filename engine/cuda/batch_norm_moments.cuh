#pragma once
// Converts a batch's sums for a channel to the mean, 1 / deviation, and the running statistics.
#include "engine/cuda/kernels.hpp"

namespace lockstep::cuda {

constexpr float kEpsilon = 1e-5F;
constexpr float kMomentum = 0.1F;  ///< weight of the newest batch in the running statistics

/// Computes moments from sums of (x - origin) and of its square.
__device__ inline void finish_moments(const BatchNormData& data, int channel, float origin, double first,
                                      double second) {
  const auto n = static_cast<double>(data.rows);
  const double about_origin = first / n;
  const double squares = fmax(second - first * about_origin, 0.0);
  const auto mean = static_cast<float>(static_cast<double>(origin) + about_origin);
  data.mean[channel] = mean;
  data.inverse[channel] = 1 / sqrtf(static_cast<float>(squares / n) + kEpsilon);
  const auto unbiased = static_cast<float>(squares / fmax(n - 1, 1.0));
  float* means = data.running;
  float* variances = data.running + data.channels;
  means[channel] += kMomentum * (mean - means[channel]);
  variances[channel] += kMomentum * (unbiased - variances[channel]);
}

}  // namespace lockstep::cuda
