// Element-wise layers and copies: ReLU, sums, dropout, concatenation, subsampling.
#include "engine/cuda/device_random.hpp"
#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

/// y = f(a, b), one vector per thread. y may be a or b.
template <typename T, typename F>
__global__ void __launch_bounds__(kThreads) map_two(F f, const T* a, const T* b, T* y, std::int64_t vectors) {
  constexpr int V = kVector<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= vectors) return;
  float u[V], v[V];
  load<V>(a + i * V, u);
  load<V>(b + i * V, v);
#pragma unroll
  for (int k = 0; k < V; ++k) u[k] = f(u[k], v[k]);
  store<V>(u, y + i * V);
}

template <typename T, typename F>
__global__ void __launch_bounds__(kThreads) map_one(F f, const T* a, T* y, std::int64_t vectors, bool accumulate) {
  constexpr int V = kVector<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= vectors) return;
  float u[V];
  load<V>(a + i * V, u);
#pragma unroll
  for (int k = 0; k < V; ++k) u[k] = f(u[k]);
  store_or_add<V>(u, y + i * V, accumulate);
}

struct Same {
  __device__ float operator()(float x) const { return x; }
};
struct Rectify {
  __device__ float operator()(float x) const { return rectified(x); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct RectifiedSum {
  __device__ float operator()(float a, float b) const { return rectified(a + b); }
};
struct Mask {
  __device__ float operator()(float y, float dy) const { return y > 0 ? dy : 0; }
};

template <typename F>
void launch_one(Element element, F f, const void* a, void* y, std::int64_t count, bool accumulate,
                cudaStream_t stream) {
  with_type(element, [&](auto type) {
    using T = decltype(type);
    const std::int64_t vectors = (count + kVector<T> - 1) / kVector<T>;
    map_one<<<blocks_for(vectors), kThreads, 0, stream>>>(f, static_cast<const T*>(a), static_cast<T*>(y), vectors,
                                                          accumulate);
  });
  check_launch("map_one");
}

template <typename F>
void launch_two(Element element, F f, const void* a, const void* b, void* y, std::int64_t count, cudaStream_t stream) {
  with_type(element, [&](auto type) {
    using T = decltype(type);
    const std::int64_t vectors = (count + kVector<T> - 1) / kVector<T>;
    map_two<<<blocks_for(vectors), kThreads, 0, stream>>>(f, static_cast<const T*>(a), static_cast<const T*>(b),
                                                          static_cast<T*>(y), vectors);
  });
  check_launch("map_two");
}

template <typename T>
__global__ void __launch_bounds__(kThreads) masked_add(const T* y, const T* dy, T* dx, std::int64_t vectors) {
  constexpr int V = kVector<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= vectors) return;
  float out[V], gradient[V];
  load<V>(y + i * V, out);
  load<V>(dy + i * V, gradient);
#pragma unroll
  for (int k = 0; k < V; ++k) gradient[k] = out[k] > 0 ? gradient[k] : 0;
  store_or_add<V>(gradient, dx + i * V, true);
}

/// The grid has dimensions (vectors of an image, images).
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) drop(const T* from, T* to, int pixels, int channels, std::uint64_t seed,
                                                 int layer, const PassState* state, bool accumulate) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const unsigned vectors = static_cast<unsigned>(channels) / V;
  if (i >= vectors * static_cast<unsigned>(pixels)) return;
  const unsigned pixel = i / vectors;
  const unsigned channel = i % vectors * V;
  const std::uint64_t words = dropout_words(seed, layer, state->step, static_cast<int>(blockIdx.y));
  const std::int64_t at = (std::int64_t{blockIdx.y} * pixels + pixel) * channels + channel;
  float x[V];
  load<V>(from + at, x);
  if (pixels == 1) {  // V neighbours use bits of one word
    const std::uint64_t word = device_random_of(words, channel / 64);
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = (word >> ((channel + k) % 64) & 1U) != 0 ? 2 * x[k] : 0;
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const std::uint64_t e = std::uint64_t{channel + k} * pixels + pixel;
      x[k] = dropout_keeps(words, e) ? 2 * x[k] : 0;
    }
  }
  store_or_add<V>(x, to + at, accumulate);
}

/// Moves `vectors` vectors of every row.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) move_slices(const T* from, ChannelSlice source, T* to, ChannelSlice target,
                                                        int vectors, std::int64_t count, bool accumulate) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t row = i / vectors;
  const int channel = static_cast<int>(i - row * vectors) * V;
  float x[V];
  load<V>(from + row * source.channels + source.first + channel, x);
  store_or_add<V>(x, to + row * target.channels + target.first + channel, accumulate);
}

/// The grid has dimensions (vectors of an output row, rows, images).
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) take_pixels(const T* x, Tensor in, T* y, Tensor out, int stride) {
  const int vectors = out.channels / V;
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= vectors * out.width) return;
  const int q = i / vectors;
  const int channel = i % vectors * V;
  const std::int64_t row = std::int64_t{blockIdx.z} * out.height + blockIdx.y;
  float values[V] = {};
  if (channel < in.channels) {
    const std::int64_t in_row = std::int64_t{blockIdx.z} * in.height + std::int64_t{blockIdx.y} * stride;
    load<V>(x + (in_row * in.width + std::int64_t{q} * stride) * in.channels + channel, values);
  }
  store<V>(values, y + (row * out.width + q) * out.channels + channel);
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    give_pixels(const T* dy, Tensor out, T* dx, Tensor in, int stride, bool accumulate) {
  const int vectors = in.channels / V;
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= vectors * in.width) return;
  const int w = i / vectors;
  const int channel = i % vectors * V;
  const int h = static_cast<int>(blockIdx.y);
  float values[V] = {};
  if (h % stride == 0 && w % stride == 0) {
    const std::int64_t row = std::int64_t{blockIdx.z} * out.height + h / stride;
    load<V>(dy + (row * out.width + w / stride) * out.channels + channel, values);
  }
  const std::int64_t in_row = std::int64_t{blockIdx.z} * in.height + h;
  store_or_add<V>(values, dx + (in_row * in.width + w) * in.channels + channel, accumulate);
}

}  // namespace

void relu_forward(Element element, const void* x, void* y, std::int64_t count, cudaStream_t stream) {
  launch_one(element, Rectify{}, x, y, count, false, stream);
}

void relu_backward(Element element, const void* y, const void* dy, void* dx, std::int64_t count, bool accumulate,
                   cudaStream_t stream) {
  if (!accumulate) return launch_two(element, Mask{}, y, dy, dx, count, stream);
  with_type(element, [&](auto type) {
    using T = decltype(type);
    const std::int64_t vectors = (count + kVector<T> - 1) / kVector<T>;
    masked_add<<<blocks_for(vectors), kThreads, 0, stream>>>(static_cast<const T*>(y), static_cast<const T*>(dy),
                                                             static_cast<T*>(dx), vectors);
  });
  check_launch("masked_add");
}

void add_forward(Element element, const void* a, const void* b, void* y, std::int64_t count, bool relu,
                 cudaStream_t stream) {
  if (relu)
    launch_two(element, RectifiedSum{}, a, b, y, count, stream);
  else
    launch_two(element, Sum{}, a, b, y, count, stream);
}

void pass_on(Element element, const void* from, void* to, std::int64_t count, bool accumulate, cudaStream_t stream) {
  if (accumulate) return launch_one(element, Same{}, from, to, count, true, stream);
  if (from == to) return;
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count * element_bytes(element)),
                                      cudaMemcpyDeviceToDevice, stream));
}

void dropout(Element element, const void* from, void* to, const Tensor& shape, const DropoutKey& key, bool accumulate,
             cudaStream_t stream) {
  with_vectors(element, shape.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const int pixels = static_cast<int>(shape.pixels());
    const dim3 grid(blocks_for(std::int64_t{pixels} * (shape.channels / V)), static_cast<unsigned>(shape.images));
    drop<T, V><<<grid, kThreads, 0, stream>>>(static_cast<const T*>(from), static_cast<T*>(to), pixels, shape.channels,
                                              key.seed, key.layer, key.state, accumulate);
  });
  check_launch("drop");
}

void move_channels(Element element, const void* from, ChannelSlice source, void* to, ChannelSlice target, int count,
                   std::int64_t rows, bool accumulate, cudaStream_t stream) {
  // Vectors must divide all five numbers. They do if and only if they divide the greatest common divisor.
  int common = count;
  for (int number : {source.first, source.channels, target.first, target.channels}) {
    while (number != 0) {
      const int rest = common % number;
      common = number;
      number = rest;
    }
  }
  with_vectors(element, common, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const int vectors = count / V;
    move_slices<T, V><<<blocks_for(rows * vectors), kThreads, 0, stream>>>(
        static_cast<const T*>(from), source, static_cast<T*>(to), target, vectors, rows * vectors, accumulate);
  });
  check_launch("move_slices");
}

void subsample_forward(Element element, const Tensor& x, const Tensor& y, int stride, cudaStream_t stream) {
  with_vectors(element, x.channels, y.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const dim3 grid(blocks_for(std::int64_t{y.width} * (y.channels / V)), static_cast<unsigned>(y.height),
                    static_cast<unsigned>(y.images));
    take_pixels<T, V>
        <<<grid, kThreads, 0, stream>>>(static_cast<const T*>(x.data), x, static_cast<T*>(y.data), y, stride);
  });
  check_launch("take_pixels");
}

void subsample_backward(Element element, const Tensor& dy, const Tensor& dx, int stride, bool accumulate,
                        cudaStream_t stream) {
  with_vectors(element, dx.channels, dy.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const dim3 grid(blocks_for(std::int64_t{dx.width} * (dx.channels / V)), static_cast<unsigned>(dx.height),
                    static_cast<unsigned>(dx.images));
    give_pixels<T, V><<<grid, kThreads, 0, stream>>>(static_cast<const T*>(dy.data), dy, static_cast<T*>(dx.data), dx,
                                                     stride, accumulate);
  });
  check_launch("give_pixels");
}

}  // namespace lockstep::cuda
