#include "engine/cuda/program.hpp"

#include <algorithm>
#include <set>

#include "engine/base/text.hpp"
#include "engine/model/memory_layout.hpp"

namespace lockstep::cuda {

using model::Graph;
using model::Layer;
using model::LayerKind;

namespace {

[[noreturn]] void refuse(const Graph& graph, const std::string& wrong) {
  throw InputError("model " + in_quotes(graph.name) + ": " + wrong);
}

void check_graph(const Graph& graph) {
  for (const Layer& layer : graph.layers) {
    for (int from : layer.inputs) {
      if (graph.layers[from].kind != LayerKind::softmax) continue;
      throw InputError("model " + in_quotes(graph.name) + ", layer " + in_quotes(layer.name) +
                       ": reads the softmax layer " + in_quotes(graph.layers[from].name));
    }
    const model::Window& w = layer.window;
    if (layer.kind == LayerKind::max_pool && std::int64_t{w.kernel_h} * w.kernel_w > 65535) {
      throw InputError("model " + in_quotes(graph.name) + ", layer " + in_quotes(layer.name) +
                       ": the CUDA backend pools at most 65535 pixels into one");
    }
  }
  if (graph.layers.back().kind != LayerKind::softmax) refuse(graph, "its last layer is no softmax layer, so no loss");
}

/// Groups layers into steps.
class Grouping {
 public:
  explicit Grouping(const Graph& graph) : graph_(graph), readers_(graph.layers.size()) {
    for (int i = 0; i < static_cast<int>(graph.layers.size()); ++i) {
      for (int from : graph.layers[i].inputs) readers_[from].push_back(i);
    }
  }

  std::vector<Step> steps() {
    std::vector<bool> grouped(graph_.layers.size(), false);
    std::vector<Step> steps;
    for (int i = 1; i < static_cast<int>(graph_.layers.size()); ++i) {
      if (grouped[i]) continue;
      Step step = starting_with(i);
      for (int at = i; at != step.output; at = readers_[at].front()) grouped[readers_[at].front()] = true;
      steps.push_back(std::move(step));
    }
    // A sum's other summand may come after the batch norm. So each step runs at the position of its output layer.
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.output < b.output; });
    return steps;
  }

 private:
  const Layer& layer(int i) const { return graph_.layers[i]; }
  /// Returns the layer that reads layer i if it is the only one and has this kind; else -1.
  int sole_reader(int i, LayerKind kind) const {
    return readers_[i].size() == 1 && layer(readers_[i].front()).kind == kind ? readers_[i].front() : -1;
  }

  Step starting_with(int i) const {
    Step step{layer(i).kind, i, i, false, layer(i).inputs, {}, false, false};
    if (step.kind == LayerKind::batch_norm) join_sum(step);
    const bool can_rectify = step.kind == LayerKind::conv || step.kind == LayerKind::fc ||
                             step.kind == LayerKind::batch_norm || step.kind == LayerKind::add;
    const int relu = can_rectify ? sole_reader(step.output, LayerKind::relu) : -1;
    if (relu >= 0) {
      step.relu = true;
      step.output = relu;
    }
    return step;
  }

  /// Merges the sum that reads a batch norm into the batch norm's step. If two batch norms are summed, only the later
  /// one's step does this, because the other is complete by then. A sum of a batch norm and its own input stays
  /// separate, because both would write the same gradient.
  void join_sum(Step& step) const {
    const int sum = sole_reader(step.layer, LayerKind::add);
    if (sum < 0 || layer(sum).inputs.size() != 2) return;
    const std::vector<int>& summands = layer(sum).inputs;
    const int other = summands[0] == step.layer ? summands[1] : summands[0];
    const bool other_joins = layer(other).kind == LayerKind::batch_norm && sole_reader(other, LayerKind::add) == sum &&
                             other > step.layer && layer(other).inputs.front() != step.layer;
    if (other_joins || other == step.inputs.front()) return;
    step.inputs.push_back(other);
    step.output = sum;
  }

  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
};

std::vector<bool> layers_with_gradient(const Graph& graph) {
  std::vector<bool> needs;
  for (const Layer& layer : graph.layers) {
    const bool before = std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](int i) { return needs[i]; });
    needs.push_back(before || !layer.parameters.empty());
  }
  return needs;
}

bool is_element_wise(const Step& step) {
  return step.kind == LayerKind::relu || step.kind == LayerKind::dropout || step.kind == LayerKind::add ||
         (step.kind == LayerKind::batch_norm && step.inputs.size() == 2);
}

/// The input whose gradient takes over the memory of the step's own gradient: the first one not yet written, and for a
/// batch norm only the other summand. -1: none.
int heir(const Step& step, const std::vector<bool>& needs, const std::vector<bool>& begun) {
  if (!is_element_wise(step)) return -1;
  if (std::set<int>(step.inputs.begin(), step.inputs.end()).size() != step.inputs.size()) return -1;
  for (std::size_t i = step.kind == LayerKind::batch_norm ? 1 : 0; i < step.inputs.size(); ++i) {
    if (needs[step.inputs[i]] && !begun[step.inputs[i]]) return static_cast<int>(i);
  }
  return -1;
}

/// Sets the writes of each step: which gradients are needed, accumulated or in place.
void connect_gradients(const std::vector<bool>& needs, Program& program) {
  std::vector<bool> begun(needs.size(), false);
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    step->backward = step->kind == LayerKind::softmax || needs[step->output];
    step->writes.resize(step->inputs.size());
    if (!step->backward) continue;
    const int taker = heir(*step, needs, begun);
    for (std::size_t i = 0; i < step->inputs.size(); ++i) {
      const int from = step->inputs[i];
      step->writes[i] = {needs[from], needs[from] && begun[from], static_cast<int>(i) == taker};
      if (needs[from]) begun[from] = true;
    }
  }
}

/// Places values and gradients in the arena; see program.hpp.
class MemoryPlan {
 public:
  MemoryPlan(const std::vector<std::int64_t>& value_bytes, Program& program)
      : value_bytes_(value_bytes),
        program_(program),
        steps_(static_cast<std::int64_t>(program.steps.size())),
        value_uses_(value_bytes.size(), -1),
        gradient_uses_(value_bytes.size(), -1) {}

  void make() {
    value_uses_[0] = begin(0, 0);
    extend(value_uses_[0], 2 * steps_ - 1);
    for (std::int64_t s = 0; s < steps_; ++s) add_values(program_.steps[static_cast<std::size_t>(s)], s);
    for (std::int64_t s = steps_; s-- > 0;) add_gradients(program_.steps[static_cast<std::size_t>(s)], s);
    program_.arena_bytes = model::lay_out(uses_, 2 * steps_);
    program_.values = slots(value_uses_);
    program_.gradients = slots(gradient_uses_);
    for (const model::Use& use : uses_) program_.unshared_bytes += use.size;
  }

 private:
  std::int64_t backward_time(std::int64_t step) const { return 2 * steps_ - 1 - step; }
  int begin(int layer, std::int64_t time) {
    uses_.push_back({time, time + 1, aligned(value_bytes_[layer])});
    return static_cast<int>(uses_.size()) - 1;
  }
  /// Extends the use to include `time`.
  void extend(int use, std::int64_t time) { uses_[use].end = std::max(uses_[use].end, time + 1); }

  void add_values(const Step& step, std::int64_t s) {
    for (const int from : step.inputs) extend(value_uses_[from], s);
    if (step.backward && backward_reads_first_input(step)) extend(value_uses_[step.inputs.front()], backward_time(s));
    if (step.kind == LayerKind::softmax) return;
    value_uses_[step.output] = begin(step.output, s);
    if (step.backward && backward_reads_output(step)) extend(value_uses_[step.output], backward_time(s));
  }

  void add_gradients(const Step& step, std::int64_t s) {
    if (!step.backward) return;
    if (step.kind != LayerKind::softmax) extend(gradient_uses_[step.output], backward_time(s));
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const GradientWrite& write = step.writes[i];
      if (!write.needed || write.accumulate) continue;
      gradient_uses_[step.inputs[i]] =
          write.in_place ? gradient_uses_[step.output] : begin(step.inputs[i], backward_time(s));
    }
  }

  std::vector<MemorySlot> slots(const std::vector<int>& of_layers) const {
    std::vector<MemorySlot> slots;
    for (const int use : of_layers) {
      slots.push_back(use < 0 ? MemorySlot{} : MemorySlot{uses_[use].offset, uses_[use].size});
    }
    return slots;
  }

  const std::vector<std::int64_t>& value_bytes_;
  Program& program_;
  std::int64_t steps_;
  std::vector<model::Use> uses_;
  std::vector<int> value_uses_, gradient_uses_;  ///< indices in uses_ by layer; -1: none
};

void mark_evaluated(Program& program) {
  std::set<int> wanted{program.logits};
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    step->evaluated = wanted.count(step->output) != 0;
    if (step->evaluated) wanted.insert(step->inputs.begin(), step->inputs.end());
  }
}

/// Marks convolutions without bias and ReLU that a batch norm reads: their outputs are those that it normalises.
void mark_summed(const Graph& graph, Program& program) {
  std::set<int> normalised;
  for (const Step& step : program.steps)
    if (step.kind == LayerKind::batch_norm) normalised.insert(step.inputs.front());
  for (Step& step : program.steps) {
    const auto& parameters = graph.layers[static_cast<std::size_t>(step.layer)].parameters;
    step.summed =
        step.kind == LayerKind::conv && !step.relu && parameters.size() == 1 && normalised.count(step.output) > 0;
  }
}

/// Tensor cores need multiples of 4 channels; images have 1 or 3. Pads if only ungrouped convolutions read them.
int stored_input_channels(const Graph& graph, bool tensor_cores) {
  const int channels = graph.input.channels;
  if (!tensor_cores) return channels;
  for (const Layer& layer : graph.layers) {
    const bool reads = std::find(layer.inputs.begin(), layer.inputs.end(), 0) != layer.inputs.end();
    if (reads && (layer.kind != LayerKind::conv || layer.window.groups != 1)) return channels;
  }
  return channels <= 4 ? 4 : (channels + 7) / 8 * 8;
}

}  // namespace

bool backward_reads_first_input(const Step& step) {
  switch (step.kind) {
    case LayerKind::conv:
    case LayerKind::fc:
    case LayerKind::batch_norm:
    case LayerKind::lrn:
    case LayerKind::softmax:
      return true;
    default:
      return false;
  }
}

/// The ReLU's gradient needs its output as a mask. A batch norm without a summand recomputes the mask from its input.
bool backward_reads_output(const Step& step) {
  if (step.kind == LayerKind::relu) return true;
  return step.relu && !(step.kind == LayerKind::batch_norm && step.inputs.size() == 1);
}

Program make_program(const Graph& graph, int batch, Element element, bool tensor_cores) {
  check_graph(graph);
  Program program;
  program.steps = Grouping(graph).steps();
  program.logits = graph.layers.back().inputs.front();
  program.input_channels = stored_input_channels(graph, tensor_cores);
  std::vector<std::int64_t> value_bytes(graph.layers.size(), 0);
  value_bytes[0] =
      std::int64_t{program.input_channels} * graph.input.height * graph.input.width * batch * element_bytes(element);
  for (const Step& step : program.steps) {
    if (step.kind == LayerKind::softmax) {
      ++program.heads;
      continue;
    }
    value_bytes[step.output] = graph.layers[step.output].out.elements() * batch * element_bytes(element);
  }
  connect_gradients(layers_with_gradient(graph), program);
  MemoryPlan(value_bytes, program).make();
  mark_evaluated(program);
  mark_summed(graph, program);
  return program;
}

}  // namespace lockstep::cuda
