#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {
namespace {

// The passes of a stage in one direction. p micro-batches pass the first chunk, then the same pass the next.
class PassesInOrder {
 public:
  PassesInOrder(Pass pass, const PipelineShape& shape) : pass_(pass), shape_(shape) {}

  PipelineOp next() {
    const int chunk = pass_ == Pass::forward ? chunk_ : shape_.chunks - 1 - chunk_;
    const PipelineOp op{pass_, first_of_group_ + in_group_, chunk};
    if (++in_group_ == shape_.stages) {
      in_group_ = 0;
      if (++chunk_ == shape_.chunks) {
        chunk_ = 0;
        first_of_group_ += shape_.stages;
      }
    }
    return op;
  }

 private:
  Pass pass_;
  const PipelineShape& shape_;
  int first_of_group_ = 0, in_group_ = 0, chunk_ = 0;
};

}  // namespace

StageOps interleaved(const PipelineShape& shape, int stage) {
  const int passes = shape.micro_batches * shape.chunks;
  const int warm_up = std::min(2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * shape.stages, passes);
  StageOps ops;
  ops.reserve(2 * to_index(passes));
  PassesInOrder forward(Pass::forward, shape), backward(Pass::backward, shape);
  for (int pass = 0; pass < warm_up; ++pass) ops.push_back(forward.next());
  for (int pass = warm_up; pass < passes; ++pass) {
    ops.push_back(forward.next());
    ops.push_back(backward.next());
  }
  for (int pass = 0; pass < warm_up; ++pass) ops.push_back(backward.next());
  return ops;
}

}  // namespace lockstep::sim::split
