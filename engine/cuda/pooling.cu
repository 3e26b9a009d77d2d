// Max and average pooling, as engine/host/pooling.cpp: padding is ignored; the first of equal maxima is chosen.
// Backward, each input pixel gathers from the windows that contain it, in their order, without atomics.
#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

/// Describes the windows of one launch: the sizes of both images and of the window. Both axes share their code.
struct Geometry {
  int in_height, in_width, out_height, out_width, channels;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
};

Geometry geometry(const Tensor& in, const Tensor& out, const model::Window& w) {
  return {in.height,  in.width,   out.height, out.width, in.channels, w.kernel_h,
          w.kernel_w, w.stride_h, w.stride_w, w.pad_top, w.pad_left};
}

/// Positions [first, end) along an axis.
struct Span {
  int first, end;
};

/// Finds the pixels of the image in the window of output position p.
__device__ Span pixels_under(int p, int kernel, int stride, int pad, int size) {
  const int start = p * stride - pad;
  return {max(start, 0), min(start + kernel, size)};
}

/// Finds the output positions whose window contains pixel h.
__device__ Span windows_over(int h, int kernel, int stride, int pad, int positions) {
  const int past = h + pad - kernel;  // the last start whose window ends before h
  return {past < 0 ? 0 : past / stride + 1, min((h + pad) / stride + 1, positions)};
}

/// Each thread works on V channels of one pixel. Grid: vectors of a row, rows, images.
template <int V>
struct Place {
  int pixel, channel, row, image;
  bool inside;
  __device__ Place(int width, int channels) {
    const int vectors = channels / V;
    const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
    inside = i < vectors * width;
    pixel = i / vectors;
    channel = i % vectors * V;
    row = static_cast<int>(blockIdx.y);
    image = static_cast<int>(blockIdx.z);
  }
};

__device__ std::int64_t offset(int image, int height, int h, int width, int w, int channels, int channel) {
  return ((std::int64_t{image} * height + h) * width + w) * channels + channel;
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    take_maximum(const T* __restrict__ x, T* __restrict__ y, std::uint16_t* __restrict__ chosen, Geometry g) {
  const Place<V> at(g.out_width, g.channels);
  if (!at.inside) return;
  const Span rows = pixels_under(at.row, g.kernel_h, g.stride_h, g.pad_top, g.in_height);
  const Span columns = pixels_under(at.pixel, g.kernel_w, g.stride_w, g.pad_left, g.in_width);
  const int top = at.row * g.stride_h - g.pad_top;
  const int left = at.pixel * g.stride_w - g.pad_left;
  float best[V];
  Vector<std::uint16_t, V> best_at;
  bool first = true;
  for (int h = rows.first; h < rows.end; ++h) {
    for (int w = columns.first; w < columns.end; ++w) {
      const auto position = static_cast<std::uint16_t>((h - top) * g.kernel_w + w - left);
      float value[V];
      load<V>(x + offset(at.image, g.in_height, h, g.in_width, w, g.channels, at.channel), value);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const bool better = first || value[k] > best[k];
        best[k] = better ? value[k] : best[k];
        best_at.values[k] = better ? position : best_at.values[k];
      }
      first = false;
    }
  }
  const std::int64_t out = offset(at.image, g.out_height, at.row, g.out_width, at.pixel, g.channels, at.channel);
  store<V>(best, y + out);
  *reinterpret_cast<Vector<std::uint16_t, V>*>(chosen + out) = best_at;
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    give_to_maximum(const T* __restrict__ dy, const std::uint16_t* __restrict__ chosen, T* __restrict__ dx, Geometry g,
                    bool accumulate) {
  const Place<V> at(g.in_width, g.channels);
  if (!at.inside) return;
  const Span rows = windows_over(at.row, g.kernel_h, g.stride_h, g.pad_top, g.out_height);
  const Span columns = windows_over(at.pixel, g.kernel_w, g.stride_w, g.pad_left, g.out_width);
  float sum[V] = {};
  for (int p = rows.first; p < rows.end; ++p) {
    for (int q = columns.first; q < columns.end; ++q) {
      const int position = (at.row + g.pad_top - p * g.stride_h) * g.kernel_w + at.pixel + g.pad_left - q * g.stride_w;
      const std::int64_t out = offset(at.image, g.out_height, p, g.out_width, q, g.channels, at.channel);
      const auto best_at = *reinterpret_cast<const Vector<std::uint16_t, V>*>(chosen + out);
      float gradient[V];
      load<V>(dy + out, gradient);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += best_at.values[k] == position ? gradient[k] : 0;
    }
  }
  store_or_add<V>(sum, dx + offset(at.image, g.in_height, at.row, g.in_width, at.pixel, g.channels, at.channel),
                  accumulate);
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads) take_average(const T* __restrict__ x, T* __restrict__ y, Geometry g) {
  const Place<V> at(g.out_width, g.channels);
  if (!at.inside) return;
  const Span rows = pixels_under(at.row, g.kernel_h, g.stride_h, g.pad_top, g.in_height);
  const Span columns = pixels_under(at.pixel, g.kernel_w, g.stride_w, g.pad_left, g.in_width);
  float sum[V] = {};
  for (int h = rows.first; h < rows.end; ++h) {
    for (int w = columns.first; w < columns.end; ++w) {
      float value[V];
      load<V>(x + offset(at.image, g.in_height, h, g.in_width, w, g.channels, at.channel), value);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += value[k];
    }
  }
  const auto count = static_cast<float>((rows.end - rows.first) * (columns.end - columns.first));
#pragma unroll
  for (int k = 0; k < V; ++k) sum[k] /= count;
  store<V>(sum, y + offset(at.image, g.out_height, at.row, g.out_width, at.pixel, g.channels, at.channel));
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    share_out(const T* __restrict__ dy, T* __restrict__ dx, Geometry g, bool accumulate) {
  const Place<V> at(g.in_width, g.channels);
  if (!at.inside) return;
  const Span rows = windows_over(at.row, g.kernel_h, g.stride_h, g.pad_top, g.out_height);
  const Span columns = windows_over(at.pixel, g.kernel_w, g.stride_w, g.pad_left, g.out_width);
  float sum[V] = {};
  for (int p = rows.first; p < rows.end; ++p) {
    const Span h = pixels_under(p, g.kernel_h, g.stride_h, g.pad_top, g.in_height);
    for (int q = columns.first; q < columns.end; ++q) {
      const Span w = pixels_under(q, g.kernel_w, g.stride_w, g.pad_left, g.in_width);
      const auto count = static_cast<float>((h.end - h.first) * (w.end - w.first));
      float gradient[V];
      load<V>(dy + offset(at.image, g.out_height, p, g.out_width, q, g.channels, at.channel), gradient);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += gradient[k] / count;
    }
  }
  store_or_add<V>(sum, dx + offset(at.image, g.in_height, at.row, g.in_width, at.pixel, g.channels, at.channel),
                  accumulate);
}

/// Makes a grid with one thread per vector of a tensor.
dim3 grid_over(const Tensor& tensor, int width) {
  return {blocks_for(std::int64_t{tensor.width} * (tensor.channels / width)), static_cast<unsigned>(tensor.height),
          static_cast<unsigned>(tensor.images)};
}

}  // namespace

void max_pool_forward(Element element, const Tensor& x, const Tensor& y, const model::Window& window,
                      std::uint16_t* chosen, cudaStream_t stream) {
  with_vectors(element, x.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    take_maximum<T, V><<<grid_over(y, V), kThreads, 0, stream>>>(static_cast<const T*>(x.data), static_cast<T*>(y.data),
                                                                 chosen, geometry(x, y, window));
  });
  check_launch("take_maximum");
}

void max_pool_backward(Element element, const Tensor& dy, const std::uint16_t* chosen, const Tensor& dx,
                       const model::Window& window, bool accumulate, cudaStream_t stream) {
  with_vectors(element, dx.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    give_to_maximum<T, V><<<grid_over(dx, V), kThreads, 0, stream>>>(
        static_cast<const T*>(dy.data), chosen, static_cast<T*>(dx.data), geometry(dx, dy, window), accumulate);
  });
  check_launch("give_to_maximum");
}

void avg_pool_forward(Element element, const Tensor& x, const Tensor& y, const model::Window& window,
                      cudaStream_t stream) {
  with_vectors(element, x.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    take_average<T, V><<<grid_over(y, V), kThreads, 0, stream>>>(static_cast<const T*>(x.data), static_cast<T*>(y.data),
                                                                 geometry(x, y, window));
  });
  check_launch("take_average");
}

void avg_pool_backward(Element element, const Tensor& dy, const Tensor& dx, const model::Window& window,
                       bool accumulate, cudaStream_t stream) {
  with_vectors(element, dx.channels, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    share_out<T, V><<<grid_over(dx, V), kThreads, 0, stream>>>(static_cast<const T*>(dy.data), static_cast<T*>(dx.data),
                                                               geometry(dx, dy, window), accumulate);
  });
  check_launch("share_out");
}

}  // namespace lockstep::cuda
