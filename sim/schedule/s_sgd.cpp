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

SSgdIterations::SSgdIterations(Enqueue& gpu, const model::Graph& graph, const ModelCost& cost,
                               const std::vector<Bucket>& buckets, const SSgd& options, const std::vector<int>& plans)
    : gpu_(gpu),
      cost_(cost),
      buckets_(buckets),
      options_(options),
      plans_(plans),
      forward_(forward_segment(graph, cost, 0, static_cast<int>(graph.layers.size()) - 1)),
      whole_backward_(backward_segment(graph, cost, static_cast<int>(graph.layers.size()) - 1, 0)),
      input_(gpu, options, kInput, kCopy) {
  int layer = static_cast<int>(graph.layers.size()) - 1;
  for (const Bucket& bucket : buckets) {
    backward_.push_back(backward_segment(graph, cost, layer, bucket.last_layer));
    layer = bucket.last_layer - 1;
  }
  rest_ = backward_segment(graph, cost, layer, 0);
}

int SSgdIterations::add_forward_pass(int step_before, int work_before) {
  std::vector<int> inputs{input_.next(step_before)};
  if (work_before >= 0) inputs.push_back(work_before);
  const int forward = gpu_.compute(kCompute, "forward", forward_.seconds, inputs, forward_.parts);
  input_.used_by(forward);
  return forward;
}

double SSgdIterations::copy_s(const Bucket& bucket) const {
  if (options_.gpus == 1 || options_.bucket_copy_bytes_per_s <= 0) return 0.0;
  return static_cast<double>(bucket.bytes) / options_.bucket_copy_bytes_per_s;
}

int SSgdIterations::copy_bucket(const Bucket& bucket, const std::vector<int>& after) {
  return gpu_.compute(kCompute, "bucket copy", copy_s(bucket), after);
}

int SSgdIterations::add_iteration(int work_before) {
  gpu_.begin_iteration();
  int step_before = work_before;
  for (int step = 1; step < options_.accumulation; ++step) {
    add_forward_pass(step_before, work_before);
    step_before = gpu_.compute(kCompute, "backward", whole_backward_.seconds, {}, whole_backward_.parts);
  }
  add_forward_pass(step_before, work_before);

  const bool exchanges = options_.gpus > 1;
  std::vector<int> ready, summed;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    ready.push_back(gpu_.compute(kCompute, "backward", backward_[b].seconds, {}, backward_[b].parts));
    if (copy_s(buckets_[b]) > 0) ready.back() = copy_bucket(buckets_[b], {});
    if (options_.overlap && exchanges)
      summed.push_back(gpu_.collective(kAllReduce, buckets_[b].name, plans_[b], options_.launch_s, {ready.back()}));
  }
  const int done =
      rest_.seconds > 0 ? gpu_.compute(kCompute, "backward", rest_.seconds, {}, rest_.parts) : ready.back();
  for (std::size_t b = 0; b < buckets_.size() && !options_.overlap && exchanges; ++b)
    summed.push_back(gpu_.collective(kAllReduce, buckets_[b].name, plans_[b], options_.launch_s, {done}));
  // One stream reduces the buckets in order, so all have ended when the last one has.
  int updated = exchanges ? summed.back() : done;
  for (std::size_t b = 0; b < summed.size(); ++b)
    if (copy_s(buckets_[b]) > 0) updated = copy_bucket(buckets_[b], {summed[b]});
  return gpu_.compute(kCompute, "update", cost_.update_s, {updated});
}

Program s_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets, const SSgd& options,
              const AllReduce& all_reduce) {
  Enqueue gpu(options.gpus, {"input", "copy", "compute", "all-reduce"});
  const std::vector<int> plans = plans_of_buckets(gpu, buckets, options.gpus, all_reduce);
  SSgdIterations iterations(gpu, graph, cost, buckets, options, plans);
  int updated = -1;
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    updated = iterations.add_iteration(updated);
    gpu.end_iteration(updated);
  }
  return gpu.finish();
}

}  // namespace lockstep::sim::schedule
