#pragma once
// Launches of the kernels behind CudaVectorOps. Every function enqueues on `stream` of the current device and returns.
//
// Element-wise kernels compute what HostVectorOps computes, operation by operation and without fused multiply-adds
// (which would change the last bit, not the speed: they wait for memory). Reductions are in double, in an order that
// depends on the number of elements alone: the same input gives the same bits on every GPU.
#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/sync/adam.hpp"

namespace lockstep::cuda {

constexpr int kMostInputs = 16;      ///< of one accumulate()
constexpr int kMostDotBlocks = 512;  ///< partial sums of a dot product

/// At most kChunkElements elements of one segment: what a block of threads works on.
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

/// A layout in device memory, with room for what a reduction over its segments leaves.
struct SegmentTable {
  const Chunk* chunks;
  std::int32_t chunk_count;
  const ChunkRange* ranges;       ///< of each segment
  double* partials;               ///< 2 per chunk
  double* squares;                ///< 2 per segment: |x_s|^2, |y_s|^2
  std::uint32_t* arrived;         ///< per segment, 0 between launches
  std::int32_t segment_count;     ///< for the host
  const double* guard = nullptr;  ///< where it is not finite nothing is updated; null: always
};

/// Room for one dot product.
struct DotRoom {
  double* partials;        ///< kMostDotBlocks
  double* result;          ///< 1
  std::uint32_t* arrived;  ///< 1, 0 between launches
};

struct Inputs {
  const float* of[kMostInputs];
  int count;
};

/// What an update of the parameters does to every weight.
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
/// y <- scale * (y + inputs) when is_further, else scale * (inputs), summed in their order.
void launch_accumulate(cudaStream_t stream, std::int64_t n, const Inputs& inputs, bool is_further, float scale,
                       float* y);
/// room.result <- x . y
void launch_dot(cudaStream_t stream, std::int64_t n, const float* x, const float* y, const DotRoom& room);

/// table.squares <- of x, and of y unless it is null.
void launch_squares(cudaStream_t stream, const SegmentTable& table, const float* x, const float* y);
void launch_sgd_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                       float* w);
void launch_momentum_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                            float* v, float* w);
void launch_nesterov_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, const float* g,
                            float* v, float* w);
void launch_adam_update(cudaStream_t stream, const SegmentTable& table, const sync::AdamScalars& step, const float* g,
                        float* m, float* v, float* w);
/// After launch_squares(w, g): the rate of each weight segment times its trust ratio.
void launch_lars_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step,
                        const LarsScalars& lars, const float* g, float* v, float* w);
void launch_corrected_update(cudaStream_t stream, const SegmentTable& table, const UpdateScalars& step, float alpha,
                             const float* g, const float* z, float* w, float* sum);

}  // namespace lockstep::cuda
