#include "engine/sync/host_vector_ops.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>

#include "engine/sync/lars.hpp"

namespace lockstep::sync {
namespace {

using Vector = Eigen::Map<Eigen::ArrayXf>;
using ConstVector = Eigen::Map<const Eigen::ArrayXf>;

constexpr std::int64_t kBlock = 2048;        // number of floats that fit in the first-level cache
constexpr std::size_t kAlignmentBytes = 64;  // a cache line, and the widest vector register

float as_float(double x) {
  return static_cast<float>(x);
}

float decay_of(const Segment& segment, double weight_decay) {
  return segment.is_weight ? as_float(weight_decay) : 0.0F;
}

/// Computes v <- mu v - gamma (g + lambda w); w <- w + v on one segment.
void momentum_segment(const Segment& segment, double learning_rate, const StepSize& step, const float* g, float* v,
                      float* w) {
  const ConstVector gradient(g + segment.begin, segment.count);
  Vector velocity(v + segment.begin, segment.count);
  Vector parameters(w + segment.begin, segment.count);
  const float decay = decay_of(segment, step.weight_decay);
  velocity = as_float(step.momentum) * velocity - as_float(learning_rate) * (gradient + decay * parameters);
  parameters += velocity;
}

}  // namespace

float* HostVectorOps::allocate(std::int64_t n, int /*device*/) {
  require(n > 0, "vector: a buffer needs at least one element");
  const std::size_t size_bytes = static_cast<std::size_t>(n) * sizeof(float);
  auto* x = static_cast<float*>(::operator new (size_bytes, std::align_val_t{kAlignmentBytes}));
  zero(n, x);
  return x;
}

void HostVectorOps::release(float* x) {
  ::operator delete (x, std::align_val_t{kAlignmentBytes});
}

void HostVectorOps::upload(std::int64_t n, const float* host, float* x) {
  copy(n, host, x);
}

void HostVectorOps::download(std::int64_t n, const float* x, float* host) {
  copy(n, x, host);
}

void HostVectorOps::zero(std::int64_t n, float* x) {
  Vector(x, n).setZero();
}

void HostVectorOps::copy(std::int64_t n, const float* x, float* y) {
  Vector(y, n) = ConstVector(x, n);
}

void HostVectorOps::scale(std::int64_t n, double a, float* x) {
  Vector(x, n) *= as_float(a);
}

void HostVectorOps::axpy(std::int64_t n, double a, const float* x, float* y) {
  Vector(y, n) += as_float(a) * ConstVector(x, n);
}

double HostVectorOps::dot(std::int64_t n, const float* x, const float* y) {
  return (ConstVector(x, n).cast<double>() * ConstVector(y, n).cast<double>()).sum();
}

std::vector<double> HostVectorOps::norms(const Layout& layout, const float* x) {
  std::vector<double> norms;
  norms.reserve(layout.segments.size());
  for (const Segment& segment : layout.segments) {
    const float* part = x + segment.begin;
    norms.push_back(std::sqrt(dot(segment.count, part, part)));
  }
  return norms;
}

void HostVectorOps::average(std::int64_t n, const std::vector<const float*>& inputs, float* y) {
  require(!inputs.empty(), "vector: average of no buffers");
  Vector mean(y, n);
  mean = ConstVector(inputs.front(), n);
  for (std::size_t j = 1; j < inputs.size(); ++j) mean += ConstVector(inputs[j], n);
  mean *= as_float(1.0 / static_cast<double>(inputs.size()));
}

void HostVectorOps::sum_all(std::int64_t n, const std::vector<float*>& buffers) {
  require(!buffers.empty(), "vector: sum of no buffers");
  for (std::size_t j = 1; j < buffers.size(); ++j) axpy(n, 1, buffers[j], buffers.front());
  for (std::size_t j = 1; j < buffers.size(); ++j) copy(n, buffers.front(), buffers[j]);
}

// Works in blocks that stay in the first-level cache, so memory sees each input read and each output written once.
void HostVectorOps::average_all(std::int64_t n, const std::vector<const float*>& inputs,
                                const std::vector<float*>& outputs) {
  require(inputs.size() == outputs.size(), "vector: as many averages as inputs");
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, n - begin);
    std::vector<const float*> parts;
    for (const float* input : inputs) parts.push_back(input + begin);
    float* mean = outputs.front() + begin;
    average(count, parts, mean);
    for (std::size_t j = 1; j < outputs.size(); ++j) copy(count, mean, outputs[j] + begin);
  }
}

void HostVectorOps::sgd_update(const Layout& layout, double learning_rate, double weight_decay, const float* g,
                               float* w) {
  for (const Segment& segment : layout.segments) {
    const ConstVector gradient(g + segment.begin, segment.count);
    Vector parameters(w + segment.begin, segment.count);
    const float decay = decay_of(segment, weight_decay);
    parameters -= as_float(learning_rate) * (gradient + decay * parameters);
  }
}

void HostVectorOps::momentum_update(const Layout& layout, const StepSize& step, const float* g, float* v, float* w) {
  for (const Segment& segment : layout.segments) momentum_segment(segment, step.learning_rate, step, g, v, w);
}

void HostVectorOps::nesterov_update(const Layout& layout, const StepSize& step, const float* g, float* v, float* w) {
  const float rate = as_float(step.learning_rate), momentum = as_float(step.momentum);
  for (const Segment& segment : layout.segments) {
    const float decay = decay_of(segment, step.weight_decay);
    const std::int64_t end = segment.begin + segment.count;
    for (std::int64_t i = segment.begin; i < end; ++i) {
      const float step_down = rate * (g[i] + decay * w[i]);
      v[i] = momentum * v[i] - step_down;
      w[i] += momentum * v[i] - step_down;
    }
  }
}

void HostVectorOps::adam_update(const Layout& layout, const AdamStep& step, const float* g, float* m, float* v,
                                float* w) {
  for (const Segment& segment : layout.segments) {
    AdamScalars s(step);
    if (!segment.is_weight) s.coupled = s.shrink = 0;
    const std::int64_t end = segment.begin + segment.count;
    for (std::int64_t i = segment.begin; i < end; ++i) {
      const float h = g[i] + s.coupled * w[i];
      m[i] = s.beta1 * m[i] + s.one_minus_beta1 * h;
      v[i] = s.beta2 * v[i] + s.one_minus_beta2 * h * h;
      w[i] -= s.shrink * w[i];
      w[i] -= s.rate * m[i] / (std::sqrt(v[i]) * s.root + s.epsilon);
    }
  }
}

void HostVectorOps::lars_update(const Layout& layout, const StepSize& step, const LarsOptions& lars, const float* g,
                                float* v, float* w) {
  const std::vector<double> weight_norms = norms(layout, w);
  const std::vector<double> gradient_norms = norms(layout, g);
  for (std::size_t s = 0; s < layout.segments.size(); ++s) {
    const Segment& segment = layout.segments[s];
    const double trust =
        segment.is_weight ? trust_ratio(lars, weight_norms[s], gradient_norms[s], step.weight_decay) : 1.0;
    momentum_segment(segment, step.learning_rate * trust, step, g, v, w);
  }
}

void HostVectorOps::corrected_update(const Layout& layout, double learning_rate, double weight_decay, double alpha,
                                     const float* g, const float* z, float* w, float* sum) {
  const float rate = as_float(learning_rate);
  const float pull = as_float(alpha);
  for (const Segment& segment : layout.segments) {
    const float decay = decay_of(segment, weight_decay);
    const std::int64_t end = segment.begin + segment.count;
    for (std::int64_t i = segment.begin; i < end; ++i) {
      const float correction = pull * (w[i] - z[i]);
      w[i] -= rate * (g[i] + decay * w[i]) + correction;
      sum[i] += correction;
    }
  }
}

void HostVectorOps::elastic_pull(std::int64_t n, double alpha, const float* z, float* w, float* sum) {
  const float pull = as_float(alpha);
  for (std::int64_t i = 0; i < n; ++i) {
    const float correction = pull * (w[i] - z[i]);
    w[i] -= correction;
    sum[i] += correction;
  }
}

void HostVectorOps::average_model_update(std::int64_t n, double momentum, const float* sum, float* z, float* previous) {
  const float mu = as_float(momentum);
  for (std::int64_t i = 0; i < n; ++i) {
    const float before = z[i];
    z[i] += sum[i] + mu * (before - previous[i]);
    previous[i] = before;
  }
}

}  // namespace lockstep::sync
