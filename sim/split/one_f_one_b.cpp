#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {

StageOps one_f_one_b(const PipelineShape& shape, int stage) {
  const int warm_up = std::min(shape.stages - 1 - stage, shape.micro_batches);
  StageOps ops;
  ops.reserve(2 * to_index(shape.micro_batches));
  int forward = 0, backward = 0;
  while (forward < warm_up) ops.push_back({Pass::forward, forward++, 0});
  while (forward < shape.micro_batches) {
    ops.push_back({Pass::forward, forward++, 0});
    ops.push_back({Pass::backward, backward++, 0});
  }
  while (backward < shape.micro_batches) ops.push_back({Pass::backward, backward++, 0});
  return ops;
}

}  // namespace lockstep::sim::split
