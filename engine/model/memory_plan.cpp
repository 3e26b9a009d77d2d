#include "engine/model/memory_plan.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "engine/model/checkpoints.hpp"
#include "engine/model/memory_layout.hpp"

namespace lockstep::model {
namespace {

// The values that the backward pass of a layer reads in addition to the gradient of its output. Products of two
// activations, which the zoo represents as sums, have multiply-adds (zoo/token_graph.hpp).
struct Reads {
  bool inputs, output;
};

Reads backward_reads(const Layer& layer) {
  switch (layer.kind) {
    case LayerKind::conv:
    case LayerKind::fc:
    case LayerKind::batch_norm:
    case LayerKind::linear:
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
    case LayerKind::gelu:
    case LayerKind::silu:
    case LayerKind::multiply:
    case LayerKind::router:
    case LayerKind::experts:
    case LayerKind::recurrence:
      return {true, false};
    case LayerKind::lrn:
    case LayerKind::opaque:
      return {true, true};
    case LayerKind::attention:  // if fused, the scores' gradient needs the output instead of the scores
      return {true, layer.attention.fused};
    case LayerKind::relu:
    case LayerKind::softmax:
    case LayerKind::tanh:
      return {false, true};
    case LayerKind::add:
      return {layer.macs > 0, false};
    case LayerKind::input:
    case LayerKind::max_pool:
    case LayerKind::avg_pool:
    case LayerKind::global_avg_pool:
    case LayerKind::dropout:
    case LayerKind::concat:
    case LayerKind::subsample:
    case LayerKind::embedding:
    case LayerKind::positions:
    case LayerKind::rotary:
    case LayerKind::take:
      break;
  }
  return {false, false};
}

/// A layer has a backward step if it or a layer before it has parameters.
std::vector<bool> with_backward_step(const Graph& graph) {
  std::vector<bool> has;
  for (const Layer& layer : graph.layers) {
    const bool before = std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](int i) { return has[i]; });
    has.push_back(before || !layer.parameters.empty());
  }
  return has;
}

/// Softmax layers whose output nothing reads. The softmax of attention is no loss head.
std::vector<bool> loss_heads(const Graph& graph) {
  std::vector<bool> is_head;
  for (const Layer& layer : graph.layers) {
    is_head.push_back(layer.kind == LayerKind::softmax);
    for (const int from : layer.inputs) is_head[from] = false;
  }
  return is_head;
}

/// Blocks whose layers the backward pass recomputes.
class Recomputation {
 public:
  Recomputation(const Graph& graph, const std::vector<int>& blocks)
      : block_of_(blocks), last_of_(blocks.size(), -1), last_reader_(graph.layers.size(), -1) {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i] >= 0) last_of_[static_cast<std::size_t>(blocks[i])] = static_cast<int>(i);
    for (std::size_t i = 0; i < graph.layers.size(); ++i)
      for (const int from : graph.layers[i].inputs) {
        last_reader_[static_cast<std::size_t>(from)] = static_cast<int>(i);
        if (!blocks.empty() && block(from) != block(static_cast<int>(i))) leaves_.insert(from);
      }
  }

  bool repeats(int layer) const { return !block_of_.empty() && block(layer) >= 0; }
  /// Whether only layers of its block read its output.
  bool is_inside(int layer) const {
    return repeats(layer) && last_reader_[static_cast<std::size_t>(layer)] >= 0 && leaves_.count(layer) == 0;
  }
  int last_reader(int layer) const { return last_reader_[static_cast<std::size_t>(layer)]; }
  int last_of_block(int layer) const { return last_of_[static_cast<std::size_t>(block(layer))]; }

 private:
  int block(int layer) const { return block_of_[static_cast<std::size_t>(layer)]; }

  const std::vector<int>& block_of_;
  std::vector<int> last_of_, last_reader_;
  std::set<int> leaves_;
};

/// Adds the memory inside a layer: kept elements from its forward to its backward step, scratch at its forward step.
void add_inner(const Layer& layer, int index, int forward_step, int backward_step, MemoryPlan& plan) {
  const std::int64_t kept = layer.kept_elements, scratch = layer.scratch_elements;
  if (kept > 0) plan.buffers.push_back({index, false, kept, forward_step, backward_step, 0, true});
  if (scratch > 0) plan.buffers.push_back({index, false, scratch, forward_step, forward_step, 0, true});
}

/// Start of each step, and end of the last one. Unit: elements moved + multiply-adds.
std::vector<std::int64_t> step_times(const Graph& graph) {
  const std::vector<bool> has_backward = with_backward_step(graph);
  const int layers = static_cast<int>(graph.layers.size());
  std::vector<std::int64_t> times{0};
  for (int step = 0; step < 2 * layers; ++step) {
    const bool backward = step >= layers;
    const int index = backward ? 2 * layers - 1 - step : step;
    const Layer& layer = graph.layers[index];
    const std::int64_t once = layer.macs + layer.input_elements + layer.out.elements();
    const std::int64_t work = backward ? (has_backward[index] ? 2 * once : 0) : once;
    times.push_back(times.back() + std::max<std::int64_t>(work, 1));
  }
  return times;
}

}  // namespace

MemoryPlan live_buffers(const Graph& graph, const std::vector<int>& blocks) {
  const int layers = static_cast<int>(graph.layers.size());
  const std::vector<bool> has_backward = with_backward_step(graph);
  const std::vector<bool> is_head = loss_heads(graph);
  const auto backward_step = [&](int layer) { return 2 * layers - 1 - layer; };
  const Recomputation again(graph, blocks);
  MemoryPlan plan;
  plan.steps = 2 * layers;
  std::vector<int> last_read(layers), gradient_from(layers);
  for (int i = 0; i < layers; ++i) {
    last_read[i] = i;
    gradient_from[i] = backward_step(i);
    const Layer& layer = graph.layers[i];
    if (has_backward[i] && backward_reads(layer).output) last_read[i] = backward_step(i);
    if (is_head[i] || i + 1 == layers) last_read[i] = plan.steps - 1;
    for (const int from : layer.inputs) {
      const bool is_read_backward = has_backward[i] && backward_reads(layer).inputs;
      last_read[from] = std::max(last_read[from], is_read_backward ? backward_step(i) : i);
      // The loss is computed after the pass from the input of its layer.
      if (is_head[i]) last_read[from] = plan.steps - 1;
      gradient_from[from] = std::min(gradient_from[from], backward_step(i));
    }
  }
  for (int i = 0; i < layers; ++i) {
    const std::int64_t elements = graph.layers[i].out.elements();
    const bool is_dropped = again.is_inside(i) && last_read[i] >= layers;
    plan.buffers.push_back({i, false, elements, i, is_dropped ? again.last_reader(i) : last_read[i], 0});
    const bool keeps_inner = has_backward[i] && !again.repeats(i);
    add_inner(graph.layers[i], i, i, keeps_inner ? backward_step(i) : i, plan);
  }
  for (int i = layers - 1; i >= 0; --i) {
    if (!has_backward[i] || is_head[i]) continue;
    const std::int64_t scratch = graph.layers[i].scratch_elements;
    if (scratch > 0) plan.buffers.push_back({i, true, scratch, backward_step(i), backward_step(i), 0, true});
    plan.buffers.push_back({i, true, graph.layers[i].out.elements(), gradient_from[i], backward_step(i), 0});
  }
  for (int i = 0; i < layers && !blocks.empty(); ++i) {
    if (!again.repeats(i)) continue;
    const int from = backward_step(again.last_of_block(i));
    if (again.is_inside(i) && last_read[i] >= from)
      plan.buffers.push_back({i, false, graph.layers[i].out.elements(), from, last_read[i], 0});
    if (has_backward[i]) add_inner(graph.layers[i], i, from, backward_step(i), plan);
  }
  if (!blocks.empty())
    std::stable_sort(plan.buffers.begin(), plan.buffers.end(),
                     [](const Buffer& a, const Buffer& b) { return a.first_step < b.first_step; });
  for (Buffer& buffer : plan.buffers) {
    buffer.offset = plan.unshared_elements;
    plan.unshared_elements += buffer.elements;
  }
  plan.arena_elements = plan.unshared_elements;
  return plan;
}

MemoryPlan offline_plan(const Graph& graph, const std::vector<int>& blocks) {
  MemoryPlan plan = live_buffers(graph, blocks);
  std::vector<Use> uses;
  for (const Buffer& buffer : plan.buffers) uses.push_back({buffer.first_step, buffer.last_step + 1, buffer.elements});
  plan.arena_elements = lay_out(uses, 2 * plan.steps);
  for (std::size_t i = 0; i < uses.size(); ++i) plan.buffers[i].offset = uses[i].offset;
  return plan;
}

namespace {

std::int64_t plan_arena(const Graph& graph, bool recomputes_blocks) {
  return offline_plan(graph, recomputes_blocks ? checkpointed_blocks(graph) : std::vector<int>()).arena_elements;
}

}  // namespace

std::int64_t ArenaSizes::find(const Graph& graph, bool recomputes_blocks) {
  // A child of a fork may find the mutex taken for ever. It then counts without the cache.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return plan_arena(graph, recomputes_blocks);
  if (&layers_.get() != &graph.layers.get() || !(input_ == graph.input) || tokens_ != graph.tokens) {
    layers_ = graph.layers;
    input_ = graph.input;
    tokens_ = graph.tokens;
    for (auto& elements : elements_) elements.reset();
  }
  auto& elements = elements_[recomputes_blocks];
  if (!elements) elements = plan_arena(graph, recomputes_blocks);
  return *elements;
}

std::int64_t count_arena_elements(const Graph& graph, bool recomputes_blocks) {
  return graph.arenas ? graph.arenas->find(graph, recomputes_blocks) : plan_arena(graph, recomputes_blocks);
}

std::int64_t live_elements(const MemoryPlan& plan, int step) {
  std::int64_t sum = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.first_step <= step && step <= buffer.last_step) sum += buffer.elements;
  }
  return sum;
}

std::int64_t least_elements(const MemoryPlan& plan) {
  std::int64_t most = 0;
  for (int step = 0; step < plan.steps; ++step) most = std::max(most, live_elements(plan, step));
  return most;
}

std::int64_t pooled_bytes(const Graph& graph, const MemoryPlan& plan, int learners, int batch, int element_bytes) {
  if (learners < 1) throw std::invalid_argument("memory pools: at least one learner");
  const std::vector<std::int64_t> times = step_times(graph);
  const std::int64_t cycle = times.back();
  std::vector<Use> uses;
  for (int j = 0; j < learners; ++j) {
    const std::int64_t shift = cycle / learners * j;
    for (const Buffer& buffer : plan.buffers) {
      uses.push_back({times[buffer.first_step] + shift, times[buffer.last_step + 1] + shift, buffer.elements});
    }
  }
  for (Use& use : uses) {
    if (use.begin < cycle) continue;
    use.begin -= cycle;
    use.end -= cycle;
  }
  // One copy of the offline plan per learner is always possible.
  const std::int64_t elements = std::min(lay_out(uses, cycle), plan.arena_elements * learners);
  return elements * batch * element_bytes;
}

}  // namespace lockstep::model
