// Softmax cross-entropy and its gradient in one kernel, the loss of a pass, and the count of correct answers.
#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

constexpr int kWarps = kThreads / 32;

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Plus {
  template <typename Real>
  __device__ Real operator()(Real a, Real b) const {
    return a + b;
  }
};

/// Combines the values of all threads of a block in a fixed order and returns the result to each; ends with a barrier.
template <typename Real, typename Combine>
__device__ Real over_block(Real value, Combine combine) {
  __shared__ Real of_warp[kWarps];
  for (int distance = 16; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, distance));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  Real result = of_warp[0];
  for (int i = 1; i < kWarps; ++i) result = combine(result, of_warp[i]);
  __syncthreads();
  return result;
}

/// One block per image.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    cross_entropy(SoftmaxHead head, const std::int32_t* __restrict__ labels, const PassState* __restrict__ state) {
  const int classes = head.scores.pixels * head.scores.channels;
  const std::int64_t first = std::int64_t{blockIdx.x} * classes;
  const T* z = static_cast<const T*>(head.scores.values) + first;
  const int label = labels[blockIdx.x] % head.scores.pixels * head.scores.channels +
                    labels[blockIdx.x] / head.scores.pixels;  // the label's index, channels last
  float largest = -INFINITY;
  for (int k = static_cast<int>(threadIdx.x); k < classes; k += kThreads) largest = fmaxf(largest, to_float(z[k]));
  largest = over_block(largest, Larger{});
  float sum = 0;
  for (int k = static_cast<int>(threadIdx.x); k < classes; k += kThreads) sum += expf(to_float(z[k]) - largest);
  sum = over_block(sum, Plus{});
  const float share = head.weight / static_cast<float>(head.scores.images);
  if (threadIdx.x == 0) head.losses[blockIdx.x] = share * (logf(sum) + (largest - to_float(z[label])));
  if (head.gradient == nullptr) return;
  T* gradient = static_cast<T*>(head.gradient) + first;
  const float scale = share * state->loss_scale;
  for (int k = static_cast<int>(threadIdx.x); k < classes; k += kThreads) {
    float dz[1] = {scale * (expf(to_float(z[k]) - largest) / sum - (k == label ? 1.0F : 0.0F))};
    store_or_add<1>(dz, gradient + k, head.accumulate);
  }
}

__global__ void __launch_bounds__(kThreads) add_losses(const float* __restrict__ losses, int count, PassState* state) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) sum += static_cast<double>(losses[i]);
  sum = over_block(sum, Plus{});
  if (threadIdx.x == 0) state->loss = sum;
}

/// One block; each warp takes an image in turn and compares the label with the first of the largest scores.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    compare(Scores scores, const std::int32_t* __restrict__ labels, PassState* state) {
  const int classes = scores.pixels * scores.channels;
  int right = 0;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int image = static_cast<int>(threadIdx.x / 32); image < scores.images; image += kWarps) {
    const T* z = static_cast<const T*>(scores.values) + std::int64_t{image} * classes;
    float best = -INFINITY;
    int at = classes;
    for (int k = lane; k < classes; k += 32) {  // in order of class number
      const float score = to_float(z[k % scores.pixels * scores.channels + k / scores.pixels]);
      if (score > best || at == classes) {
        best = score;
        at = k;
      }
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      const float other = __shfl_xor_sync(0xFFFFFFFFU, best, distance);
      const int other_at = __shfl_xor_sync(0xFFFFFFFFU, at, distance);
      if (other > best || (other == best && other_at < at)) {
        best = other;
        at = other_at;
      }
    }
    if (lane == 0 && at == labels[image]) ++right;
  }
  const int all = over_block(right, Plus{});
  if (threadIdx.x == 0) state->correct = all;
}

}  // namespace

void softmax_loss(Element element, const SoftmaxHead& head, const std::int32_t* labels, const PassState* state,
                  cudaStream_t stream) {
  const auto images = static_cast<unsigned>(head.scores.images);
  with_type(element,
            [&](auto type) { cross_entropy<decltype(type)><<<images, kThreads, 0, stream>>>(head, labels, state); });
  check_launch("cross_entropy");
}

void sum_losses(const float* losses, int count, PassState* state, cudaStream_t stream) {
  add_losses<<<1, kThreads, 0, stream>>>(losses, count, state);
  check_launch("add_losses");
}

void count_correct(Element element, const Scores& scores, const std::int32_t* labels, PassState* state,
                   cudaStream_t stream) {
  with_type(element, [&](auto type) { compare<decltype(type)><<<1, kThreads, 0, stream>>>(scores, labels, state); });
  check_launch("compare");
}

}  // namespace lockstep::cuda
