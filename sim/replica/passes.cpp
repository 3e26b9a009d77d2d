#include "sim/replica/passes.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim::replica {
namespace {

bool is_at_least(const ParallelSpec& spec, ShardingStage stage) {
  return static_cast<int>(spec.exchanged_sharding()) >= static_cast<int>(stage);
}

}  // namespace

OverlapSeconds overlap_of(const ParallelSpec& spec, const PieceSeconds& piece, bool has_rings, bool has_products) {
  const double waiting = piece.compute_s > 0 ? piece.waiting_s / piece.compute_s : 0;
  const double c = spec.context, t = spec.tensor;
  OverlapSeconds overlap;
  if (has_rings) {
    const double waiting_s = has_products ? waiting * piece.attention_s : piece.waiting_s;
    overlap.attention_s = (1 - waiting) * piece.attention_s * (c - 1) / c + waiting_s;
  }
  if (has_products) {
    const double waiting_s = has_rings ? waiting * (piece.compute_s - piece.attention_s) : piece.waiting_s;
    overlap.products_s = (1 - waiting) * piece.products_s * (t - 1) / t + waiting_s;
  }
  return overlap;
}

double slowed_by_experts_s(const ParallelSpec& spec, double expert_s) {
  return spec.expert_overlap ? spec.expert_overlap_share * expert_s : 0;
}

StateSeconds& StateSeconds::operator+=(const StateSeconds& more) {
  seconds += more.seconds;
  held_s += more.held_s;
  return *this;
}

StateSeconds operator*(double times, StateSeconds exchange) {
  return {times * exchange.seconds, times * exchange.held_s};
}

// During an exchange, computing for c seconds takes c / (1 - h), with h = held_s / seconds.
double PassSeconds::total_s() const {
  if (beside.held_s <= 0) return std::max(compute_s + waited_s(), beside.seconds);
  const double slowed_compute_s = compute_s / (1 - beside.held_s / beside.seconds);
  const double delay_s = beside.delay_s(std::min(beside.seconds, slowed_compute_s));
  return std::max(compute_s + waited_s() + delay_s, beside.seconds);
}

PassSeconds Passes::pass(const PieceSeconds& piece, const TrafficList& traffic) const {
  PassSeconds pass;
  pass.compute_s = factor_ * piece.compute_s;
  double ring_s = 0, beside_products_s = 0;
  for (const Traffic& one : traffic) {
    const double seconds = links_.seconds(one, perturbation_);
    if (one.group == TrafficGroup::tensor) (one.is_beside_products ? beside_products_s : pass.tensor_s) += seconds;
    if (one.group == TrafficGroup::expert) pass.expert_s += seconds;
    if (one.group != TrafficGroup::context) continue;
    (one.kind == TrafficKind::send ? ring_s : pass.context_s) += seconds;
  }
  const OverlapSeconds overlap = overlap_of(job_.spec, piece, ring_s > 0, beside_products_s > 0);
  const double ring_left_s = std::max(0.0, ring_s - factor_ * overlap.attention_s);
  const double products_left_s = std::max(0.0, beside_products_s - factor_ * overlap.products_s);
  pass.context_s += ring_left_s;
  pass.tensor_s += products_left_s;
  if (job_.spec.expert_overlap)
    pass.expert_s = std::max(slowed_by_experts_s(job_.spec, pass.expert_s),
                             pass.expert_s - pass.compute_s - ring_left_s - products_left_s);
  return pass;
}

void Passes::find_kinds() {
  for (int block = 0; block < static_cast<int>(seconds_.blocks.size()); ++block) {
    const auto known = std::find_if(kinds_.begin(), kinds_.end(), [&](const BlockKind& kind) {
      return seconds_.blocks[to_index(kind.first)] == seconds_.blocks[to_index(block)] &&
             job_.shape.parts_of(kind.first) == job_.shape.parts_of(block);
    });
    kind_of_block_.push_back(static_cast<std::size_t>(known - kinds_.begin()));
    if (known == kinds_.end())
      kinds_.push_back(
          {block,
           {make_forward(block), make_backward(block), make_input_gradient(block), make_weight_gradient(block)}});
  }
}

PassSeconds Passes::make_forward(int block) const {
  const BlockSeconds& s = seconds_.blocks[to_index(block)];
  PassSeconds forward = pass({s.forward_s, s.attention_forward_s, s.products_forward_s, s.waiting_forward_s},
                             layer_forward(job_.shape, job_.spec, block, job_.traffic));
  if (is_at_least(job_.spec, ShardingStage::zero3)) add_shards(forward, gather(job_.gathered_layers[to_index(block)]));
  return forward;
}

PassSeconds Passes::make_backward(int block) const {
  const BlockSeconds& s = seconds_.blocks[to_index(block)];
  PassSeconds backward = pass({s.backward_s, s.attention_backward_s, s.products_backward_s, s.waiting_backward_s},
                              layer_backward(job_.shape, job_.spec_of(block), block, job_.traffic));
  add_shards(backward, scattered(block));
  add_shards(backward, gathered_backward(block));
  return backward;
}

PassSeconds Passes::make_input_gradient(int block) const {
  if (!job_.spec.splits_backward()) return {};
  const BlockSeconds& s = seconds_.blocks[to_index(block)];
  const double apart_s = s.weight_gradient_s;
  PassSeconds pass = this->pass({s.backward_s - apart_s, s.attention_backward_s, s.products_backward_s - apart_s,
                                 s.waiting_backward_of(s.backward_s - apart_s)},
                                layer_backward(job_.shape, job_.spec_of(block), block, job_.traffic));
  add_shards(pass, gathered_backward(block));
  return pass;
}

PassSeconds Passes::make_weight_gradient(int block) const {
  PassSeconds pass;
  if (!job_.spec.splits_backward()) return pass;
  pass.compute_s = factor_ * seconds_.blocks[to_index(block)].weight_gradient_s;
  pass.beside = scattered(block);
  return pass;
}

// Returns 0 if gradients are not scattered during the passes.
StateSeconds Passes::scattered(int block) const {
  if (!is_at_least(job_.spec, ShardingStage::zero2)) return {};
  return scatter(job_.trained_layers[to_index(block)]);
}

// Returns 0 if weights are not sharded.
StateSeconds Passes::gathered_backward(int block) const {
  if (!is_at_least(job_.spec, ShardingStage::zero3)) return {};
  return gathers_of_backward(job_.spec) * gather(job_.gathered_layers[to_index(block)]);
}

PassSeconds Passes::embedding_forward() const {
  return pass({seconds_.embedding.forward_s, 0, 0, 0}, sim::embedding_forward(job_.shape, job_.spec, job_.traffic));
}

PassSeconds Passes::embedding_backward() const {
  return pass({seconds_.embedding.backward_s, 0, 0, 0}, sim::embedding_backward(job_.shape, job_.spec, job_.traffic));
}

PassSeconds Passes::loss_forward() const {
  return pass({seconds_.loss.forward_s, 0, seconds_.loss.products_forward_s, seconds_.loss.waiting_forward_s},
              sim::loss_forward(job_.shape, job_.spec, job_.traffic));
}

PassSeconds Passes::loss_backward() const {
  return pass({seconds_.loss.backward_s, 0, seconds_.loss.products_backward_s, seconds_.loss.waiting_backward_s},
              sim::loss_backward(job_.shape, job_.spec, job_.traffic));
}

StateSeconds Passes::time_of(const Traffic& traffic) const {
  const double seconds = links_.seconds(traffic, perturbation_);
  return {seconds, (1 - 1 / links_.slowdown(traffic)) * seconds};
}

// One reduce-scatter or all-gather of the sharded state: the operations of that kind in an iteration of one
// micro-batch.
StateSeconds Passes::exchange_s(const RankParameters& parameters, TrafficKind kind) const {
  StateSeconds sum;
  for (const Traffic& traffic : state_exchange(parameters, sharded_once_, 1, job_.traffic))
    if (traffic.kind == kind) sum += time_of(traffic);
  return sum;
}

void Passes::add_shards(PassSeconds& pass, const StateSeconds& exchange) const {
  if (job_.spec.waits_for_shards())
    pass.alone_s += exchange.seconds;
  else
    pass.beside += exchange;
}

StateSeconds Passes::exchange(const RankParameters& parameters) const {
  const bool is_scattered_before = is_at_least(job_.spec, ShardingStage::zero2);
  StateSeconds sum;
  for (const Traffic& traffic : state_exchange(parameters, job_.spec, 1, job_.traffic)) {
    const bool is_of_gradients = traffic.kind == TrafficKind::all_reduce ||
                                 (traffic.kind == TrafficKind::reduce_scatter && !is_scattered_before);
    if (is_of_gradients) sum += time_of(traffic);
  }
  return sum;
}

double Passes::message_s() const {
  return links_.seconds(stage_message(job_.shape, job_.spec, job_.traffic), perturbation_);
}

}  // namespace lockstep::sim::replica
