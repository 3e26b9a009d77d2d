#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {
namespace {

// Returns the k-th pass of a stage in one direction. p micro-batches pass the first chunk, then the same pass the next.
PipelineOp forward_pass(int k, const PipelineShape& shape) {
  const int in_round = k % (shape.stages * shape.chunks);
  const int round = k / (shape.stages * shape.chunks);
  return {Pass::forward, round * shape.stages + in_round % shape.stages, in_round / shape.stages};
}

PipelineOp backward_pass(int k, const PipelineShape& shape) {
  const PipelineOp mirrored = forward_pass(k, shape);
  return {Pass::backward, mirrored.micro_batch, shape.chunks - 1 - mirrored.chunk};
}

}  // namespace

StageOps interleaved(const PipelineShape& shape, int stage) {
  const int passes = shape.micro_batches * shape.chunks;
  const int warm_up = std::min(2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * shape.stages, passes);
  StageOps ops;
  ops.reserve(2 * to_index(passes));
  int forward = 0, backward = 0;
  while (forward < warm_up) ops.push_back(forward_pass(forward++, shape));
  while (forward < passes) {
    ops.push_back(forward_pass(forward++, shape));
    ops.push_back(backward_pass(backward++, shape));
  }
  while (backward < passes) ops.push_back(backward_pass(backward++, shape));
  return ops;
}

}  // namespace lockstep::sim::split
