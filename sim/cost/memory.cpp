#include "sim/cost/memory.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::sim {

using model::Graph;
using model::Layer;
using model::LayerKind;

namespace {

bool backward_reads_inputs(LayerKind kind) {
  return kind == LayerKind::conv || kind == LayerKind::fc || kind == LayerKind::batch_norm || kind == LayerKind::lrn ||
         kind == LayerKind::max_pool;
}

bool backward_reads_output(LayerKind kind) {
  return kind == LayerKind::relu || kind == LayerKind::dropout || kind == LayerKind::lrn ||
         kind == LayerKind::max_pool || kind == LayerKind::softmax;
}

// Buffers handed out and taken back.
class BufferPool {
 public:
  int take(double bytes) {
    plan_.bytes_without_reuse += bytes;
    int best = -1;
    for (int b = 0; b < static_cast<int>(sizes_.size()); ++b) {
      if (!free_[static_cast<std::size_t>(b)] || size(b) < bytes) continue;
      if (best < 0 || size(b) < size(best)) best = b;
    }
    if (best < 0) {
      best = static_cast<int>(sizes_.size());
      sizes_.push_back(bytes);
      free_.push_back(true);
      plan_.bytes += bytes;
      ++plan_.buffers;
    }
    free_[static_cast<std::size_t>(best)] = false;
    return best;
  }
  void give_back(int buffer) { free_[static_cast<std::size_t>(buffer)] = true; }
  const OutputPlan& plan() const { return plan_; }

 private:
  double size(int buffer) const { return sizes_[static_cast<std::size_t>(buffer)]; }
  std::vector<double> sizes_;
  std::vector<bool> free_;
  OutputPlan plan_;
};

// An operator's output: its buffer, and how many operators have yet to read it.
struct Output {
  int buffer = -1;
  int readers = 0;
};

class OutputPlanner {
 public:
  OutputPlanner(const Graph& graph, double bytes_per_element)
      : graph_(graph), bytes_per_element_(bytes_per_element), values_(graph.layers.size()), gradients_(values_) {
    for (std::size_t i = 1; i < graph.layers.size(); ++i) count_readers(i);
  }

  OutputPlan run() {
    for (std::size_t i = 1; i < graph_.layers.size(); ++i) forward(i);
    for (std::size_t i = graph_.layers.size() - 1; i >= 1; --i) backward(i);
    return pool_.plan();
  }

 private:
  // Layer 0 is the input, which has no buffer here.
  void count_readers(std::size_t i) {
    const Layer& layer = graph_.layers[i];
    for (int input : layer.inputs) {
      if (input == 0) continue;
      ++value(input).readers;
      if (backward_reads_inputs(layer.kind)) ++value(input).readers;
    }
    if (backward_reads_output(layer.kind)) ++values_[i].readers;
    gradients_[i].readers = 1;  // by the layer's own backward pass
  }

  void forward(std::size_t i) {
    write(values_[i], i);
    for (int input : graph_.layers[i].inputs)
      if (input != 0) read(value(input));
    if (values_[i].readers == 0) release(values_[i]);  // the loss
  }

  // Reads the gradient of its output, writes those of its inputs; a second writer of one adds to it.
  void backward(std::size_t i) {
    const Layer& layer = graph_.layers[i];
    for (int input : layer.inputs) {
      Output& gradient = gradients_[static_cast<std::size_t>(input)];
      if (input != 0 && gradient.buffer < 0) write(gradient, static_cast<std::size_t>(input));
    }
    if (backward_reads_inputs(layer.kind))
      for (int input : layer.inputs)
        if (input != 0) read(value(input));
    if (backward_reads_output(layer.kind)) read(values_[i]);
    if (gradients_[i].buffer >= 0) read(gradients_[i]);
  }

  Output& value(int layer) { return values_[static_cast<std::size_t>(layer)]; }
  void write(Output& output, std::size_t layer) {
    output.buffer = pool_.take(static_cast<double>(graph_.layers[layer].out.elements()) * bytes_per_element_);
  }
  void read(Output& output) {
    if (--output.readers == 0) release(output);
  }
  void release(const Output& output) { pool_.give_back(output.buffer); }

  const Graph& graph_;
  double bytes_per_element_;
  std::vector<Output> values_;
  std::vector<Output> gradients_;
  BufferPool pool_;
};

}  // namespace

OutputPlan plan_outputs(const Graph& graph, int batch, int activation_bytes) {
  return OutputPlanner(graph, double(batch) * activation_bytes).run();
}

int LearnerMemory::most_learners(double gpu_bytes) const {
  const double left = gpu_bytes - shared_bytes();
  return left < learner_bytes() ? 0 : static_cast<int>(std::floor(left / learner_bytes()));
}

}  // namespace lockstep::sim
