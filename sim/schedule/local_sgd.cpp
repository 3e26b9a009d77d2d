#include "sim/schedule/local_sgd.hpp"

#include "sim/collective/groups.hpp"

namespace lockstep::sim::schedule {
namespace {

Program local_sgd_of_groups(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets,
                            const LocalSgd& options, const AllReduce& all_reduce, const AllReduce& gather) {
  const int group = options.group_gpus, groups = options.gpus / group;
  Enqueue gpu(options.gpus, {"input", "copy", "compute", "all-reduce"});
  const auto in_groups = [groups](const AllReduce& collective) -> AllReduce {
    return [&collective, groups](int ranks, std::int64_t bytes) {
      return in_every_group(collective(ranks, bytes), groups);
    };
  };
  const std::vector<int> inner = plans_of_buckets(gpu, buckets, group, in_groups(all_reduce));
  const std::vector<int> gathers = plans_of_buckets(gpu, buckets, group, in_groups(gather));
  const std::vector<int> outer = plans_of_buckets(gpu, buckets, options.gpus, [&](int ranks, std::int64_t bytes) {
    return average_between_groups(ranks, group, bytes);
  });
  SSgdIterations iterations(gpu, graph, cost, buckets, options, inner);
  int ended = -1;
  for (int step = 1; step <= options.iterations; ++step) {
    ended = iterations.add_iteration(ended);
    if (step % options.period == 0 && groups > 1) {
      const int updated = ended;
      for (std::size_t b = 0; b < buckets.size(); ++b) {
        gpu.collective(kAllReduce, "average " + buckets[b].name, outer[b], options.launch_s, {updated});
        ended = gpu.collective(kAllReduce, "gather " + buckets[b].name, gathers[b], options.launch_s, {});
      }
      ended = gpu.compute(kCompute, "outer update", cost.update_s, {ended});
    }
    gpu.end_iteration(ended);
  }
  return gpu.finish();
}

}  // namespace

Program local_sgd(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& buckets,
                  const LocalSgd& options, const AllReduce& all_reduce, const AllReduce& gather) {
  if (options.group_gpus > 1) return local_sgd_of_groups(graph, cost, buckets, options, all_reduce, gather);
  Enqueue gpu(options.gpus, {"input", "copy", "compute", "all-reduce"});
  const std::vector<int> plans = plans_of_buckets(gpu, buckets, options.gpus, all_reduce);
  const int last_layer = static_cast<int>(graph.layers.size()) - 1;
  const Segment forward = forward_segment(graph, cost, 0, last_layer);
  const Segment backward = backward_segment(graph, cost, last_layer, 0);
  InputPipeline input(gpu, options, kInput, kCopy);
  int ended = -1;

  for (int step = 1; step <= options.iterations; ++step) {
    gpu.begin_iteration();
    std::vector<int> inputs{input.next(ended)};
    if (ended >= 0) inputs.push_back(ended);
    input.used_by(gpu.compute(kCompute, "forward", forward.seconds, inputs, forward.parts));
    gpu.compute(kCompute, "backward", backward.seconds, {}, backward.parts);
    const int updated = gpu.compute(kCompute, "update", cost.update_s, {});
    ended = updated;
    if (step % options.period == 0 && options.gpus > 1)
      for (std::size_t b = 0; b < buckets.size(); ++b)
        ended = gpu.collective(kAllReduce, "average " + buckets[b].name, plans[b], options.launch_s, {updated});
    gpu.end_iteration(ended);
  }
  return gpu.finish();
}

}  // namespace lockstep::sim::schedule
