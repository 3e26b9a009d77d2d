// Compares samples of a convolution's results with sums by the definition, one block per sample.
#include "engine/cuda/device_random.hpp"
#include "engine/cuda/direct_terms.cuh"
#include "engine/cuda/self_check.hpp"

namespace lockstep::cuda {
namespace {

constexpr std::uint64_t kSeedOfSamples = 11;

__device__ float noise(std::uint64_t seed, std::int64_t i, float scale) {
  const auto step = static_cast<int>(device_random_bits(seed, 0, static_cast<std::uint64_t>(i)) % 17);
  return static_cast<float>(step - 8) * 0.125F * scale;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    fill(T* __restrict__ to, std::int64_t count, std::uint64_t seed, float scale) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) to[i] = from_float<T>(noise(seed, i, scale));
}

/// The index of the result that a block checks.
__device__ std::int64_t chosen(unsigned sample, unsigned samples, std::int64_t count) {
  if (sample == 0) return 0;
  if (sample + 1 == samples) return count - 1;
  return static_cast<std::int64_t>(device_random_bits(kSeedOfSamples, 0, sample) % static_cast<std::uint64_t>(count));
}

/// The block's threads divide only the products of a filter gradient; other results have few.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    compare_samples(Direction direction, Plain s, const T* __restrict__ x, const T* __restrict__ y,
                    const T* __restrict__ weight, std::int64_t count, AddedTo before,
                    CheckedResult* __restrict__ results) {
  __shared__ float sums[kThreads], squares[kThreads];
  const std::int64_t i = chosen(blockIdx.x, gridDim.x, count);
  float sum = 0, square = 0;
  const auto take = [&](float a, float b) {
    sum = fmaf(a, b, sum);
    square = fmaf(a * b, a * b, square);
  };
  if (direction == Direction::filter_gradient)
    each_of_filter_gradient(s, x, y, i, threadIdx.x, kThreads, take);
  else if (threadIdx.x == 0 && direction == Direction::forward)
    each_forward(s, x, weight, i, take);
  else if (threadIdx.x == 0)
    each_of_data_gradient(s, y, weight, i, take);
  sums[threadIdx.x] = sum;
  squares[threadIdx.x] = square;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      sums[threadIdx.x] += sums[threadIdx.x + half];
      squares[threadIdx.x] += squares[threadIdx.x + half];
    }
  }
  if (threadIdx.x > 0) return;
  const T* const found = direction == Direction::forward ? y : direction == Direction::data_gradient ? x : weight;
  const float there = before.is_added ? noise(before.seed, i, before.scale) : 0;
  results[blockIdx.x] = {sums[0] + there, sqrtf(squares[0]), to_float(found[i])};
}

__global__ void __launch_bounds__(kThreads)
    compare_bits(const std::uint32_t* __restrict__ a, const std::uint32_t* __restrict__ b, std::int64_t count,
                 std::uint32_t* differing) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count && a[i] != b[i]) atomicAdd(differing, 1U);
}

}  // namespace

void fill_noise(Element element, void* to, std::int64_t count, std::uint64_t seed, float scale, cudaStream_t stream) {
  with_type(element, [&](auto type) {
    using T = decltype(type);
    fill<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<T*>(to), count, seed, scale);
  });
  check_launch("fill_noise");
}

void sample_results(const ConvolutionProblem& problem, const ConvolutionMemory& memory, const AddedTo& before,
                    int samples, CheckedResult* results, cudaStream_t stream) {
  const ConvolutionShape& s = problem.shape;
  const model::Window& w = s.window;
  const std::int64_t count = problem.direction == Direction::forward
                                 ? std::int64_t{s.images} * s.out_height * s.out_width * s.out_channels
                             : problem.direction == Direction::data_gradient
                                 ? std::int64_t{s.images} * s.in_height * s.in_width * s.in_channels
                                 : std::int64_t{s.out_channels} * w.kernel_h * w.kernel_w * (s.in_channels / w.groups);
  with_type(element_of(problem.precision), [&](auto type) {
    using T = decltype(type);
    compare_samples<<<static_cast<unsigned>(samples), kThreads, 0, stream>>>(
        problem.direction, plain(s), static_cast<const T*>(memory.x), static_cast<const T*>(memory.y),
        static_cast<const T*>(memory.weight), count, before, results);
  });
  check_launch("sample_results");
}

void add_differing(const float* a, const float* b, std::int64_t count, std::uint32_t* differing, cudaStream_t stream) {
  compare_bits<<<blocks_for(count), kThreads, 0, stream>>>(reinterpret_cast<const std::uint32_t*>(a),
                                                           reinterpret_cast<const std::uint32_t*>(b), count, differing);
  check_launch("add_differing");
}

}  // namespace lockstep::cuda
