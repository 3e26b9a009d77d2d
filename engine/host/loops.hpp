#pragma once
// The loops over values that layers are made of, in one build per level (level.hpp). Pointers need no alignment. Sums
// run in 16 interleaved parts of single precision (8 of double), which are added in order at the end.
#include <cstdint>

namespace lockstep::host {

/// What a channel's values of some images look like: `count` runs of `length` values, `stride` apart.
struct Runs {
  std::int64_t count;
  std::int64_t length;
  std::int64_t stride;
};

/// Of a channel in batch norm: xhat = (x - mean) scale.
template <typename Scalar>
struct ChannelGradient {
  Scalar mean;
  Scalar slope;       ///< gamma scale
  Scalar mean_beta;   ///< d beta / n
  Scalar mean_gamma;  ///< scale d gamma / n
};

/// 2x2 maxima side by side: one plane of rows x cols outputs out of 2 rows x 2 cols inputs.
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
  /// dx = dy where y > 0, else 0; or adds it.
  void (*relu_gradient)(std::int64_t n, const Scalar* y, const Scalar* dy, Scalar* dx, bool accumulate);

  /// sum x, and sum (x - mean)^2
  Scalar (*sum_of_runs)(const Runs& runs, const Scalar* x);
  Scalar (*squares_of_runs)(const Runs& runs, const Scalar* x, Scalar mean);
  /// y = (x - mean) slope + shift
  void (*normalise)(const Runs& runs, const Scalar* x, Scalar mean, Scalar slope, Scalar shift, Scalar* y);
  /// *gamma = sum dy (x - mean), *beta = sum dy
  void (*normalised_sums)(const Runs& runs, const Scalar* x, const Scalar* dy, Scalar mean, Scalar* gamma,
                          Scalar* beta);
  /// dx = slope (dy - mean_beta - (x - mean) mean_gamma), or adds it.
  void (*normalised_gradient)(const Runs& runs, const Scalar* x, const Scalar* dy, const ChannelGradient<Scalar>& of,
                              Scalar* dx, bool accumulate);

  /// Maxima of 2x2 windows, and where each lies in its plane, the first of equal ones.
  void (*halve)(const Plane& plane, const Scalar* x, Scalar* y, std::int32_t* chosen);
};

/// Of the level in use.
template <typename Scalar>
const Loops<Scalar>& loops();

}  // namespace lockstep::host
