#include <algorithm>

#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {
namespace {

// Collects a stage's passes in the given order. Each kind of pass takes a chunk's micro-batches in their order.
class FoldedOrder {
 public:
  explicit FoldedOrder(int micro_batches) : micro_batches_(micro_batches) {}

  int forwards(int chunk) const { return forwards_[chunk]; }
  void forward(int chunk) { add(Pass::forward, chunk, forwards_[chunk]++); }
  void input_gradient(int chunk) { add(Pass::input_gradient, chunk, inputs_[chunk]++); }
  void weight_gradient(int chunk) { add(Pass::weight_gradient, chunk, weights_[chunk]++); }
  void both_gradients(int chunk) {
    input_gradient(chunk);
    weight_gradient(chunk);
  }
  void remaining_weight_gradients(int chunk) {
    while (weights_[chunk] < inputs_[chunk]) weight_gradient(chunk);
  }
  StageOps take() { return std::move(ops_); }

 private:
  // Skips micro-batches that do not exist: zb_v() orders the passes of at least 2 stages - 1 micro-batches.
  void add(Pass pass, int chunk, int micro_batch) {
    if (micro_batch < micro_batches_) ops_.push_back({pass, micro_batch, chunk});
  }

  int micro_batches_;
  int forwards_[2] = {0, 0}, inputs_[2] = {0, 0}, weights_[2] = {0, 0};
  StageOps ops_;
};

}  // namespace

StageOps zb_v(const PipelineShape& shape, int stage) {
  const int p = shape.stages, filled = std::max(2 * p - 1, shape.micro_batches);
  FoldedOrder order(shape.micro_batches);
  for (int i = 0; i < 2 * (p - stage) - 1; ++i) order.forward(0);
  for (int i = 0; i < stage; ++i) {
    order.forward(1);
    order.forward(0);
  }
  for (int i = 0; i < p - stage; ++i) {
    order.forward(1);
    order.both_gradients(1);
  }
  while (order.forwards(1) < order.forwards(0) || order.forwards(0) < filled) {
    if (order.forwards(0) < filled) order.forward(0);
    order.both_gradients(0);
    order.forward(1);
    order.both_gradients(1);
  }
  for (int i = 0; i < stage; ++i) {
    order.input_gradient(0);
    order.input_gradient(1);
  }
  for (int i = 0; i < p - stage; ++i) {
    order.input_gradient(0);
    order.weight_gradient(0);
  }
  order.remaining_weight_gradients(1);
  order.remaining_weight_gradients(0);
  return order.take();
}

}  // namespace lockstep::sim::split
