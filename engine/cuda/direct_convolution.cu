// Convolution by its definition, a thread per result, in float: for shapes that cuDNN offers no plan for, and as a
// second opinion in tests. Weights are K x R x S x C/groups, images NHWC.
#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

/// What the kernels need, with the window's fields plain.
struct Plain {
  int images, in_height, in_width, in_channels, out_height, out_width, out_channels;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
  int group_in, group_out;  ///< channels of a group
};

Plain plain(const ConvolutionShape& s) {
  const model::Window& w = s.window;
  return {s.images,
          s.in_height,
          s.in_width,
          s.in_channels,
          s.out_height,
          s.out_width,
          s.out_channels,
          w.kernel_h,
          w.kernel_w,
          w.stride_h,
          w.stride_w,
          w.pad_top,
          w.pad_left,
          s.in_channels / w.groups,
          s.out_channels / w.groups};
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    forward(Plain s, const T* __restrict__ x, const T* __restrict__ weight, T* __restrict__ y, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const int k = static_cast<int>(i % s.out_channels);
  const std::int64_t pixel = i / s.out_channels;
  const int q = static_cast<int>(pixel % s.out_width);
  const int p = static_cast<int>(pixel / s.out_width % s.out_height);
  const std::int64_t image = pixel / s.out_width / s.out_height;
  const int first_channel = k / s.group_out * s.group_in;
  float sum = 0;
  for (int r = 0; r < s.kernel_h; ++r) {
    const int h = p * s.stride_h - s.pad_top + r;
    if (h < 0 || h >= s.in_height) continue;
    for (int t = 0; t < s.kernel_w; ++t) {
      const int w = q * s.stride_w - s.pad_left + t;
      if (w < 0 || w >= s.in_width) continue;
      const T* values = x + ((image * s.in_height + h) * s.in_width + w) * s.in_channels + first_channel;
      const T* taps = weight + ((std::int64_t{k} * s.kernel_h + r) * s.kernel_w + t) * s.group_in;
      for (int c = 0; c < s.group_in; ++c) sum = fmaf(to_float(values[c]), to_float(taps[c]), sum);
    }
  }
  y[i] = from_float<T>(sum);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    data_gradient(Plain s, const T* __restrict__ dy, const T* __restrict__ weight, T* __restrict__ dx,
                  std::int64_t count, bool accumulate) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const int channel = static_cast<int>(i % s.in_channels);
  const std::int64_t pixel = i / s.in_channels;
  const int w = static_cast<int>(pixel % s.in_width);
  const int h = static_cast<int>(pixel / s.in_width % s.in_height);
  const std::int64_t image = pixel / s.in_width / s.in_height;
  const int first_out = channel / s.group_in * s.group_out;
  const int c = channel % s.group_in;
  float sum[1] = {0};
  for (int r = 0; r < s.kernel_h; ++r) {
    const int above = h + s.pad_top - r;
    if (above < 0 || above % s.stride_h != 0 || above / s.stride_h >= s.out_height) continue;
    for (int t = 0; t < s.kernel_w; ++t) {
      const int left = w + s.pad_left - t;
      if (left < 0 || left % s.stride_w != 0 || left / s.stride_w >= s.out_width) continue;
      const T* gradients =
          dy + ((image * s.out_height + above / s.stride_h) * s.out_width + left / s.stride_w) * s.out_channels +
          first_out;
      const T* taps = weight + ((std::int64_t{first_out} * s.kernel_h + r) * s.kernel_w + t) * s.group_in + c;
      const std::int64_t filter = std::int64_t{s.kernel_h} * s.kernel_w * s.group_in;
      for (int k = 0; k < s.group_out; ++k) sum[0] = fmaf(to_float(gradients[k]), to_float(taps[k * filter]), sum[0]);
    }
  }
  store_or_add<1>(sum, dx + i, accumulate);
}

/// A block per weight; its threads share the pixels.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    filter_gradient(Plain s, const T* __restrict__ x, const T* __restrict__ dy, T* __restrict__ weight_gradient) {
  __shared__ float parts[kThreads];
  const unsigned i = blockIdx.x;
  const int c = static_cast<int>(i % s.group_in);
  const int t = static_cast<int>(i / s.group_in % s.kernel_w);
  const int r = static_cast<int>(i / s.group_in / s.kernel_w % s.kernel_h);
  const int k = static_cast<int>(i / s.group_in / s.kernel_w / s.kernel_h);
  const int channel = k / s.group_out * s.group_in + c;
  const std::int64_t pixels = std::int64_t{s.images} * s.out_height * s.out_width;
  float sum = 0;
  for (std::int64_t pixel = threadIdx.x; pixel < pixels; pixel += kThreads) {
    const int w = static_cast<int>(pixel % s.out_width) * s.stride_w - s.pad_left + t;
    const int h = static_cast<int>(pixel / s.out_width % s.out_height) * s.stride_h - s.pad_top + r;
    if (w < 0 || w >= s.in_width || h < 0 || h >= s.in_height) continue;
    const std::int64_t image = pixel / s.out_width / s.out_height;
    sum = fmaf(to_float(x[((image * s.in_height + h) * s.in_width + w) * s.in_channels + channel]),
               to_float(dy[pixel * s.out_channels + k]), sum);
  }
  parts[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) weight_gradient[i] = from_float<T>(parts[0]);
}

}  // namespace

void direct_forward(Element element, const ConvolutionShape& shape, const void* x, const void* weight, void* y,
                    cudaStream_t stream) {
  const std::int64_t count = std::int64_t{shape.images} * shape.out_height * shape.out_width * shape.out_channels;
  with_type(element, [&](auto type) {
    using T = decltype(type);
    forward<<<blocks_for(count), kThreads, 0, stream>>>(plain(shape), static_cast<const T*>(x),
                                                        static_cast<const T*>(weight), static_cast<T*>(y), count);
  });
  check_launch("direct forward");
}

void direct_data_gradient(Element element, const ConvolutionShape& shape, const void* dy, const void* weight, void* dx,
                          bool accumulate, cudaStream_t stream) {
  const std::int64_t count = std::int64_t{shape.images} * shape.in_height * shape.in_width * shape.in_channels;
  with_type(element, [&](auto type) {
    using T = decltype(type);
    data_gradient<<<blocks_for(count), kThreads, 0, stream>>>(
        plain(shape), static_cast<const T*>(dy), static_cast<const T*>(weight), static_cast<T*>(dx), count, accumulate);
  });
  check_launch("direct data gradient");
}

void direct_filter_gradient(Element element, const ConvolutionShape& shape, const void* x, const void* dy,
                            void* weight_gradient, cudaStream_t stream) {
  const model::Window& w = shape.window;
  const auto weights =
      static_cast<unsigned>(shape.out_channels * (shape.in_channels / w.groups) * w.kernel_h * w.kernel_w);
  with_type(element, [&](auto type) {
    using T = decltype(type);
    filter_gradient<<<weights, kThreads, 0, stream>>>(plain(shape), static_cast<const T*>(x), static_cast<const T*>(dy),
                                                      static_cast<T*>(weight_gradient));
  });
  check_launch("direct filter gradient");
}

}  // namespace lockstep::cuda
