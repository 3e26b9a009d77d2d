#include "sim/schedule/s_sgd.hpp"

#include <map>

namespace lockstep::sim {
namespace {

enum Stream { kInput, kCopy, kCompute, kAllReduce };

struct Segment {
  double seconds = 0;
  std::vector<Part> parts;
};

Segment forward_segment(const model::Graph& graph, const ModelCost& cost) {
  Segment segment;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (cost.layers[i].forward_s <= 0) continue;
    segment.seconds += cost.layers[i].forward_s;
    segment.parts.push_back({graph.layers[i].name, cost.layers[i].forward_s});
  }
  return segment;
}

// The backward pass from layer `from` down to layer `to`, both included.
Segment backward_segment(const model::Graph& graph, const ModelCost& cost, int from, int to) {
  Segment segment;
  for (int i = from; i >= to; --i) {
    const LayerCost& layer = cost.layers[static_cast<std::size_t>(i)];
    if (layer.backward_s <= 0) continue;
    segment.seconds += layer.backward_s;
    segment.parts.push_back({graph.layers[static_cast<std::size_t>(i)].name, layer.backward_s});
  }
  return segment;
}

// Buckets of one size share a plan.
std::vector<int> plans_of_buckets(Enqueue& enqueue, const std::vector<Bucket>& buckets, int gpus,
                                  const AllReduce& all_reduce) {
  std::map<std::int64_t, int> plan_of_size;
  std::vector<int> plans;
  for (const Bucket& bucket : buckets) {
    auto [entry, is_new] = plan_of_size.try_emplace(bucket.bytes, 0);
    if (is_new) entry->second = enqueue.add_plan(all_reduce(gpus, bucket.bytes));
    plans.push_back(entry->second);
  }
  return plans;
}

}  // namespace

Program s_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets, const SSgd& options,
              const AllReduce& all_reduce) {
  Enqueue gpu(options.gpus, {"input", "copy", "compute", "all-reduce"});
  const std::vector<int> plans = plans_of_buckets(gpu, buckets, options.gpus, all_reduce);
  const Segment forward = forward_segment(graph, cost);
  const int last_layer = static_cast<int>(graph.layers.size()) - 1;
  std::vector<int> used;  // per iteration, the forward pass that frees the batch's buffer
  int updated = -1;

  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    gpu.begin_iteration();
    std::vector<int> buffer_free;
    if (iteration >= options.prefetch)
      buffer_free.push_back(used[static_cast<std::size_t>(iteration - options.prefetch)]);
    const int loaded = gpu.copy(kInput, "load", options.load_s, buffer_free);
    const int copied = gpu.copy(kCopy, "to device", options.to_device_s, {loaded});

    std::vector<int> inputs{copied};
    if (updated >= 0) inputs.push_back(updated);
    used.push_back(gpu.compute(kCompute, "forward", forward.seconds, inputs, forward.parts));

    std::vector<int> ready;
    int layer = last_layer;
    for (const Bucket& bucket : buckets) {
      const Segment backward = backward_segment(graph, cost, layer, bucket.last_layer);
      layer = bucket.last_layer - 1;
      ready.push_back(gpu.compute(kCompute, "backward", backward.seconds, {}, backward.parts));
      if (options.overlap && options.gpus > 1)
        updated = gpu.collective(kAllReduce, bucket.name, plans[ready.size() - 1], options.launch_s, {ready.back()});
    }
    const Segment rest = backward_segment(graph, cost, layer, 0);
    const int done = rest.seconds > 0 ? gpu.compute(kCompute, "backward", rest.seconds, {}, rest.parts) : ready.back();
    for (std::size_t b = 0; b < buckets.size() && !options.overlap && options.gpus > 1; ++b)
      updated = gpu.collective(kAllReduce, buckets[b].name, plans[b], options.launch_s, {done});

    if (options.gpus == 1) updated = done;
    // One stream reduces the buckets in order, so the last one's end is the end of all.
    updated = gpu.compute(kCompute, "update", cost.update_s, {updated});
    gpu.end_iteration(updated);
  }
  return gpu.finish();
}

}  // namespace lockstep::sim
