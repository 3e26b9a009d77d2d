#include "sim/schedule/passes.hpp"

#include "engine/base/index.hpp"

namespace lockstep::sim::schedule {

namespace {

// Sums the times of layers `from` to `to`, in ascending or descending order.
Segment segment_of(const model::Graph& graph, const ModelCost& cost, int from, int to, double LayerCost::*seconds_of) {
  Segment segment;
  std::vector<Part> parts;
  const int step = seconds_of == &LayerCost::forward_s ? 1 : -1;
  for (int i = from; step * (to - i) >= 0; i += step) {
    const double seconds = cost.layers[to_index(i)].*seconds_of;
    if (seconds <= 0) continue;
    segment.seconds += seconds;
    parts.push_back({graph.layers[to_index(i)].name, seconds});
  }
  if (!parts.empty()) segment.parts = std::make_shared<const std::vector<Part>>(std::move(parts));
  return segment;
}

}  // namespace

Segment forward_segment(const model::Graph& graph, const ModelCost& cost, int from, int to) {
  return segment_of(graph, cost, from, to, &LayerCost::forward_s);
}

Segment backward_segment(const model::Graph& graph, const ModelCost& cost, int from, int to) {
  return segment_of(graph, cost, from, to, &LayerCost::backward_s);
}

int enqueue_batch(Enqueue& gpu, const Loading& loading, const std::string& loading_name, int load_stream,
                  int copy_stream, const std::vector<int>& after) {
  using Source = Work::Source;
  std::vector<int> read = after;
  if (loading.read_bytes > 0)
    read = {gpu.copy_over_links(load_stream, "read", Source::file_server, loading.read_bytes, after)};
  const int loaded = gpu.copy(load_stream, loading_name, loading.load_s, read);
  if (loading.to_device_bytes <= 0) return gpu.copy(copy_stream, "to device", loading.to_device_s, {loaded});
  return gpu.copy_over_links(copy_stream, "to device", Source::host_memory, loading.to_device_bytes, {loaded});
}

int InputPipeline::next(int step_before) {
  std::vector<int> buffer_free;
  const int step = static_cast<int>(used_.size());
  if (loading_.blocking) {
    if (step_before >= 0) buffer_free.push_back(step_before);
  } else if (step >= loading_.prefetch) {
    buffer_free.push_back(used_[to_index(step - loading_.prefetch)]);
  }
  return enqueue_batch(gpu_, loading_, "load", load_stream_, copy_stream_, buffer_free);
}

}  // namespace lockstep::sim::schedule
