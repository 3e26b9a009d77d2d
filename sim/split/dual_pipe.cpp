#include <algorithm>
#include <deque>

#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {
namespace {

// Passes of a stage for two streams of micro-batches, which enter the pipeline at its two ends. The near chunk belongs
// to the stream that reaches the stage first, the far chunk to the other.
class TwoStreams {
 public:
  TwoStreams(int near_chunk, int first_of_near, int first_of_far) {
    streams_[0] = {near_chunk, first_of_near, first_of_near};
    streams_[1] = {1 - near_chunk, first_of_far, first_of_far};
  }

  void forward(int stream) { ops_.push_back({Pass::forward, streams_[stream].forward++, streams_[stream].chunk}); }
  void forward_beside_backward(int forward_stream, int backward_stream) {
    forward(forward_stream);
    ops_.back().is_beside_next = true;
    backward(backward_stream);
  }
  void backward(int stream) { ops_.push_back({Pass::backward, streams_[stream].backward++, streams_[stream].chunk}); }
  /// Postpones the weights' gradient to a later weight_gradient(), which computes the oldest one.
  void input_gradient(int stream) {
    ops_.push_back({Pass::input_gradient, streams_[stream].backward, streams_[stream].chunk});
    left_.push_back({Pass::weight_gradient, streams_[stream].backward++, streams_[stream].chunk});
  }
  void weight_gradient() {
    ops_.push_back(left_.front());
    left_.pop_front();
  }
  StageOps take() { return std::move(ops_); }

 private:
  struct Stream {
    int chunk = 0;
    int forward = 0, backward = 0;  // the next micro-batch in each direction
  };
  Stream streams_[2];
  std::deque<PipelineOp> left_;
  StageOps ops_;
};

// Makes the order of one stage. `half` stages lead from an end of the pipeline to its middle; this stage is number
// `place` of them. Each stream has `micro_batches` micro-batches.
StageOps dual_pipe_order(int half, int place, int micro_batches, TwoStreams order) {
  constexpr int kNear = 0, kFar = 1;
  for (int i = 0; i < 2 * (half - place - 1); ++i) order.forward(kNear);
  for (int i = 0; i < place + 1; ++i) {
    order.forward(kNear);
    order.forward(kFar);
  }
  for (int i = 0; i < half - place - 1; ++i) {
    order.input_gradient(kFar);
    order.weight_gradient();
    order.forward(kFar);
  }
  for (int i = 0; i < micro_batches - 2 * half + place + 1; ++i) {
    const bool is_first_of_middle = i == 0 && place == half - 1;
    if (is_first_of_middle) {
      order.forward(kNear);
      order.backward(kFar);
    } else {
      order.forward_beside_backward(kNear, kFar);
    }
    order.forward_beside_backward(kFar, kNear);
  }
  for (int i = 0; i < half - place - 1; ++i) {
    order.backward(kFar);
    order.forward_beside_backward(kFar, kNear);
  }
  // About half of the last passes postpone their weights' gradients to the end.
  const int last = place + 1, whole = 2 * (last / 2) + (place % 2 == 0 ? 1 : 0);
  for (int i = 0; i < 2 * last; ++i) {
    const int stream = i % 2 == 0 ? kFar : kNear;
    if (i < whole)
      order.backward(stream);
    else
      order.input_gradient(stream);
  }
  for (int i = 0; i < half - place - 1; ++i) {
    order.weight_gradient();
    order.input_gradient(kNear);
  }
  for (int i = 0; i < place + 1; ++i) order.weight_gradient();
  return order.take();
}

}  // namespace

StageOps dual_pipe(const PipelineShape& shape, int stage) {
  const int half = shape.stages / 2, each = shape.micro_batches / 2;
  const int place = std::min(stage, shape.stages - 1 - stage), near_chunk = stage < half ? 0 : 1;
  return dual_pipe_order(half, place, each, TwoStreams(near_chunk, near_chunk * each, (1 - near_chunk) * each));
}

StageOps dual_pipe_v(const PipelineShape& shape, int stage) {
  return dual_pipe_order(shape.stages, stage, shape.micro_batches, TwoStreams(0, 0, 0));
}

}  // namespace lockstep::sim::split
