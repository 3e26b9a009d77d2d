// Convolution by its definition, in float, one thread per result. For shapes for which cuDNN offers no plan, and as a
// reference in tests.
#include "engine/cuda/direct_terms.cuh"

namespace lockstep::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    forward(Plain s, const T* __restrict__ x, const T* __restrict__ weight, T* __restrict__ y, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  each_forward(s, x, weight, i, [&](float a, float b) { sum = fmaf(a, b, sum); });
  y[i] = from_float<T>(sum);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    data_gradient(Plain s, const T* __restrict__ dy, const T* __restrict__ weight, T* __restrict__ dx,
                  std::int64_t count, bool accumulate) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  float sum[1] = {0};
  each_of_data_gradient(s, dy, weight, i, [&](float a, float b) { sum[0] = fmaf(a, b, sum[0]); });
  store_or_add<1>(sum, dx + i, accumulate);
}

/// One block per weight; its threads divide the pixels.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    filter_gradient(Plain s, const T* __restrict__ x, const T* __restrict__ dy, T* __restrict__ weight_gradient) {
  __shared__ float parts[kThreads];
  float sum = 0;
  each_of_filter_gradient(s, x, dy, blockIdx.x, threadIdx.x, kThreads,
                          [&](float a, float b) { sum = fmaf(a, b, sum); });
  parts[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) weight_gradient[blockIdx.x] = from_float<T>(parts[0]);
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
