#include "engine/sync/noise_scale.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/base/student_t.hpp"

namespace lockstep::sync {
namespace {

constexpr std::size_t kMostBlocks = 32;

}  // namespace

NoiseScale noise_scale(const GradientNoise& noise, double coverage) {
  const double g = noise.gradient_square, s = noise.covariance_trace;
  NoiseScale result;
  if (noise.steps > 0 && g > 0) result.batch = std::max(0.0, s / g);
  if (noise.blocks < 2) return result;
  // The interval contains every x with (s - x g)^2 <= t^2 Var(s - x g), which is a x^2 - 2 p x + c <= 0.
  const double t = student_t_quantile(0.5 + 0.5 * coverage, noise.blocks - 1);
  const double a = g * g - t * t * noise.gradient_square_variance;
  const double p = s * g - t * t * noise.shared_covariance;
  const double c = s * s - t * t * noise.covariance_trace_variance;
  const double root = std::sqrt(std::max(0.0, p * p - a * c));
  if (a > 0 && g > 0) {
    result.low = std::max(0.0, (p - root) / a);
    result.high = std::max(0.0, (p + root) / a);
  } else if (a < 0 && p * p > a * c) {
    const double larger_root = (p - root) / a;  // the larger one because a < 0
    if (!result.batch || *result.batch >= larger_root) result.low = std::max(0.0, larger_root);
  }
  return result;
}

NoiseScale mean_by_progress(const std::vector<NoiseStretch>& stretches, double batch) {
  double progress = 0, sum = 0, low = 0, high = 0;
  bool has_high = true;
  for (const NoiseStretch& stretch : stretches) {
    if (stretch.steps <= 0) continue;
    if (!stretch.scale.batch) return {};
    const double value = *stretch.scale.batch, weight = stretch.steps / (1 + value / batch);
    has_high = has_high && stretch.scale.high;
    progress += weight;
    sum += weight * value;
    low += std::pow(weight * (value - stretch.scale.low), 2);
    high += std::pow(weight * (stretch.scale.high.value_or(value) - value), 2);
  }
  if (progress == 0) return {};
  const double mean = sum / progress;
  NoiseScale result{mean, std::max(0.0, mean - std::sqrt(low) / progress), std::nullopt};
  if (has_high) result.high = mean + std::sqrt(high) / progress;
  return result;
}

NoiseMeter::NoiseMeter(double small_batch, double large_batch) : small_batch_(small_batch), large_batch_(large_batch) {
  require(small_batch > 0 && small_batch < large_batch, "noise scale: two batches, the smaller one first");
}

void NoiseMeter::add(double small, double large) {
  if (!std::isfinite(small) || !std::isfinite(large)) return;
  if (steps_ == static_cast<std::int64_t>(kMostBlocks) * block_steps_) merge_pairs();
  if (steps_ % block_steps_ == 0) blocks_.emplace_back();
  ++steps_;
  blocks_.back().gradient_square += (large_batch_ * large - small_batch_ * small) / (large_batch_ - small_batch_);
  blocks_.back().covariance_trace += (small - large) / (1 / small_batch_ - 1 / large_batch_);
}

void NoiseMeter::merge_pairs() {
  for (std::size_t i = 0; i < kMostBlocks / 2; ++i) {
    const Block &a = blocks_[2 * i], &b = blocks_[2 * i + 1];
    blocks_[i] = {a.gradient_square + b.gradient_square, a.covariance_trace + b.covariance_trace};
  }
  blocks_.resize(kMostBlocks / 2);
  block_steps_ *= 2;
}

GradientNoise NoiseMeter::mean() const {
  GradientNoise result;
  result.steps = steps_;
  if (steps_ == 0) return result;
  for (const Block& block : blocks_) {
    result.gradient_square += block.gradient_square / static_cast<double>(steps_);
    result.covariance_trace += block.covariance_trace / static_cast<double>(steps_);
  }
  const auto complete = static_cast<std::size_t>(steps_ / block_steps_);
  result.blocks = static_cast<int>(complete);
  if (complete < 2) return result;
  const double count = static_cast<double>(complete), length = static_cast<double>(block_steps_);
  Block mean;
  for (std::size_t i = 0; i < complete; ++i) {
    mean.gradient_square += blocks_[i].gradient_square / length / count;
    mean.covariance_trace += blocks_[i].covariance_trace / length / count;
  }
  for (std::size_t i = 0; i < complete; ++i) {
    const double g = blocks_[i].gradient_square / length - mean.gradient_square;
    const double s = blocks_[i].covariance_trace / length - mean.covariance_trace;
    result.gradient_square_variance += g * g / (count * (count - 1));
    result.covariance_trace_variance += s * s / (count * (count - 1));
    result.shared_covariance += g * s / (count * (count - 1));
  }
  return result;
}

void NoiseMeter::reset() {
  steps_ = 0;
  block_steps_ = 1;
  blocks_.clear();
}

void NoiseMeter::visit_state(StateVisitor& state) {
  state.integer("noise_scale/steps", steps_);
  block_steps_ = 1;
  while (static_cast<std::int64_t>(kMostBlocks) * block_steps_ < steps_) block_steps_ *= 2;
  blocks_.resize(static_cast<std::size_t>((steps_ + block_steps_ - 1) / block_steps_));
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string name = "noise_scale/" + std::to_string(i);
    state.real(name + "/gradient_square", blocks_[i].gradient_square);
    state.real(name + "/covariance_trace", blocks_[i].covariance_trace);
  }
}

void measure_noise(VectorOps& ops, Processes& processes, std::int64_t n, const std::vector<const float*>& gradients,
                   const float* mean, int workers, NoiseMeter& meter) {
  double sum = 0;
  for (const float* gradient : gradients) sum += ops.dot(n, gradient, gradient);
  processes.sum(1, &sum);
  meter.add(sum / workers, ops.dot(n, mean, mean));
}

}  // namespace lockstep::sync
