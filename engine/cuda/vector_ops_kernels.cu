#include <algorithm>
#include <cstdint>

#include "engine/cuda/runtime.hpp"
#include "engine/cuda/vector_ops_kernels.hpp"

namespace lockstep::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 4096;

/// Arrays that an element-wise operation reads, and those that it reads and writes.
template <int kRead, int kWrite>
struct Arrays {
  const float* read[kRead > 0 ? kRead : 1];
  float* write[kWrite];
};

// ---- operations on one element: `in` has the values of Arrays::read, `out` those of Arrays::write ----

struct Scale {
  static constexpr int kRead = 0, kWrite = 1;
  float a;
  __device__ void operator()(const float*, float* out) const { out[0] *= a; }
};

struct Axpy {
  static constexpr int kRead = 1, kWrite = 1;
  float a;
  __device__ void operator()(const float* in, float* out) const { out[0] += a * in[0]; }
};

struct ElasticPull {  // z; w, sum
  static constexpr int kRead = 1, kWrite = 2;
  float alpha;
  __device__ void operator()(const float* in, float* out) const {
    const float correction = alpha * (out[0] - in[0]);
    out[0] -= correction;
    out[1] += correction;
  }
};

struct AverageModelUpdate {  // sum; z, previous
  static constexpr int kRead = 1, kWrite = 2;
  float momentum;
  __device__ void operator()(const float* in, float* out) const {
    const float before = out[0];
    out[0] += in[0] + momentum * (before - out[1]);
    out[1] = before;
  }
};

struct SgdUpdate {  // g; w
  static constexpr int kRead = 1, kWrite = 1;
  float rate, decay;
  __device__ void operator()(const float* in, float* out) const { out[0] -= rate * (in[0] + decay * out[0]); }
};

struct MomentumUpdate {  // g; v, w
  static constexpr int kRead = 1, kWrite = 2;
  float rate, decay, momentum;
  __device__ void operator()(const float* in, float* out) const {
    out[0] = momentum * out[0] - rate * (in[0] + decay * out[1]);
    out[1] += out[0];
  }
};

struct NesterovUpdate {  // g; v, w
  static constexpr int kRead = 1, kWrite = 2;
  float rate, decay, momentum;
  __device__ void operator()(const float* in, float* out) const {
    const float step_down = rate * (in[0] + decay * out[1]);
    out[0] = momentum * out[0] - step_down;
    out[1] += momentum * out[0] - step_down;
  }
};

struct AdamUpdate {  // g; m, v, w
  static constexpr int kRead = 1, kWrite = 3;
  sync::AdamScalars s;
  __device__ void operator()(const float* in, float* out) const {
    const float h = in[0] + s.coupled * out[2];
    out[0] = s.beta1 * out[0] + s.one_minus_beta1 * h;
    out[1] = s.beta2 * out[1] + s.one_minus_beta2 * h * h;
    out[2] -= s.shrink * out[2];
    out[2] -= s.rate * out[0] / (sqrtf(out[1]) * s.root + s.epsilon);
  }
};

struct CorrectedUpdate {  // g, z; w, sum
  static constexpr int kRead = 2, kWrite = 2;
  float rate, decay, alpha;
  __device__ void operator()(const float* in, float* out) const {
    const float correction = alpha * (out[0] - in[1]);
    out[0] -= rate * (in[0] + decay * out[0]) + correction;
    out[1] += correction;
  }
};

// ---- sweeps ----

template <typename Op>
using ArraysOf = Arrays<Op::kRead, Op::kWrite>;

template <typename Op>
__device__ void apply_to_one(const ArraysOf<Op>& arrays, const Op& op, std::int64_t i) {
  float in[Op::kRead > 0 ? Op::kRead : 1] = {};
  float out[Op::kWrite];
#pragma unroll
  for (int k = 0; k < Op::kRead; ++k) in[k] = arrays.read[k][i];
#pragma unroll
  for (int k = 0; k < Op::kWrite; ++k) out[k] = arrays.write[k][i];
  op(in, out);
#pragma unroll
  for (int k = 0; k < Op::kWrite; ++k) arrays.write[k][i] = out[k];
}

__device__ float& lane_of(float4& four, int lane) {
  return lane == 0 ? four.x : lane == 1 ? four.y : lane == 2 ? four.z : four.w;
}

template <typename Op>
__device__ void apply_to_four(const ArraysOf<Op>& arrays, const Op& op, std::int64_t i) {
  float4 in[Op::kRead > 0 ? Op::kRead : 1];
  float4 out[Op::kWrite];
#pragma unroll
  for (int k = 0; k < Op::kRead; ++k) in[k] = *reinterpret_cast<const float4*>(arrays.read[k] + i);
#pragma unroll
  for (int k = 0; k < Op::kWrite; ++k) out[k] = *reinterpret_cast<const float4*>(arrays.write[k] + i);
#pragma unroll
  for (int lane = 0; lane < 4; ++lane) {
    float in_lane[Op::kRead > 0 ? Op::kRead : 1] = {};
    float out_lane[Op::kWrite];
#pragma unroll
    for (int k = 0; k < Op::kRead; ++k) in_lane[k] = lane_of(in[k], lane);
#pragma unroll
    for (int k = 0; k < Op::kWrite; ++k) out_lane[k] = lane_of(out[k], lane);
    op(in_lane, out_lane);
#pragma unroll
    for (int k = 0; k < Op::kWrite; ++k) lane_of(out[k], lane) = out_lane[k];
  }
#pragma unroll
  for (int k = 0; k < Op::kWrite; ++k) *reinterpret_cast<float4*>(arrays.write[k] + i) = out[k];
}

/// Applies `op` to [begin, end). This is thread `first` of `threads`. Uses vectors of four if arrays are aligned.
template <typename Op>
__device__ void sweep(const ArraysOf<Op>& arrays, const Op& op, std::int64_t begin, std::int64_t end, bool is_aligned,
                      std::int64_t first, std::int64_t threads) {
  const std::int64_t body = is_aligned ? min(end, (begin + 3) / 4 * 4) : end;
  const std::int64_t tail = max(body, end / 4 * 4);
  for (std::int64_t i = begin + first; i < body; i += threads) apply_to_one(arrays, op, i);
  for (std::int64_t i = body + 4 * first; i < tail; i += 4 * threads) apply_to_four(arrays, op, i);
  for (std::int64_t i = tail + first; i < end; i += threads) apply_to_one(arrays, op, i);
}

template <typename Op>
__global__ void __launch_bounds__(kThreads)
    sweep_all(std::int64_t n, ArraysOf<Op> arrays, bool is_aligned, const Op op) {
  sweep(arrays, op, 0, n, is_aligned, blockIdx.x * std::int64_t{kThreads} + threadIdx.x,
        gridDim.x * std::int64_t{kThreads});
}

__device__ bool is_held_back(const double* guard) {
  return guard != nullptr && !isfinite(*guard);
}

template <typename Op>
__device__ void leave_decay_out(Op& op) {
  op.decay = 0;
}
__device__ void leave_decay_out(AdamUpdate& op) {
  op.s.coupled = op.s.shrink = 0;
}

/// Runs one block per chunk, with weight decay on weights only.
template <typename Op>
__global__ void __launch_bounds__(kThreads)
    sweep_chunks(const Chunk* chunks, const double* guard, ArraysOf<Op> arrays, bool is_aligned, Op op) {
  if (is_held_back(guard)) return;
  const Chunk chunk = chunks[blockIdx.x];
  if (!chunk.is_weight) leave_decay_out(op);
  sweep(arrays, op, chunk.begin, chunk.begin + chunk.count, is_aligned, threadIdx.x, kThreads);
}

/// Does what trust_ratio() of engine/sync/lars.hpp does.
__device__ double trust_ratio(const LarsScalars& lars, const double* squares, double weight_decay) {
  const double weight_norm = sqrt(squares[0]);
  const double gradient_norm = sqrt(squares[1]);
  if (weight_norm <= 0 || gradient_norm <= 0) return 1;
  return lars.coefficient * weight_norm / (gradient_norm + weight_decay * weight_norm + lars.epsilon);
}

__global__ void __launch_bounds__(kThreads)
    sweep_lars(const Chunk* chunks, const double* guard, const double* squares, ArraysOf<MomentumUpdate> arrays,
               bool is_aligned, UpdateScalars step, LarsScalars lars) {
  if (is_held_back(guard)) return;
  const Chunk chunk = chunks[blockIdx.x];
  __shared__ float rate;
  if (threadIdx.x == 0) {  // once per block: double-precision division is slow on some GPUs
    double trust = 1;
    if (chunk.is_weight) trust = trust_ratio(lars, squares + 2 * chunk.segment, step.weight_decay);
    rate = static_cast<float>(step.learning_rate * trust);
  }
  __syncthreads();
  const float decay = chunk.is_weight ? static_cast<float>(step.weight_decay) : 0.0F;
  const MomentumUpdate op{rate, decay, static_cast<float>(step.momentum)};
  sweep(arrays, op, chunk.begin, chunk.begin + chunk.count, is_aligned, threadIdx.x, kThreads);
}

__device__ void add_to(float4& sum, const float4& x) {
  sum.x += x.x;
  sum.y += x.y;
  sum.z += x.z;
  sum.w += x.w;
}

__global__ void __launch_bounds__(kThreads)
    accumulate(std::int64_t n, Inputs inputs, bool is_further, bool is_aligned, float scale, float* y) {
  const std::int64_t first = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  const std::int64_t threads = gridDim.x * std::int64_t{kThreads};
  const std::int64_t body_end = is_aligned ? n / 4 * 4 : 0;
  for (std::int64_t i = 4 * first; i < body_end; i += 4 * threads) {
    float4 sum = *reinterpret_cast<const float4*>((is_further ? y : inputs.of[0]) + i);
    for (int k = is_further ? 0 : 1; k < inputs.count; ++k)
      add_to(sum, *reinterpret_cast<const float4*>(inputs.of[k] + i));
    *reinterpret_cast<float4*>(y + i) = {sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale};
  }
  for (std::int64_t i = body_end + first; i < n; i += threads) {
    float sum = is_further ? y[i] : inputs.of[0][i];
    for (int k = is_further ? 0 : 1; k < inputs.count; ++k) sum += inputs.of[k][i];
    y[i] = sum * scale;
  }
}

// ---- reductions ----

__device__ double warp_sum(double x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffffU, x, offset);
  return x;
}

/// Returns the sum over the block's threads in thread 0.
__device__ double block_sum(double x) {
  __shared__ double of_warp[kThreads / 32];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  x = warp_sum(x);
  if (lane == 0) of_warp[warp] = x;
  __syncthreads();
  x = lane < kThreads / 32 ? of_warp[lane] : 0;
  if (warp == 0) x = warp_sum(x);
  __syncthreads();  // before of_warp is written again
  return x;
}

/// True in all threads of the last of `blocks` blocks to arrive. It sees all that the others wrote before.
__device__ bool comes_last(std::uint32_t* arrived, std::uint32_t blocks) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(arrived, 1U) == blocks - 1;
    if (is_last) *arrived = 0;
  }
  __syncthreads();
  __threadfence();
  return is_last;
}

/// Sums partials[0], partials[stride], ... over the block; thread 0 gets the result.
__device__ double sum_of_partials(const double* partials, int count, int stride) {
  double sum = 0;
  for (int k = static_cast<int>(threadIdx.x); k < count; k += kThreads)
    sum += __ldcg(partials + std::int64_t{k} * stride);
  return block_sum(sum);
}

__global__ void __launch_bounds__(kThreads) sum_squares(SegmentTable table, const float* x, const float* y) {
  const Chunk chunk = table.chunks[blockIdx.x];
  double x_sum = 0, y_sum = 0;
  for (int k = static_cast<int>(threadIdx.x); k < chunk.count; k += kThreads) {
    const double x_k = x[chunk.begin + k];
    x_sum += x_k * x_k;
    if (y) {
      const double y_k = y[chunk.begin + k];
      y_sum += y_k * y_k;
    }
  }
  x_sum = block_sum(x_sum);
  y_sum = block_sum(y_sum);
  if (threadIdx.x == 0) {
    table.partials[2 * blockIdx.x] = x_sum;
    table.partials[2 * blockIdx.x + 1] = y_sum;
  }
  const ChunkRange range = table.ranges[chunk.segment];
  if (!comes_last(table.arrived + chunk.segment, static_cast<std::uint32_t>(range.count))) return;
  const double* partials = table.partials + 2 * std::int64_t{range.first};
  x_sum = sum_of_partials(partials, range.count, 2);
  y_sum = sum_of_partials(partials + 1, range.count, 2);
  if (threadIdx.x == 0) {
    table.squares[2 * chunk.segment] = x_sum;
    table.squares[2 * chunk.segment + 1] = y_sum;
  }
}

__global__ void __launch_bounds__(kThreads) dot_product(std::int64_t n, const float* x, const float* y, DotRoom room) {
  double sum = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < n;
       i += gridDim.x * std::int64_t{kThreads})
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) room.partials[blockIdx.x] = sum;
  if (!comes_last(room.arrived, gridDim.x)) return;
  sum = sum_of_partials(room.partials, static_cast<int>(gridDim.x), 1);
  if (threadIdx.x == 0) *room.result = sum;
}

// ---- launches ----

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(float4) == 0;
}

template <int kRead, int kWrite>
bool are_aligned(const Arrays<kRead, kWrite>& arrays) {
  bool aligned = true;
  for (int k = 0; k < kRead; ++k) aligned = aligned && is_aligned(arrays.read[k]);
  for (int k = 0; k < kWrite; ++k) aligned = aligned && is_aligned(arrays.write[k]);
  return aligned;
}

unsigned blocks_for(std::int64_t n) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((n + 4 * kThreads - 1) / (4 * kThreads), 1, kMostBlocks));
}

template <typename Op>
void launch_sweep(cudaStream_t stream, std::int64_t n, const ArraysOf<Op>& arrays, const Op& op) {
  if (n == 0) return;
  sweep_all<Op><<<blocks_for(n), kThreads, 0, stream>>>(n, arrays, are_aligned(arrays), op);
  LOCKSTEP_CUDA_CHECK(cudaGetLastError());
}

template <typename Op>
void launch_on_chunks(cudaStream_t stream, const SegmentTable& table, const ArraysOf<Op>& arrays, const Op& op) {
  sweep_chunks<Op><<<static_cast<unsigned>(table.chunk_count), kThreads, 0, stream>>>(table.chunks, table.guard, arrays,
                                                                                      are_aligned(arrays), op);
  LOCKSTEP_CUDA_CHECK(cudaGetLastError());
}

float as_float(double x) {
  return static_cast<float>(x);
}

}  // namespace

void launch_scale(cudaStream_t stream, std::int64_t n, float a, float* x) {
  launch_sweep<Scale>(stream, n, {{nullptr}, {x}}, {a});
}

void launch_axpy(cudaStream_t stream, std::int64_t n, float a, const float* x, float* y) {
  launch_sweep<Axpy>(stream, n, {{x}, {y}}, {a});
}

void launch_elastic_pull(cudaStream_t stream, std::int64_t n, float alpha, const float* z, float* w, float* sum) {
  launch_sweep<ElasticPull>(stream, n, {{z}, {w, sum}}, {alpha});
}

void launch_average_model_update(cudaStream_t stream, std::int64_t n, float momentum, const float* sum, float* z,
                                 float* previous) {
  launch_sweep<AverageModelUpdate>(stream, n, {{sum}, {z, previous}}, {momentum});
}

void launch_accumulate(cudaStream_t stream, std::int64_t n, const Inputs& inputs, bool is_further, float scale,
                       float* y) {
  if (n == 0) return;
  bool aligned = is_aligned(y);
  for (int k = 0; k < inputs.count; ++k) aligned = aligned && is_aligned(inputs.of[k]);
  accumulate<<<blocks_for(n), kThreads, 0, stream>>>(n, inputs, is_further, aligned, scale, y);
  LOCKSTEP_CUDA_CHECK(cudaGetLastError());
}

void launch_dot(cudaStream_t stream, std::int64_t n, const float* x, const float* y, const DotRoom& room) {
  const unsigned blocks = std::min<unsigned>(blocks_for(n), kMostDotBlocks);
  dot_product<<<blocks, kThreads, 0, stream>>>(n, x, y, room);
  LOCKSTEP_CUDA_CHECK(cudaGetLastError());
}

void launch_squares(cudaStream_t stream, const SegmentTable& table, const float* x, const float* y) {
  sum_squares<<<static_cast<unsigned>(table.chunk_count), kThreads, 0, stream>>>(table, x, y);
  LOCKSTEP_CUDA_CHECK(cudaGetLastError());
}

void launch_sgd_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                       float* w) {
  launch_on_chunks<SgdUpdate>(stream, table, {{g}, {w}}, {as_float(step.learning_rate), as_float(step.weight_decay)});
}

void launch_momentum_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                            float* v, float* w) {
  launch_on_chunks<MomentumUpdate>(
      stream, table, {{g}, {v, w}},
      {as_float(step.learning_rate), as_float(step.weight_decay), as_float(step.momentum)});
}

void launch_nesterov_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                            float* v, float* w) {
  launch_on_chunks<NesterovUpdate>(
      stream, table, {{g}, {v, w}},
      {as_float(step.learning_rate), as_float(step.weight_decay), as_float(step.momentum)});
}

void launch_adam_update(cudaStream_t stream, const SegmentTable& table, const sync::AdamScalars& step, const float* g,
                        float* m, float* v, float* w) {
  launch_on_chunks<AdamUpdate>(stream, table, {{g}, {m, v, w}}, {step});
}

void launch_lars_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step,
                        const LarsScalars& lars, const float* g, float* v, float* w) {
  const ArraysOf<MomentumUpdate> arrays{{g}, {v, w}};
  sweep_lars<<<static_cast<unsigned>(table.chunk_count), kThreads, 0, stream>>>(
      table.chunks, table.guard, table.squares, arrays, are_aligned(arrays), step, lars);
  LOCKSTEP_CUDA_CHECK(cudaGetLastError());
}

void launch_corrected_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, float alpha,
                             const float* g, const float* z, float* w, float* sum) {
  launch_on_chunks<CorrectedUpdate>(stream, table, {{g, z}, {w, sum}},
                                    {as_float(step.learning_rate), as_float(step.weight_decay), alpha});
}

}  // namespace lockstep::cuda
