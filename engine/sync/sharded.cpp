#include "engine/sync/sharded.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace lockstep::sync {

Layout layout_of_part(const Layout& layout, const Part& part) {
  std::vector<Segment> segments;
  for (const Segment& segment : layout.segments) {
    const std::int64_t begin = std::max(segment.begin, part.begin);
    const std::int64_t end = std::min(segment.begin + segment.count, part.begin + part.count);
    if (begin < end) segments.push_back({begin - part.begin, end - begin, segment.is_weight});
  }
  return make_layout(std::move(segments));
}

Sharded::Sharded(VectorOps& ops, Layout layout, const std::vector<float>& initial, int replicas, int rank,
                 UpdateOptions options)
    : ops_(ops), layout_(std::move(layout)) {
  const int all = replicas * ops_.processes();
  require(replicas >= 1, "sharded: at least one replica");
  require(rank >= 0 && rank < ops_.processes(), "sharded: no such process");
  require(all <= layout_.count, "sharded: more replicas than parameters");
  require(static_cast<std::int64_t>(initial.size()) == layout_.count, "sharded: initial model of the wrong size");
  require(!options.lars, "sharded: LARS needs the norms of whole tensors");
  for (int j = 0; j < replicas; ++j) {
    const Part part = part_of(layout_.count, rank * replicas + j, all);
    shards_.push_back({part, layout_of_part(layout_, part), {ops_, part.count, j}, {ops_, part.count, j, options}});
    parameters_.emplace_back(ops_, layout_.count, j);
    ops_.upload(layout_.count, initial.data(), parameters_.back().data());
  }
}

void Sharded::step(double learning_rate, const GradientFunction& gradient) {
  std::vector<const float*> gradients;
  for (int j = 0; j < replicas(); ++j) gradients.push_back(gradient(j, parameters(j).data(), iteration_));
  gradient.has_asked_all();
  std::vector<float*> means, models;
  for (std::size_t j = 0; j < shards_.size(); ++j) {
    means.push_back(shards_[j].mean.data());
    models.push_back(parameters_[j].data());
  }
  ops_.average_parts(layout_.count, gradients, means);
  for (std::size_t j = 0; j < shards_.size(); ++j) {
    Shard& shard = shards_[j];
    shard.updater.update(shard.layout, learning_rate, shard.mean.data(), models[j] + shard.part.begin);
  }
  ops_.gather_parts(layout_.count, models);
  ++iteration_;
}

void Sharded::visit_state(StateVisitor& state) {
  state.integer("iteration", iteration_);
  for (std::size_t j = 0; j < shards_.size(); ++j) {
    const std::string of = "/" + std::to_string(j);
    state.vector("parameters" + of, parameters_[j]);
    shards_[j].updater.visit_state(state, of);
  }
}

}  // namespace lockstep::sync
