#include "sim/schedule/passes.hpp"

#include "engine/base/index.hpp"

namespace lockstep::sim {

Segment forward_segment(const model::Graph& graph, const ModelCost& cost, int from, int to) {
  Segment segment;
  for (int i = from; i <= to; ++i) {
    const double seconds = cost.layers[at(i)].forward_s;
    if (seconds <= 0) continue;
    segment.seconds += seconds;
    segment.parts.push_back({graph.layers[at(i)].name, seconds});
  }
  return segment;
}

Segment backward_segment(const model::Graph& graph, const ModelCost& cost, int from, int to) {
  Segment segment;
  for (int i = from; i >= to; --i) {
    const double seconds = cost.layers[at(i)].backward_s;
    if (seconds <= 0) continue;
    segment.seconds += seconds;
    segment.parts.push_back({graph.layers[at(i)].name, seconds});
  }
  return segment;
}

int InputPipeline::next(int step_before) {
  std::vector<int> buffer_free;
  const int step = static_cast<int>(used_.size());
  if (loading_.blocking) {
    if (step_before >= 0) buffer_free.push_back(step_before);
  } else if (step >= loading_.prefetch) {
    buffer_free.push_back(used_[at(step - loading_.prefetch)]);
  }
  const int loaded = gpu_.copy(load_stream_, "load", loading_.load_s, buffer_free);
  return gpu_.copy(copy_stream_, "to device", loading_.to_device_s, {loaded});
}

}  // namespace lockstep::sim
