// Copies a staging buffer into a pass: images NCHW float -> NHWC elements, labels, and the pass state.
#include <algorithm>

#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

__device__ void note_pass(const Staged& from, std::int64_t image, std::int32_t* labels, PassState* state) {
  labels[image] = from.labels[image];
  if (image != 0) return;
  state->parameters = from.parameters;
  state->step = from.step;
  state->overflow = 0;
}

/// Places a coordinate between two pixels of an axis: (1 - weight) of low plus weight of high.
struct Between {
  int low, high;
  float weight;
  __device__ Between(double coordinate, int size) {
    const double inside = fmin(fmax(coordinate, 0.0), static_cast<double>(size - 1));
    low = static_cast<int>(inside);
    high = min(low + 1, size - 1);
    weight = static_cast<float>(inside - low);
  }
};

/// Converts bytes to floats and rotates images if requested (engine/data/augment.cpp); else as to_channels_last().
template <typename T>
__global__ void __launch_bounds__(kThreads)
    bytes_to_channels_last(Staged from, T* __restrict__ input, int height, int width, int channels, int stored,
                           std::int32_t* __restrict__ labels, PassState* state) {
  const std::int64_t image = blockIdx.y;
  const int pixel = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  const int pixels = height * width;
  if (pixel == 0) note_pass(from, image, labels, state);
  if (pixel >= pixels) return;
  const std::uint8_t* plane = from.bytes + image * channels * pixels;
  T* target = input + (image * pixels + pixel) * stored;
  if (from.turns == nullptr) {
    for (int c = 0; c < stored; ++c)
      target[c] = from_float<T>(c < channels ? from.values[256 * c + plane[std::int64_t{c} * pixels + pixel]] : 0);
    return;
  }
  const ImageTurn turn = from.turns[image];
  const double centre_x = (width - 1) / 2.0, centre_y = (height - 1) / 2.0;
  const double dx = pixel % width - centre_x, dy = pixel / width - centre_y;
  const Between x(centre_x + turn.cosine * dx - turn.sine * dy, width);
  const Between y(centre_y + turn.sine * dx + turn.cosine * dy, height);
  for (int c = 0; c < stored; ++c) {
    float value = 0;
    if (c < channels) {
      const float* values = from.values + 256 * c;
      const std::uint8_t* top = plane + std::int64_t{c} * pixels + y.low * width;
      const std::uint8_t* bottom = plane + std::int64_t{c} * pixels + y.high * width;
      const float above = values[top[x.low]] + x.weight * (values[top[x.high]] - values[top[x.low]]);
      const float below = values[bottom[x.low]] + x.weight * (values[bottom[x.high]] - values[bottom[x.low]]);
      value = above + y.weight * (below - above);
    }
    target[c] = from_float<T>(value);
  }
}

/// One thread per pixel. Reads are coalesced; each thread writes `stored` consecutive elements. Grid: pixels, images.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    to_channels_last(Staged from, T* __restrict__ input, int pixels, int channels, int stored,
                     std::int32_t* __restrict__ labels, PassState* state) {
  const std::int64_t image = blockIdx.y;
  const int pixel = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (pixel == 0) note_pass(from, image, labels, state);
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
    if (from.bytes != nullptr) {
      bytes_to_channels_last<<<grid, kThreads, 0, stream>>>(from, static_cast<T*>(input.data), input.height,
                                                            input.width, image_channels, input.channels, labels, state);
      return;
    }
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
