#include "sim/schedule/sharded.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim::schedule {
namespace {

constexpr int kShards = kOwnStreams;

std::vector<int> plans_of_units(Enqueue& gpu, const std::vector<ShardingUnit>& units, int gpus, const AllReduce& plan) {
  std::vector<Bucket> buckets(units.size());
  for (std::size_t u = 0; u < units.size(); ++u) buckets[u].bytes = units[u].bytes;
  return plans_of_buckets(gpu, buckets, gpus, plan);
}

}  // namespace

std::vector<ShardingUnit> sharding_units(const model::Graph& graph, int wire_bytes_per_element,
                                         std::int64_t unit_bytes) {
  std::vector<ShardingUnit> units;
  ShardingUnit open;
  const int layers = static_cast<int>(graph.layers.size());
  for (int layer = 0; layer < layers; ++layer) {
    open.bytes += graph.layers[to_index(layer)].parameter_count() * wire_bytes_per_element;
    open.last_layer = layer;
    if (open.bytes == 0 || open.bytes < unit_bytes) continue;
    units.push_back(open);
    open = {"", layer + 1, layer + 1, 0};
  }
  if (open.bytes > 0 || units.empty()) {
    units.push_back(open);
  } else {
    units.back().last_layer = layers - 1;  // the loss has no parameters
  }
  for (ShardingUnit& unit : units)
    unit.name = graph.layers[to_index(unit.first_layer)].name + " .. " + graph.layers[to_index(unit.last_layer)].name;
  return units;
}

Program sharded(const model::Graph& graph, const ModelCost& cost, const std::vector<ShardingUnit>& units,
                const Sharded& options, const AllReduce& all_gather, const AllReduce& reduce_scatter) {
  Enqueue gpu(options.gpus, {"input", "copy", "compute", "shards"});
  const std::vector<int> gather_plans = plans_of_units(gpu, units, options.gpus, all_gather);
  const std::vector<int> scatter_plans = plans_of_units(gpu, units, options.gpus, reduce_scatter);
  InputPipeline input(gpu, options, kInput, kCopy);
  // A pass is the forward or the backward pass of a unit: units 0, 1, ... count - 1, then back to 0.
  const int count = static_cast<int>(units.size()), passes = 2 * count;
  const auto unit_of = [&](int pass) { return pass < count ? pass : passes - 1 - pass; };

  // Ends when the last gradients are exchanged or computed. `before` is the previous step or update; -1: none.
  const auto micro_step = [&](int before, bool gathers, bool scatters) {
    const int batch = input.next(before);
    std::vector<int> gathered(to_index(passes), -1), computed(to_index(passes), -1);
    int to_gather = 0;
    // A pass may get its parameters when the pass units_ahead + 1 earlier has freed its own.
    const auto gather_next = [&] {
      if (!gathers) return void(++to_gather);  // this GPU has all parameters
      const int unit = unit_of(to_gather), freed_by = to_gather - 1 - options.units_ahead;
      std::vector<int> after;
      if (freed_by >= 0)
        after.push_back(computed[to_index(freed_by)]);
      else if (before >= 0)
        after.push_back(before);
      gathered[to_index(to_gather)] = gpu.collective(kShards, "gather " + units[to_index(unit)].name,
                                                     gather_plans[to_index(unit)], options.launch_s, after);
      ++to_gather;
    };
    int scattered = -1;
    for (int pass = 0; pass < passes; ++pass) {
      const ShardingUnit& unit = units[to_index(unit_of(pass))];
      const bool is_forward = pass < count;
      const int last_gather = std::min(pass + options.units_ahead, options.gathers_again ? passes - 1 : count - 1);
      while (to_gather <= last_gather) gather_next();
      const Segment work = is_forward ? forward_segment(graph, cost, unit.first_layer, unit.last_layer)
                                      : backward_segment(graph, cost, unit.last_layer, unit.first_layer);
      std::vector<int> inputs;
      if (gathered[to_index(pass)] >= 0) inputs.push_back(gathered[to_index(pass)]);
      if (pass == 0) inputs.push_back(batch);
      computed[to_index(pass)] =
          gpu.compute(kCompute, (is_forward ? "forward " : "backward ") + unit.name, work.seconds, inputs, work.parts);
      if (pass == 0) input.used_by(computed[0]);
      if (!is_forward && scatters)
        scattered = gpu.collective(kShards, "reduce-scatter " + unit.name, scatter_plans[to_index(unit_of(pass))],
                                   options.launch_s, {computed[to_index(pass)]});
    }
    return scatters ? scattered : computed.back();
  };

  int updated = -1;
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    gpu.begin_iteration();
    int exchanged = updated;
    for (int step = 0; step < options.accumulation; ++step) {
      const bool gathers = !options.keeps_gradients || step == 0;
      const bool scatters = !options.keeps_gradients || step + 1 == options.accumulation;
      exchanged = micro_step(exchanged, options.gpus > 1 && gathers, options.gpus > 1 && scatters);
    }
    updated = gpu.compute(kCompute, "update", cost.sharded_update_s(options.gpus), {exchanged});
    gpu.end_iteration(updated);
  }
  return gpu.finish();
}

}  // namespace lockstep::sim::schedule
