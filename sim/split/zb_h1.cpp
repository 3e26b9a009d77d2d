#include <algorithm>

#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {

StageOps zb_h1(const PipelineShape& shape, int stage) {
  const int m = shape.micro_batches;
  const int warm_up = std::min(shape.stages - 1 - stage, m);
  StageOps ops;
  int forward = 0, backward = 0, weight_gradient = 0;
  const auto pass_backward = [&] {
    ops.push_back({Pass::input_gradient, backward++, 0});
    if (backward > stage) ops.push_back({Pass::weight_gradient, weight_gradient++, 0});
  };
  while (forward < warm_up) ops.push_back({Pass::forward, forward++, 0});
  while (forward < m) {
    ops.push_back({Pass::forward, forward++, 0});
    pass_backward();
  }
  while (backward < m) pass_backward();
  while (weight_gradient < m) ops.push_back({Pass::weight_gradient, weight_gradient++, 0});
  return ops;
}

}  // namespace lockstep::sim::split
