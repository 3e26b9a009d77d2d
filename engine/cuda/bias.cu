// Adds biases of convolutions; computes bias gradients of convolutions and fully-connected layers. Includes the ReLU.
#include "engine/cuda/channel_sums.cuh"

namespace lockstep::cuda {
namespace {

template <typename T, int V, bool relu>
__global__ void __launch_bounds__(kThreads)
    bias_rows(T* y, std::int64_t rows, int channels, const float* __restrict__ bias) {
  const ChannelPlace<V> at;
  if (at.channel >= channels) return;
  float shift[V];
#pragma unroll
  for (int k = 0; k < V; ++k) shift[k] = bias[at.channel + k];
  for (std::int64_t row = at.row; row < rows; row += at.stride) {
    T* values_at = y + row * channels + at.channel;
    float values[V];
    load<V>(values_at, values);
#pragma unroll
    for (int k = 0; k < V; ++k) values[k] = relu ? rectified(values[k] + shift[k]) : values[k] + shift[k];
    store<V>(values, values_at);
  }
}

template <typename T, int V, bool relu>
struct BiasTerms {
  const T* y;
  T* dy;
  struct Row {
    Vector<T, V> dy, y;
  };
  __device__ void begin(int) {}
  __device__ Row read(std::int64_t at) const {
    Row row;
    row.dy = *reinterpret_cast<const Vector<T, V>*>(dy + at);
    if (relu) row.y = *reinterpret_cast<const Vector<T, V>*>(y + at);
    return row;
  }
  __device__ void add(std::int64_t at, const Row& row, float* first, float*) const {
    float gradients[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      gradients[k] = to_float(row.dy.values[k]);
      if (relu) gradients[k] = to_float(row.y.values[k]) > 0 ? gradients[k] : 0;
      first[k] += gradients[k];
    }
    if (relu) store<V>(gradients, dy + at);
  }
};

struct FinishBias {
  float* gradient;
  __device__ void operator()(int channel, double first, double) const { gradient[channel] = static_cast<float>(first); }
};

}  // namespace

int attribute_of_gpu(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  LOCKSTEP_CUDA_CHECK(cudaGetDevice(&device));
  LOCKSTEP_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

std::int64_t partial_floats(Element element, std::int64_t rows, int channels) {
  std::int64_t most = 0;
  for (int width : {1, element == Element::f32 ? 4 : 8}) {
    if (channels % width != 0) continue;
    most = std::max(most, std::int64_t{channel_grid(rows, channels, width, most_sum_blocks()).blocks.y} * 2 * channels);
  }
  return most;
}

void add_bias(Element element, void* y, std::int64_t rows, int channels, const float* bias, bool relu,
              cudaStream_t stream) {
  with_vectors(element, channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const ChannelGrid grid = channel_grid(rows, channels, V, kApplyBlocks);
    if (relu)
      bias_rows<T, V, true><<<grid.blocks, grid.threads, 0, stream>>>(static_cast<T*>(y), rows, channels, bias);
    else
      bias_rows<T, V, false><<<grid.blocks, grid.threads, 0, stream>>>(static_cast<T*>(y), rows, channels, bias);
  });
  check_launch("bias_rows");
}

void bias_backward(Element element, const void* y, void* dy, std::int64_t rows, int channels, float* gradient,
                   float* partials, cudaStream_t stream) {
  with_vectors(element, channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const auto* outputs = static_cast<const T*>(y);
    auto* gradients = static_cast<T*>(dy);
    if (y != nullptr)
      sum_channels<V>(BiasTerms<T, V, true>{outputs, gradients}, FinishBias{gradient}, rows, channels, partials,
                      stream);
    else
      sum_channels<V>(BiasTerms<T, V, false>{outputs, gradients}, FinishBias{gradient}, rows, channels, partials,
                      stream);
  });
}

}  // namespace lockstep::cuda
