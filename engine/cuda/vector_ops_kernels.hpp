#pragma once
// Launches the kernels of CudaVectorOps. Every function enqueues on `stream` of the current device and returns.
//
// Element-wise kernels do the same operations as HostVectorOps, without fused multiply-adds. Those would change the
// last bit but not the speed, which memory limits. Reductions are in double, in an order that depends only on the
// number of elements, so that the same input gives the same bits on every GPU.
#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/sync/adam.hpp"

namespace lockstep::cuda {

constexpr int kMostInputs = 16;      ///< per accumulate()
constexpr int kMostDotBlocks = 512;  ///< number of partial sums of a dot product

/// At most kChunkElements elements of one segment, the work of one thread block.
struct Chunk {
  std::int64_t begin;
  std::int32_t count;
  std::int32_t segment;
  bool is_weight;
};
constexpr std::int32_t kChunkElements = 8192;

/// The chunks of one segment.
struct ChunkRange {
  std::int32_t first;
  std::int32_t count;
};

/// Holds a layout in device memory, with buffers for the results of a reduction over its segments.
struct SegmentTable {
  const Chunk* chunks;
  std::int32_t chunk_count;
  const ChunkRange* ranges;       ///< per segment
  double* partials;               ///< 2 per chunk
  double* squares;                ///< 2 per segment: |x_s|^2, |y_s|^2
  std::uint32_t* arrived;         ///< per segment, 0 between launches
  std::int32_t segment_count;     ///< copy for the host
  const double* guard = nullptr;  ///< nothing is updated if it is not finite; null: always updated
};

/// Buffers for one dot product.
struct DotRoom {
  double* partials;        ///< kMostDotBlocks
  double* result;          ///< 1
  std::uint32_t* arrived;  ///< 1, 0 between launches
};

struct Inputs {
  const float* of[kMostInputs];
  int count;
};

/// The scalars of an update, which are the same for every weight.
struct UpdateScalars {
  double learning_rate;
  double momentum;
  double weight_decay;
};

struct LarsScalars {
  double coefficient;
  double epsilon;
};

void launch_scale(cudaStream_t stream, std::int64_t n, float a, float* x);
void launch_axpy(cudaStream_t stream, std::int64_t n, float a, const float* x, float* y);
void launch_elastic_pull(cudaStream_t stream, std::int64_t n, float alpha, const float* z, float* w, float* sum);
void launch_average_model_update(cudaStream_t stream, std::int64_t n, float momentum, const float* sum, float* z,
                                 float* previous);
/// y <- scale * (y + inputs) if is_further, else scale * (inputs), summed in order.
void launch_accumulate(cudaStream_t stream, std::int64_t n, const Inputs& inputs, bool is_further, float scale,
                       float* y);
/// room.result <- x . y
void launch_dot(cudaStream_t stream, std::int64_t n, const float* x, const float* y, const DotRoom& room);

/// table.squares <- |x_s|^2, and |y_s|^2 unless y is null, for every segment s.
void launch_squares(cudaStream_t stream, const SegmentTable& table, const float* x, const float* y);
void launch_sgd_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                       float* w);
void launch_momentum_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                            float* v, float* w);
void launch_nesterov_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                            float* v, float* w);
void launch_adam_update(cudaStream_t stream, const SegmentTable& table, const sync::AdamScalars& step, const float* g,
                        float* m, float* v, float* w);
/// Call after launch_squares(w, g): multiplies the rate of each weight segment by its trust ratio.
void launch_lars_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step,
                        const LarsScalars& lars, const float* g, float* v, float* w);
void launch_corrected_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, float alpha,
                             const float* g, const float* z, float* w, float* sum);

}  // namespace lockstep::cuda
