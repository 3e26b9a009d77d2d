#include "sim/schedule/s_sgd.hpp"

#include <map>

namespace lockstep::sim::schedule {
std::vector<int> plans_of_buckets(Enqueue& gpu, const std::vector<Bucket>& buckets, int gpus, const AllReduce& plan) {
  std::map<std::int64_t, int> plan_of_size;
  std::vector<int> plans;
  for (const Bucket& bucket : buckets) {
    auto [entry, is_new] = plan_of_size.try_emplace(bucket.bytes, 0);
    if (is_new) entry->second = gpu.add_plan(plan(gpus, bucket.bytes));
    plans.push_back(entry->second);
  }
  return plans;
}

Program s_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets, const SSgd& options,
              const AllReduce& all_reduce) {
  Enqueue gpu(options.gpus, {"input", "copy", "compute", "all-reduce"});
  const std::vector<int> plans = plans_of_buckets(gpu, buckets, options.gpus, all_reduce);
  const int last_layer = static_cast<int>(graph.layers.size()) - 1;
  const Segment forward = forward_segment(graph, cost, 0, last_layer);
  const Segment whole_backward = backward_segment(graph, cost, last_layer, 0);
  std::vector<Segment> backward;  // up to each bucket, then the rest
  int layer = last_layer;
  for (const Bucket& bucket : buckets) {
    backward.push_back(backward_segment(graph, cost, layer, bucket.last_layer));
    layer = bucket.last_layer - 1;
  }
  const Segment rest = backward_segment(graph, cost, layer, 0);
  InputPipeline input(gpu, options, kInput, kCopy);
  int updated = -1;

  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    gpu.begin_iteration();
    int step_before = updated;
    const auto start_step = [&] {
      std::vector<int> inputs{input.next(step_before)};
      if (updated >= 0) inputs.push_back(updated);
      input.used_by(gpu.compute(kCompute, "forward", forward.seconds, inputs, forward.parts));
    };
    for (int step = 1; step < options.accumulation; ++step) {
      start_step();
      step_before = gpu.compute(kCompute, "backward", whole_backward.seconds, {}, whole_backward.parts);
    }
    start_step();

    const auto copy_s = [&](const Bucket& bucket) {
      if (options.gpus == 1 || options.bucket_copy_bytes_per_s <= 0) return 0.0;
      return static_cast<double>(bucket.bytes) / options.bucket_copy_bytes_per_s;
    };
    const auto copy = [&](const Bucket& bucket, const std::vector<int>& after) {
      return gpu.compute(kCompute, "bucket copy", copy_s(bucket), after);
    };
    std::vector<int> ready, summed;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      ready.push_back(gpu.compute(kCompute, "backward", backward[b].seconds, {}, backward[b].parts));
      if (copy_s(buckets[b]) > 0) ready.back() = copy(buckets[b], {});
      if (options.overlap && options.gpus > 1)
        summed.push_back(gpu.collective(kAllReduce, buckets[b].name, plans[b], options.launch_s, {ready.back()}));
    }
    const int done = rest.seconds > 0 ? gpu.compute(kCompute, "backward", rest.seconds, {}, rest.parts) : ready.back();
    for (std::size_t b = 0; b < buckets.size() && !options.overlap && options.gpus > 1; ++b)
      summed.push_back(gpu.collective(kAllReduce, buckets[b].name, plans[b], options.launch_s, {done}));
    // One stream reduces the buckets in order, so all have ended when the last one has.
    updated = options.gpus == 1 ? done : summed.back();
    for (std::size_t b = 0; b < summed.size(); ++b)
      if (copy_s(buckets[b]) > 0) updated = copy(buckets[b], {summed[b]});
    updated = gpu.compute(kCompute, "update", cost.update_s, {updated});
    gpu.end_iteration(updated);
  }
  return gpu.finish();
}

}  // namespace lockstep::sim::schedule
