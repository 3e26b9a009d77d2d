#include "engine/cuda/self_check.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"

namespace lockstep::cuda {
namespace {

constexpr std::uint64_t kSeedOfImages = 1, kSeedOfOutputs = 2, kSeedOfWeights = 3;
constexpr float kScaleAddedTo = 8;  // far above rounding errors of the sums, so that a wrong beta (0) is detected

double unit_roundoff(device::Precision precision) {
  switch (precision) {
    case device::Precision::bf16:
      return std::ldexp(1.0, -8);
    case device::Precision::fp16:
      return std::ldexp(1.0, -11);
    case device::Precision::tf32:
      return std::ldexp(1.0, -10);
    case device::Precision::fp32:
      break;
  }
  return std::ldexp(1.0, -20);
}

struct Counts {
  std::int64_t x, y, weight;
};
Counts counts_of(const ConvolutionShape& s) {
  const model::Window& w = s.window;
  return {std::int64_t{s.images} * s.in_height * s.in_width * s.in_channels,
          std::int64_t{s.images} * s.out_height * s.out_width * s.out_channels,
          std::int64_t{s.out_channels} * w.kernel_h * w.kernel_w * (s.in_channels / w.groups)};
}

float scale_of_images(const ConvolutionProblem& problem) {
  return problem.direction == Direction::data_gradient ? kScaleAddedTo : 1;
}

}  // namespace

std::string disagreement(device::Precision precision, const std::vector<CheckedResult>& results) {
  const double u = unit_roundoff(precision);
  double squares = 0, squares_off = 0, worst = 0;
  std::size_t worst_at = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CheckedResult& r = results[i];
    const double off = std::abs(double{r.found} - double{r.expected});
    const double allowed = 4 * u * (std::abs(double{r.expected}) + double{r.spread});
    const double ratio = off == 0 ? 0 : off / allowed;
    squares += double{r.expected} * r.expected;
    squares_off += off * off;
    if (ratio <= worst) continue;  // false for NaN, which counts as worst
    worst = ratio;
    worst_at = i;
    if (std::isnan(ratio)) break;
  }
  if (worst <= 1 && squares_off <= 4 * u * u * squares) return "";
  const CheckedResult& r = results[worst_at];
  return "result " + std::to_string(worst_at) + " of " + std::to_string(results.size()) + " is " +
         short_number(r.found) + ", by the definition " + short_number(r.expected) + "; all are off by " +
         short_number(squares > 0 ? std::sqrt(squares_off / squares) : std::sqrt(squares_off)) + " in the norm";
}

void fill_for_check(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream) {
  const Element element = element_of(problem.precision);
  const Counts counts = counts_of(problem.shape);
  fill_noise(element, memory.x, counts.x, kSeedOfImages, scale_of_images(problem), stream);
  fill_noise(element, memory.y, counts.y, kSeedOfOutputs, 1, stream);
  fill_noise(element, memory.weight, counts.weight, kSeedOfWeights, 1, stream);
}

void clear_after_check(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream) {
  const std::int64_t each = element_bytes(element_of(problem.precision));
  const Counts counts = counts_of(problem.shape);
  for (const auto& [pointer, count] :
       {std::pair{memory.x, counts.x}, std::pair{memory.y, counts.y}, std::pair{memory.weight, counts.weight}})
    LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(pointer, 0, static_cast<std::size_t>(count * each), stream));
}

std::vector<CheckedResult> checked_results(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                           cudaStream_t stream) {
  const DeviceBuffer<CheckedResult> on_device(kCheckedResults);
  sample_results(problem, memory, {problem.accumulate, kSeedOfImages, scale_of_images(problem)}, kCheckedResults,
                 on_device.data(), stream);
  std::vector<CheckedResult> results(kCheckedResults);
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(results.data(), on_device.data(), static_cast<std::size_t>(on_device.bytes()),
                                      cudaMemcpyDeviceToHost, stream));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));
  return results;
}

namespace {

/// Runs batch norm's own kernel on a convolution's outputs, in separate memory.
class Statistics {
 public:
  Statistics(const ConvolutionProblem& problem, const ConvolutionMemory& memory)
      : element_(element_of(problem.precision)),
        outputs_(memory.y),
        channels_(problem.shape.out_channels),
        rows_(counts_of(problem.shape).y / channels_),
        floats_(4 * std::int64_t{channels_}),
        partials_(partial_floats(element_, rows_, channels_)) {}

  /// Enqueues the kernel.
  void sum(cudaStream_t stream) const { batch_norm_statistics(element_, data(), outputs_, true, stream); }

  /// Means, then 1 / deviations. Waits.
  std::vector<float> means_and_inverses(cudaStream_t stream) const {
    std::vector<float> values(2 * static_cast<std::size_t>(channels_));
    LOCKSTEP_CUDA_CHECK(
        cudaMemcpyAsync(values.data(), floats_.data(), values.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));
    return values;
  }
  std::int64_t rows() const { return rows_; }

 private:
  BatchNormData data() const {
    float* const mean = floats_.data();
    return {rows_,           channels_, nullptr, nullptr, mean, mean + channels_, mean + 2 * std::ptrdiff_t{channels_},
            partials_.data()};
  }

  Element element_;
  const void* outputs_;
  int channels_;
  std::int64_t rows_;
  DeviceBuffer<float> floats_;  ///< means, 1 / deviations, unused running statistics
  DeviceBuffer<float> partials_;
};

constexpr double kEpsilonOfInverse = 1e-5;  // as in batch norm
const double kSumsAllowed = std::ldexp(1.0, -10);

}  // namespace

std::string sums_disagreement(const ConvolutionProblem& problem, const ConvolutionMemory& memory, cudaStream_t stream) {
  const auto channels = static_cast<std::size_t>(problem.shape.out_channels);
  const auto offset = static_cast<std::size_t>(squares_offset(problem.shape.out_channels));
  std::vector<float> sums(2 * offset);
  LOCKSTEP_CUDA_CHECK(
      cudaMemcpyAsync(sums.data(), memory.sums, sums.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
  const Statistics own(problem, memory);
  own.sum(stream);
  const std::vector<float> expected = own.means_and_inverses(stream);
  const auto n = static_cast<double>(own.rows());
  double worst = 0;
  std::string text;
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = double{sums[c]} / n, variance = double{sums[offset + c]} / n - mean * mean;
    const double inverse = double{expected[channels + c]};
    const double own_variance = std::max(1 / (inverse * inverse) - kEpsilonOfInverse, 1e-30);
    const double of_mean = std::abs(mean - double{expected[c]}) / std::sqrt(own_variance);
    const double of_variance = std::abs(variance - own_variance) / own_variance;
    const double off = of_mean >= of_variance ? of_mean : of_variance;  // if only the variance's is NaN, takes that
    if (off <= worst) continue;                                         // false for NaN, which counts as worst
    worst = off;
    text = "of channel " + std::to_string(c) + " its sums give a mean of " + short_number(mean) +
           " and a variance of " + short_number(variance) + ", its outputs " + short_number(expected[c]) + " and " +
           short_number(own_variance);
    if (std::isnan(off)) break;
  }
  return worst <= kSumsAllowed ? "" : text;
}

float measure_batch_norm_sums_ms(const ConvolutionProblem& problem, const ConvolutionMemory& memory,
                                 cudaStream_t stream) {
  constexpr int kRuns = 4;
  const Statistics own(problem, memory);
  own.sum(stream);
  Event start(true), end(true);
  start.record(stream);
  for (int i = 0; i < kRuns; ++i) own.sum(stream);
  end.record(stream);
  LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(end));
  float ms = 0;
  LOCKSTEP_CUDA_CHECK(cudaEventElapsedTime(&ms, start, end));
  return ms / kRuns;
}

std::int64_t count_differing(const float* a, const float* b, std::int64_t count, cudaStream_t stream) {
  const DeviceBuffer<std::uint32_t> on_device(1);
  LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(on_device.data(), 0, sizeof(std::uint32_t), stream));
  add_differing(a, b, count, on_device.data(), stream);
  std::uint32_t differing = 0;
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(&differing, on_device.data(), sizeof differing, cudaMemcpyDeviceToHost, stream));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));
  return differing;
}

}  // namespace lockstep::cuda
