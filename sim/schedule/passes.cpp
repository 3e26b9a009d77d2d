#include "sim/schedule/passes.hpp"

#include "engine/base/index.hpp"

namespace lockstep::sim {
inline namespace schedule {

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
    buffer_free.push_back(used_[at(step - loading_.prefetch)]);
  }
  return enqueue_batch(gpu_, loading_, "load", load_stream_, copy_stream_, buffer_free);
}

}  // namespace schedule
}  // namespace lockstep::sim
