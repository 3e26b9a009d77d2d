// From a staging buffer into a pass: images NCHW float -> NHWC elements, labels, and what the pass must know.
#include <algorithm>

#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

/// A thread per pixel: reads are together across threads, writes are `stored` elements in a row. Grid: pixels, images.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    to_channels_last(Staged from, T* __restrict__ input, int pixels, int channels, int stored,
                     std::int32_t* __restrict__ labels, PassState* state) {
  const std::int64_t image = blockIdx.y;
  const int pixel = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (pixel == 0) {
    labels[image] = from.labels[image];
    if (image == 0) {
      state->parameters = from.parameters;
      state->step = from.step;
      state->overflow = 0;
    }
  }
  if (pixel >= pixels) return;
  const float* source = from.images + image * channels * pixels + pixel;
  T* target = input + (image * pixels + pixel) * stored;
  for (int c = 0; c < stored; ++c) {
    target[c] = from_float<T>(c < channels ? source[std::int64_t{c} * pixels] : 0);
  }
}

__global__ void write_state(PassState* state, PassState value) {
  *state = value;
}

__global__ void write_scale(PassState* state, float scale) {
  state->loss_scale = scale;
  state->automatic = 0;
}

}  // namespace

void stage_input(Element element, const Staged& from, const Tensor& input, int image_channels, std::int32_t* labels,
                 PassState* state, cudaStream_t stream) {
  const dim3 grid(blocks_for(input.pixels()), static_cast<unsigned>(input.images));
  with_type(element, [&](auto type) {
    using T = decltype(type);
    to_channels_last<<<grid, kThreads, 0, stream>>>(from, static_cast<T*>(input.data), static_cast<int>(input.pixels()),
                                                    image_channels, input.channels, labels, state);
  });
  check_launch("to_channels_last");
}

void start_state(PassState* state, float loss_scale, bool automatic, cudaStream_t stream) {
  PassState value{};
  value.loss_scale = loss_scale;
  value.automatic = automatic ? 1 : 0;
  write_state<<<1, 1, 0, stream>>>(state, value);
  check_launch("write_state");
}

void set_loss_scale(PassState* state, float scale, cudaStream_t stream) {
  write_scale<<<1, 1, 0, stream>>>(state, scale);
  check_launch("write_scale");
}

}  // namespace lockstep::cuda
