#pragma once
// The products whose sum is one result of a convolution, by definition. Weights are K x R x S x C/groups, images NHWC.
// `take` gets the two factors of each product, always in the same order.
#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {

/// The parts of a shape that kernels need, with the window's fields as plain integers.
struct Plain {
  int images, in_height, in_width, in_channels, out_height, out_width, out_channels;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
  int group_in, group_out;  ///< channels per group
};

inline Plain plain(const ConvolutionShape& s) {
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

/// Passes the terms of output i to `take`.
template <typename T, typename Take>
__device__ void each_forward(const Plain& s, const T* x, const T* weight, std::int64_t i, Take take) {
  const int k = static_cast<int>(i % s.out_channels);
  const std::int64_t pixel = i / s.out_channels;
  const int q = static_cast<int>(pixel % s.out_width);
  const int p = static_cast<int>(pixel / s.out_width % s.out_height);
  const std::int64_t image = pixel / s.out_width / s.out_height;
  const int first_channel = k / s.group_out * s.group_in;
  for (int r = 0; r < s.kernel_h; ++r) {
    const int h = p * s.stride_h - s.pad_top + r;
    if (h < 0 || h >= s.in_height) continue;
    for (int t = 0; t < s.kernel_w; ++t) {
      const int w = q * s.stride_w - s.pad_left + t;
      if (w < 0 || w >= s.in_width) continue;
      const T* values = x + ((image * s.in_height + h) * s.in_width + w) * s.in_channels + first_channel;
      const T* taps = weight + ((std::int64_t{k} * s.kernel_h + r) * s.kernel_w + t) * s.group_in;
      for (int c = 0; c < s.group_in; ++c) take(to_float(values[c]), to_float(taps[c]));
    }
  }
}

/// Passes the terms of the gradient of input i to `take`.
template <typename T, typename Take>
__device__ void each_of_data_gradient(const Plain& s, const T* dy, const T* weight, std::int64_t i, Take take) {
  const int channel = static_cast<int>(i % s.in_channels);
  const std::int64_t pixel = i / s.in_channels;
  const int w = static_cast<int>(pixel % s.in_width);
  const int h = static_cast<int>(pixel / s.in_width % s.in_height);
  const std::int64_t image = pixel / s.in_width / s.in_height;
  const int first_out = channel / s.group_in * s.group_out;
  const int c = channel % s.group_in;
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
      for (int k = 0; k < s.group_out; ++k) take(to_float(gradients[k]), to_float(taps[k * filter]));
    }
  }
}

/// Passes the terms of the gradient of weight i to `take`, for every `step`-th output pixel from `first` on.
template <typename T, typename Take>
__device__ void each_of_filter_gradient(const Plain& s, const T* x, const T* dy, std::int64_t i, std::int64_t first,
                                        std::int64_t step, Take take) {
  const int c = static_cast<int>(i % s.group_in);
  const int t = static_cast<int>(i / s.group_in % s.kernel_w);
  const int r = static_cast<int>(i / s.group_in / s.kernel_w % s.kernel_h);
  const int k = static_cast<int>(i / s.group_in / s.kernel_w / s.kernel_h);
  const int channel = k / s.group_out * s.group_in + c;
  const std::int64_t pixels = std::int64_t{s.images} * s.out_height * s.out_width;
  for (std::int64_t pixel = first; pixel < pixels; pixel += step) {
    const int w = static_cast<int>(pixel % s.out_width) * s.stride_w - s.pad_left + t;
    const int h = static_cast<int>(pixel / s.out_width % s.out_height) * s.stride_h - s.pad_top + r;
    if (w < 0 || w >= s.in_width || h < 0 || h >= s.in_height) continue;
    const std::int64_t image = pixel / s.out_width / s.out_height;
    take(to_float(x[((image * s.in_height + h) * s.in_width + w) * s.in_channels + channel]),
         to_float(dy[pixel * s.out_channels + k]));
  }
}

}  // namespace lockstep::cuda
