#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {

StageOps gpipe(const PipelineShape& shape, int) {
  StageOps ops;
  for (int i = 0; i < shape.micro_batches; ++i) ops.push_back({Pass::forward, i, 0});
  for (int i = shape.micro_batches - 1; i >= 0; --i) ops.push_back({Pass::backward, i, 0});
  return ops;
}

}  // namespace lockstep::sim::split
