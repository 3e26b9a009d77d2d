#include "sim/schedule/fusion.hpp"

namespace lockstep::sim::schedule {

std::vector<Bucket> fuse_gradients(const model::Graph& graph, int wire_bytes_per_element, std::int64_t threshold_bytes,
                                   std::int64_t first_threshold_bytes) {
  std::vector<Bucket> buckets;
  Bucket open;
  std::string first, last;
  const auto send = [&] {
    open.name = open.tensors == 1 ? first : first + " .. " + last;
    buckets.push_back(open);
    open = Bucket{};
  };
  for (const model::Gradient& gradient : model::gradient_order(graph)) {
    const model::Layer& layer = graph.layers[static_cast<std::size_t>(gradient.layer)];
    last = layer.parameters[static_cast<std::size_t>(gradient.parameter)].name;
    if (open.tensors == 0) first = last;
    open.bytes += gradient.elements * wire_bytes_per_element;
    open.tensors += 1;
    open.last_layer = gradient.layer;
    const bool is_first = buckets.empty() && first_threshold_bytes >= 0;
    if (open.bytes >= (is_first ? first_threshold_bytes : threshold_bytes)) send();
  }
  if (open.tensors > 0) send();
  return buckets;
}

}  // namespace lockstep::sim::schedule
