#include "sim/replay/plan_shapes.hpp"

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

const PlanShape& PlanShapes::find_shape(const Plan& plan) {
  constexpr std::size_t kCompared = 64;  // the latest ones: a program mostly has few
  const std::size_t oldest = shapes_.size() > kCompared ? shapes_.size() - kCompared : 0;
  for (std::size_t i = shapes_.size(); i-- > oldest;)
    if (shapes_[i].spans.fit(plan)) return shapes_[i];
  shapes_.push_back({RankSpans(plan), {}});
  PlanShape& shape = shapes_.back();
  shape.ways.resize(to_index(shape.spans.transfers()));
  for (int rank = 0; rank < plan.ranks; ++rank)
    for (const Span* span = shape.spans.begin(rank); span != shape.spans.end(rank); ++span)
      if (span->is_send)
        shape.ways[to_index(span->transfer)] = flows_.way(cluster_, cluster_.gpu(rank), cluster_.gpu(span->peer));
  return shape;
}

}  // namespace lockstep::sim::replay
