// Batch normalisation; one pass also does the ReLU and the sum that follow. Formulae, epsilon and momentum are those of
// engine/host/normalisation.cpp.
//
// Moments are summed about the channel's first value, not about 0. So single precision suffices even if the mean is far
// larger than the deviation.
#include "engine/cuda/batch_norm_moments.cuh"
#include "engine/cuda/channel_sums.cuh"

namespace lockstep::cuda {
namespace {

/// Sums (x - origin) and its square.
template <typename T, int V>
struct Moments {
  using Row = Vector<T, V>;
  const T* x;
  float origin[V];
  __device__ void begin(int channel) { load<V>(x + channel, origin); }
  __device__ Row read(std::int64_t at) const { return *reinterpret_cast<const Row*>(x + at); }
  __device__ void add(std::int64_t, const Row& row, float* first, float* second) const {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float d = to_float(row.values[k]) - origin[k];
      first[k] += d;
      second[k] += d * d;
    }
  }
};

template <typename T>
struct FinishMoments {
  const T* x;
  BatchNormData data;
  __device__ void operator()(int channel, double first, double second) const {
    finish_moments(data, channel, to_float(x[channel]), first, second);
  }
};

__global__ void __launch_bounds__(kThreads) use_running(BatchNormData data) {
  const int channel = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (channel >= data.channels) return;
  data.mean[channel] = data.running[channel];
  data.inverse[channel] = 1 / sqrtf(data.running[data.channels + channel] + kEpsilon);
}

/// y = (x - mean) slope + shift for V channels.
template <int V>
struct Affine {
  float mean[V], slope[V], shift[V], inverse[V];
  __device__ void read(const BatchNormData& data, int channel) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      mean[k] = data.mean[channel + k];
      inverse[k] = data.inverse[channel + k];
      slope[k] = data.gamma[channel + k] * inverse[k];
      shift[k] = data.beta[channel + k];
    }
  }
  __device__ float operator()(float x, int k) const {
    return fmaf(x - mean[k], slope[k], shift[k]);
  }
};

template <typename T, int V, bool has_skip, bool relu>
__global__ void __launch_bounds__(kThreads)
    apply(BatchNormData data, const T* __restrict__ x, const T* __restrict__ skip, T* __restrict__ y) {
  const ChannelPlace<V> at;
  if (at.channel >= data.channels) return;
  Affine<V> affine;
  affine.read(data, at.channel);
#pragma unroll 2
  for (std::int64_t row = at.row; row < data.rows; row += at.stride) {
    const std::int64_t i = row * data.channels + at.channel;
    float values[V], more[V];
    load<V>(x + i, values);
    if (has_skip) load<V>(skip + i, more);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      values[k] = affine(values[k], k);
      if (has_skip) values[k] += more[k];
      if (relu) values[k] = rectified(values[k]);
    }
    store<V>(values, y + i);
  }
}

/// How the ReLU's mask is applied to dy: not at all, recomputed from x, or read from its output y.
enum class Masking { none, from_x, from_y };

/// Sums dz and dz (x - mean). Masking from y also overwrites dy by dz.
template <typename T, int V, Masking masking>
struct BackwardTerms {
  struct Row {
    Vector<T, V> x, dy, y;
  };
  BatchNormData data;
  const T* x;
  const T* y;
  T* dy;
  Affine<V> affine;
  __device__ void begin(int channel) { affine.read(data, channel); }
  __device__ Row read(std::int64_t at) const {
    Row row;
    row.x = *reinterpret_cast<const Vector<T, V>*>(x + at);
    row.dy = *reinterpret_cast<const Vector<T, V>*>(dy + at);
    if (masking == Masking::from_y) row.y = *reinterpret_cast<const Vector<T, V>*>(y + at);
    return row;
  }
  __device__ void add(std::int64_t at, const Row& row, float* first, float* second) const {
    float gradients[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float value = to_float(row.x.values[k]);
      gradients[k] = to_float(row.dy.values[k]);
      if (masking == Masking::from_y) gradients[k] = to_float(row.y.values[k]) > 0 ? gradients[k] : 0;
      if (masking == Masking::from_x) gradients[k] = affine(value, k) > 0 ? gradients[k] : 0;
      first[k] += gradients[k];
      second[k] += gradients[k] * (value - affine.mean[k]);
    }
    if (masking == Masking::from_y) store<V>(gradients, dy + at);
  }
};

struct FinishBackward {
  const float* inverse;
  float* gamma_gradient;
  float* beta_gradient;
  __device__ void operator()(int channel, double first, double second) const {
    beta_gradient[channel] = static_cast<float>(first);
    gamma_gradient[channel] = static_cast<float>(second * static_cast<double>(inverse[channel]));
  }
};

template <typename T, int V, bool masked_from_x>
__global__ void __launch_bounds__(kThreads)
    input_gradient(BatchNormData data, const T* __restrict__ x, const T* __restrict__ dz, T* __restrict__ dx,
                   const float* __restrict__ gamma_gradient, const float* __restrict__ beta_gradient, bool accumulate) {
  const ChannelPlace<V> at;
  if (at.channel >= data.channels) return;
  Affine<V> affine;
  affine.read(data, at.channel);
  const auto n = static_cast<float>(data.rows);
  float mean_beta[V], mean_gamma[V];
#pragma unroll
  for (int k = 0; k < V; ++k) {
    mean_beta[k] = beta_gradient[at.channel + k] / n;
    mean_gamma[k] = gamma_gradient[at.channel + k] / n * affine.inverse[k];
  }
#pragma unroll 2
  for (std::int64_t row = at.row; row < data.rows; row += at.stride) {
    const std::int64_t i = row * data.channels + at.channel;
    float values[V], gradients[V];
    load<V>(x + i, values);
    load<V>(dz + i, gradients);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      if (masked_from_x) gradients[k] = affine(values[k], k) > 0 ? gradients[k] : 0;
      gradients[k] = affine.slope[k] * (gradients[k] - mean_beta[k] - (values[k] - affine.mean[k]) * mean_gamma[k]);
    }
    store_or_add<V>(gradients, dx + i, accumulate);
  }
}

template <typename T, int V>
void launch_apply(const BatchNormData& data, const T* x, const T* skip, T* y, bool relu, cudaStream_t stream) {
  const ChannelGrid grid = channel_grid(data.rows, data.channels, V, kApplyBlocks);
  if (skip != nullptr && relu)
    apply<T, V, true, true><<<grid.blocks, grid.threads, 0, stream>>>(data, x, skip, y);
  else if (skip != nullptr)
    apply<T, V, true, false><<<grid.blocks, grid.threads, 0, stream>>>(data, x, skip, y);
  else if (relu)
    apply<T, V, false, true><<<grid.blocks, grid.threads, 0, stream>>>(data, x, skip, y);
  else
    apply<T, V, false, false><<<grid.blocks, grid.threads, 0, stream>>>(data, x, skip, y);
  check_launch("apply");
}

template <typename T, int V, Masking masking>
void sum_backward(const BatchNormData& data, const BatchNormBackward& pass, cudaStream_t stream) {
  BackwardTerms<T, V, masking> terms{};
  terms.data = data;
  terms.x = static_cast<const T*>(pass.x);
  terms.y = static_cast<const T*>(pass.y);
  terms.dy = static_cast<T*>(pass.dy);
  sum_channels<V>(terms, FinishBackward{data.inverse, pass.gamma_gradient, pass.beta_gradient}, data.rows,
                  data.channels, data.partials, stream);
}

template <typename T, int V>
void launch_backward(const BatchNormData& data, const BatchNormBackward& pass, cudaStream_t stream) {
  if (pass.y != nullptr)
    sum_backward<T, V, Masking::from_y>(data, pass, stream);
  else if (pass.relu_without_skip)
    sum_backward<T, V, Masking::from_x>(data, pass, stream);
  else
    sum_backward<T, V, Masking::none>(data, pass, stream);
  if (pass.dx == nullptr) return;
  const ChannelGrid grid = channel_grid(data.rows, data.channels, V, kApplyBlocks);
  const auto* x = static_cast<const T*>(pass.x);
  const auto* dz = static_cast<const T*>(pass.dy);
  auto* dx = static_cast<T*>(pass.dx);
  if (pass.relu_without_skip)
    input_gradient<T, V, true><<<grid.blocks, grid.threads, 0, stream>>>(data, x, dz, dx, pass.gamma_gradient,
                                                                         pass.beta_gradient, pass.accumulate);
  else
    input_gradient<T, V, false><<<grid.blocks, grid.threads, 0, stream>>>(data, x, dz, dx, pass.gamma_gradient,
                                                                          pass.beta_gradient, pass.accumulate);
  check_launch("input_gradient");
}

}  // namespace

void batch_norm_statistics(Element element, const BatchNormData& data, const void* x, bool training,
                           cudaStream_t stream) {
  if (!training) {
    use_running<<<blocks_for(data.channels), kThreads, 0, stream>>>(data);
    return check_launch("use_running");
  }
  with_vectors(element, data.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    Moments<T, V> moments{};
    moments.x = static_cast<const T*>(x);
    sum_channels<V>(moments, FinishMoments<T>{static_cast<const T*>(x), data}, data.rows, data.channels, data.partials,
                    stream);
  });
}

void batch_norm_apply(Element element, const BatchNormData& data, const void* x, const void* skip, void* y, bool relu,
                      cudaStream_t stream) {
  with_vectors(element, data.channels, [&](auto type, auto width) {
    using T = decltype(type);
    launch_apply<T, decltype(width)::value>(data, static_cast<const T*>(x), static_cast<const T*>(skip),
                                            static_cast<T*>(y), relu, stream);
  });
}

void batch_norm_backward(Element element, const BatchNormData& data, const BatchNormBackward& pass,
                         cudaStream_t stream) {
  with_vectors(element, data.channels, [&](auto type, auto width) {
    launch_backward<decltype(type), decltype(width)::value>(data, pass, stream);
  });
}

}  // namespace lockstep::cuda
