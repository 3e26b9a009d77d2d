#include "engine/cuda/gradient_buckets.hpp"

#include <algorithm>

namespace lockstep::cuda {
namespace {

/// Returns, per segment of Packing::unpack (the graph's parameters in order), the step that completes its gradient.
std::vector<std::size_t> steps_of_segments(const model::Graph& graph, const Program& program) {
  std::vector<std::size_t> of_layer(graph.layers.size(), 0);
  for (std::size_t s = 0; s < program.steps.size(); ++s) of_layer[static_cast<std::size_t>(program.steps[s].layer)] = s;
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i < graph.layers.size(); ++i)
    steps.insert(steps.end(), graph.layers[i].parameters.size(), of_layer[i]);
  return steps;
}

}  // namespace

std::vector<GradientBucket> gradient_buckets(const model::Graph& graph, const Program& program, const Packing& packing,
                                             std::int64_t bucket_bytes) {
  const std::vector<std::size_t> steps = steps_of_segments(graph, program);
  const std::vector<Segment>& segments = packing.unpack;
  std::vector<GradientBucket> buckets;
  std::int64_t end = graph.parameter_count();
  std::size_t last_segment = segments.size(), last_step = program.steps.size();
  int end_block = packing.unpack_blocks;
  for (std::size_t i = segments.size(); i-- > 0;) {
    last_step = std::min(last_step, steps[i]);
    const std::int64_t count = end - segments[i].flat;
    const bool is_full = bucket_bytes > 0 && count * static_cast<std::int64_t>(sizeof(float)) >= bucket_bytes;
    if (!is_full && i > 0) continue;
    const int first_block = segments[i].first_block;
    buckets.push_back({segments[i].flat, count, static_cast<int>(i), static_cast<int>(last_segment - i), first_block,
                       end_block - first_block, last_step});
    end = segments[i].flat;
    last_segment = i;
    end_block = first_block;
  }
  if (buckets.empty()) buckets.push_back({0, 0, 0, 0, 0, 0, 0});  // a network without parameters
  return buckets;
}

}  // namespace lockstep::cuda
