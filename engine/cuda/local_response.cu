// Local response normalisation, as engine/host/normalisation.cpp. Sums run over the channels at most 2 away at the same
// pixel:
//   y_c = x_c s_c^-0.75,  s_c = 2 + 1e-4 sum x_c'^2
//   dx_c = dy_c s_c^-0.75 - 2 (1e-4) (0.75) x_c sum_c' dy_c' x_c' s_c'^-1.75
// Each thread has V neighbouring channels. The backward pass recomputes s instead of reading a stored copy.
#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

constexpr int kReach = 2;
constexpr float kBias = 2;
constexpr float kAlpha = 1e-4F;
constexpr float kBeta = 0.75F;

/// s^-0.75
__device__ float power(float s) {
  const float root = 1 / sqrtf(s);
  return root * sqrtf(root);
}

/// Loads N channels of a row from `first` on. Outside the row (before or after it), values are 0.
template <int N, typename T>
__device__ void load_around(const T* row, int first, int channels, float (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int channel = first + i;
    to[i] = channel >= 0 && channel < channels ? to_float(row[channel]) : 0;
  }
}

/// Computes s of N channels from x of N + 4 channels.
template <int N>
__device__ void sums_around(const float (&x)[N + 2 * kReach], float (&s)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j <= 2 * kReach; ++j) sum += x[i + j] * x[i + j];
    s[i] = kBias + kAlpha * sum;
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    normalise(const T* __restrict__ x, T* __restrict__ y, int channels, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t row = i / (channels / V);
  const int channel = static_cast<int>(i % (channels / V)) * V;
  float around[V + 2 * kReach], s[V];
  load_around(x + row * channels, channel - kReach, channels, around);
  sums_around<V>(around, s);
#pragma unroll
  for (int k = 0; k < V; ++k) s[k] = around[k + kReach] * power(s[k]);
  store<V>(s, y + row * channels + channel);
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    normalise_back(const T* __restrict__ x, const T* __restrict__ dy, T* __restrict__ dx, int channels,
                   std::int64_t count, bool accumulate) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t row = i / (channels / V);
  const int channel = static_cast<int>(i % (channels / V)) * V;
  float values[V + 4 * kReach], gradients[V + 2 * kReach], s[V + 2 * kReach], terms[V + 2 * kReach];
  load_around(x + row * channels, channel - 2 * kReach, channels, values);
  load_around(dy + row * channels, channel - kReach, channels, gradients);
  sums_around<V + 2 * kReach>(values, s);
#pragma unroll
  for (int k = 0; k < V + 2 * kReach; ++k) terms[k] = gradients[k] * values[k + kReach] * power(s[k]) / s[k];
  float result[V];
#pragma unroll
  for (int k = 0; k < V; ++k) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j <= 2 * kReach; ++j) sum += terms[k + j];
    result[k] = gradients[k + kReach] * power(s[k + kReach]) - 2 * kAlpha * kBeta * values[k + 2 * kReach] * sum;
  }
  store_or_add<V>(result, dx + row * channels + channel, accumulate);
}

}  // namespace

void local_response_forward(Element element, const Tensor& x, const Tensor& y, cudaStream_t stream) {
  with_vectors(element, x.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const std::int64_t count = x.elements() / V;
    normalise<T, V><<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const T*>(x.data), static_cast<T*>(y.data),
                                                                x.channels, count);
  });
  check_launch("normalise");
}

void local_response_backward(Element element, const Tensor& x, const Tensor& dy, const Tensor& dx, bool accumulate,
                             cudaStream_t stream) {
  with_vectors(element, x.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const std::int64_t count = x.elements() / V;
    normalise_back<T, V>
        <<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const T*>(x.data), static_cast<const T*>(dy.data),
                                                     static_cast<T*>(dx.data), x.channels, count, accumulate);
  });
  check_launch("normalise_back");
}

}  // namespace lockstep::cuda
