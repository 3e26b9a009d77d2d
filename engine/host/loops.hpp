#pragma once
// The element-wise loops of layers, in one build per level (level.hpp). Pointers need no alignment. Sums use 16
// interleaved partial sums in single precision (8 in double), which are added in order at the end.
#include <cstdint>

namespace lockstep::host {

/// The layout of one channel's values in several images: `count` runs of `length` values, `stride` apart.
struct Runs {
  std::int64_t count;
  std::int64_t length;
  std::int64_t stride;
};

/// Constants of one channel in the backward pass of batch norm, where xhat = (x - mean) scale.
template <typename Scalar>
struct ChannelGradient {
  Scalar mean;
  Scalar slope;       ///< gamma scale
  Scalar mean_beta;   ///< d beta / n
  Scalar mean_gamma;  ///< scale d gamma / n
};

/// Holds the output size of non-overlapping 2x2 max pooling. The input has 2 rows x 2 cols.
struct Plane {
  std::int32_t rows;
  std::int32_t cols;
};

template <typename Scalar>
struct Loops {
  void (*copy)(std::int64_t n, const Scalar* x, Scalar* y);
  /// y += x
  void (*add)(std::int64_t n, const Scalar* x, Scalar* y);
  /// z = x + y
  void (*sum_of_two)(std::int64_t n, const Scalar* x, const Scalar* y, Scalar* z);
  /// y = x + b
  void (*shift)(std::int64_t n, const Scalar* x, Scalar b, Scalar* y);
  Scalar (*sum)(std::int64_t n, const Scalar* x);

  /// y = max(x, 0)
  void (*relu)(std::int64_t n, const Scalar* x, Scalar* y);
  /// dx = dy where y > 0, else 0; with `accumulate`, adds that to dx.
  void (*relu_gradient)(std::int64_t n, const Scalar* y, const Scalar* dy, Scalar* dx, bool accumulate);

  /// sum x, and sum (x - mean)^2
  Scalar (*sum_of_runs)(const Runs& runs, const Scalar* x);
  Scalar (*squares_of_runs)(const Runs& runs, const Scalar* x, Scalar mean);
  /// y = (x - mean) slope + shift
  void (*normalise)(const Runs& runs, const Scalar* x, Scalar mean, Scalar slope, Scalar shift, Scalar* y);
  /// *gamma = sum dy (x - mean), *beta = sum dy
  void (*normalised_sums)(const Runs& runs, const Scalar* x, const Scalar* dy, Scalar mean, Scalar* gamma,
                          Scalar* beta);
  /// dx = slope (dy - mean_beta - (x - mean) mean_gamma); with `accumulate`, adds that to dx.
  void (*normalised_gradient)(const Runs& runs, const Scalar* x, const Scalar* dy, const ChannelGradient<Scalar>& of,
                              Scalar* dx, bool accumulate);

  /// Maxima of 2x2 windows, and the index of each in its plane; among equal values, the first.
  void (*halve)(const Plane& plane, const Scalar* x, Scalar* y, std::int32_t* chosen);
};

/// Returns the loops of the level in use.
template <typename Scalar>
const Loops<Scalar>& loops();

}  // namespace lockstep::host
