// The body of one build of the loops. Like gemm_kernel.hpp, after which it is included, it has no include guard on
// purpose. It uses nothing of the standard library, because the linker would merge inline functions of several
// instruction sets.
#include "engine/host/loops.hpp"

namespace lockstep::host::LOCKSTEP_LEVEL {
namespace {

template <typename Scalar>
constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(Scalar));

/// Adds one term per value to interleaved partial sums.
template <typename Scalar>
struct Lanes {
  Scalar parts[kLanes<Scalar>] = {};

  template <typename Term>
  void add(std::int64_t n, const Term& term) {
    Scalar own[kLanes<Scalar>];
    for (std::int64_t l = 0; l < kLanes<Scalar>; ++l) own[l] = parts[l];
    std::int64_t i = 0;
    for (; i + kLanes<Scalar> <= n; i += kLanes<Scalar>)
      for (std::int64_t l = 0; l < kLanes<Scalar>; ++l) own[l] += term(i + l);
    for (std::int64_t l = 0; i + l < n; ++l) own[l] += term(i + l);
    for (std::int64_t l = 0; l < kLanes<Scalar>; ++l) parts[l] = own[l];
  }
  Scalar total() const {
    Scalar sum = 0;
    for (const Scalar part : parts) sum += part;
    return sum;
  }
};

template <typename Scalar>
void copy(std::int64_t n, const Scalar* x, Scalar* y) {
  __builtin_memcpy(y, x, static_cast<unsigned long>(n) * sizeof(Scalar));
}

template <typename Scalar>
void add(std::int64_t n, const Scalar* x, Scalar* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}

template <typename Scalar>
void sum_of_two(std::int64_t n, const Scalar* x, const Scalar* y, Scalar* z) {
  for (std::int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}

template <typename Scalar>
void shift(std::int64_t n, const Scalar* x, Scalar b, Scalar* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + b;
}

template <typename Scalar>
Scalar sum(std::int64_t n, const Scalar* x) {
  Lanes<Scalar> lanes;
  lanes.add(n, [x](std::int64_t i) { return x[i]; });
  return lanes.total();
}

template <typename Scalar>
void relu(std::int64_t n, const Scalar* x, Scalar* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : Scalar{0};
}

template <typename Scalar>
void relu_gradient(std::int64_t n, const Scalar* y, const Scalar* dy, Scalar* dx, bool accumulate) {
  if (accumulate)
    for (std::int64_t i = 0; i < n; ++i) dx[i] += y[i] > 0 ? dy[i] : Scalar{0};
  else
    for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0 ? dy[i] : Scalar{0};
}

template <typename Scalar>
Scalar sum_of_runs(const Runs& runs, const Scalar* x) {
  Lanes<Scalar> lanes;
  for (std::int64_t run = 0; run < runs.count; ++run, x += runs.stride)
    lanes.add(runs.length, [x](std::int64_t i) { return x[i]; });
  return lanes.total();
}

template <typename Scalar>
Scalar squares_of_runs(const Runs& runs, const Scalar* x, Scalar mean) {
  Lanes<Scalar> lanes;
  for (std::int64_t run = 0; run < runs.count; ++run, x += runs.stride)
    lanes.add(runs.length, [x, mean](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  return lanes.total();
}

template <typename Scalar>
void normalise(const Runs& runs, const Scalar* x, Scalar mean, Scalar slope, Scalar shift, Scalar* y) {
  for (std::int64_t run = 0; run < runs.count; ++run, x += runs.stride, y += runs.stride)
    for (std::int64_t i = 0; i < runs.length; ++i) y[i] = (x[i] - mean) * slope + shift;
}

template <typename Scalar>
void normalised_sums(const Runs& runs, const Scalar* x, const Scalar* dy, Scalar mean, Scalar* gamma, Scalar* beta) {
  Lanes<Scalar> gammas;
  Lanes<Scalar> betas;
  for (std::int64_t run = 0; run < runs.count; ++run, x += runs.stride, dy += runs.stride) {
    gammas.add(runs.length, [x, dy, mean](std::int64_t i) { return dy[i] * (x[i] - mean); });
    betas.add(runs.length, [dy](std::int64_t i) { return dy[i]; });
  }
  *gamma = gammas.total();
  *beta = betas.total();
}

template <typename Scalar>
void normalised_gradient(const Runs& runs, const Scalar* x, const Scalar* dy, const ChannelGradient<Scalar>& of,
                         Scalar* dx, bool accumulate) {
  const ChannelGradient<Scalar> c = of;
  for (std::int64_t run = 0; run < runs.count; ++run, x += runs.stride, dy += runs.stride, dx += runs.stride) {
    if (accumulate)
      for (std::int64_t i = 0; i < runs.length; ++i)
        dx[i] += c.slope * (dy[i] - c.mean_beta - (x[i] - c.mean) * c.mean_gamma);
    else
      for (std::int64_t i = 0; i < runs.length; ++i)
        dx[i] = c.slope * (dy[i] - c.mean_beta - (x[i] - c.mean) * c.mean_gamma);
  }
}

template <typename Scalar>
void halve(const Plane& plane, const Scalar* x, Scalar* y, std::int32_t* chosen) {
  const std::int32_t width = 2 * plane.cols;
  for (std::int32_t p = 0; p < plane.rows; ++p, y += plane.cols, chosen += plane.cols) {
    const Scalar* above = x + std::int64_t{2} * p * width;
    const Scalar* below = above + width;
    const std::int32_t start = 2 * p * width;
    for (std::int32_t q = 0; q < plane.cols; ++q) {
      const std::int32_t left = 2 * q;
      const Scalar a = above[left], b = above[left + 1], c = below[left], d = below[left + 1];
      const Scalar upper = b > a ? b : a;
      const Scalar lower = d > c ? d : c;
      const std::int32_t upper_at = left + (b > a ? 1 : 0);
      const std::int32_t lower_at = left + width + (d > c ? 1 : 0);
      y[q] = lower > upper ? lower : upper;
      chosen[q] = start + (lower > upper ? lower_at : upper_at);
    }
  }
}

}  // namespace

template <typename Scalar>
const Loops<Scalar>& loops_of_level() {
  static const Loops<Scalar> all{copy<Scalar>,
                                 add<Scalar>,
                                 sum_of_two<Scalar>,
                                 shift<Scalar>,
                                 sum<Scalar>,
                                 relu<Scalar>,
                                 relu_gradient<Scalar>,
                                 sum_of_runs<Scalar>,
                                 squares_of_runs<Scalar>,
                                 normalise<Scalar>,
                                 normalised_sums<Scalar>,
                                 normalised_gradient<Scalar>,
                                 halve<Scalar>};
  return all;
}
template const Loops<float>& loops_of_level();
template const Loops<double>& loops_of_level();

}  // namespace lockstep::host::LOCKSTEP_LEVEL
