// Convolution and fully-connected layers, with bias and ReLU.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "engine/cuda/layer_operation.hpp"

namespace lockstep::cuda {
namespace {

class ConvolutionOperation final : public LayerOperation {
 public:
  explicit ConvolutionOperation(const Connections& connections) : LayerOperation(connections) {
    forward_ = solver(Direction::forward, false, {input().values.data, c_.output.data, c_.weight});
    filter_ = solver(Direction::filter_gradient, false, {input().values.data, c_.gradient, c_.weight_gradient});
    if (c_.sums != nullptr) make_summing();
    if (input_gradient() != nullptr) {
      data_ = solver(Direction::data_gradient, accumulates(), {input_gradient(), c_.gradient, c_.weight});
    }
    m_.partial_count = std::max(m_.partial_count, partial_floats(m_.element, c_.output.rows(), c_.output.channels));
  }

  void forward(bool training) override {
    if (training && summing_ != nullptr)
      run(*summing_, {input().values.data, c_.output.data, c_.weight, c_.sums->memory.data()});
    else
      run(*forward_, {input().values.data, c_.output.data, c_.weight});
    if (c_.vectors[0] != nullptr)
      add_bias(m_.element, c_.output.data, c_.output.rows(), c_.output.channels, c_.vectors[0], c_.relu, m_.stream);
    else if (c_.relu)
      relu_forward(m_.element, c_.output.data, c_.output.data, c_.output.elements(), m_.stream);
  }

  void backward() override {
    if (c_.vectors[0] != nullptr)
      bias_backward(m_.element, c_.relu ? c_.output.data : nullptr, c_.gradient, c_.output.rows(), c_.output.channels,
                    c_.vector_gradients[0], m_.partials, m_.stream);
    else if (c_.relu)
      mask_gradient();
    run(*filter_, {input().values.data, c_.gradient, c_.weight_gradient});
    if (data_ != nullptr && m_.filter_done) m_.filter_done();
    if (data_ != nullptr) run(*data_, {input_gradient(), c_.gradient, c_.weight});
  }

 private:
  ConvolutionProblem problem(Direction direction, bool accumulate) const {
    const Tensor& x = input().values;
    const Tensor& y = c_.output;
    const ConvolutionShape shape{x.images, x.height, x.width,    x.channels,
                                 y.height, y.width,  y.channels, c_.layer->window};
    return {direction, shape, m_.precision, accumulate};
  }

  std::shared_ptr<const Solver> solver(Direction direction, bool accumulate, const ConvolutionMemory& memory) const {
    const auto solver = m_.convolutions->solver(problem(direction, accumulate), memory);
    make_room_for(*solver);
    return solver;
  }

  void make_summing() {
    c_.sums->memory = DeviceBuffer<float>(sums_floats(c_.output.channels));
    summing_ =
        m_.convolutions->summing(problem(Direction::forward, false),
                                 {input().values.data, c_.output.data, c_.weight, c_.sums->memory.data()}, *forward_);
    c_.sums->are_made = summing_ != nullptr;
    if (summing_ != nullptr)
      make_room_for(*summing_);
    else
      c_.sums->memory = DeviceBuffer<float>();
  }

  void make_room_for(const Solver& solver) const {
    m_.workspace_bytes = std::max(m_.workspace_bytes, solver.workspace_bytes);
    m_.scratch_bytes = std::max(m_.scratch_bytes, solver.scratch_bytes);
  }

  void run(const Solver& solver, const ConvolutionMemory& memory) const {
    m_.convolutions->run(solver, memory, m_.workspace, m_.scratch);
  }

  std::shared_ptr<const Solver> forward_;
  std::shared_ptr<const Solver> summing_;  ///< forward pass in training; null: forward_, and the batch norm sums
  std::shared_ptr<const Solver> filter_;
  std::shared_ptr<const Solver> data_;  ///< null: no gradient needed
};

/// In column-major terms, an image's activations are a column. The weights (row-major O x I) are an I x O matrix.
class FullyConnectedOperation final : public LayerOperation {
 public:
  explicit FullyConnectedOperation(const Connections& connections)
      : LayerOperation(connections),
        inputs_(static_cast<int>(c_.layer->in.elements())),
        outputs_(c_.layer->out.channels),
        weight_(m_.cublas, m_.precision, {inputs_, outputs_, m_.batch, false, true, false, nullptr, false}) {
    make_forward();
    if (input_gradient() != nullptr) {
      data_.emplace(m_.cublas, m_.precision,
                    ProductShape{inputs_, m_.batch, outputs_, false, false, accumulates(), nullptr, false});
    }
    m_.workspace_bytes = std::max(m_.workspace_bytes, kProductWorkspaceBytes);
    m_.partial_count = std::max(m_.partial_count, partial_floats(m_.element, m_.batch, outputs_));
  }

  void forward(bool) override {
    forward_->run(c_.weight, input().values.data, c_.output.data, m_.workspace, m_.stream);
    if (!apart_.empty()) add_bias(m_.element, c_.output.data, m_.batch, outputs_, c_.vectors[0], c_.relu, m_.stream);
  }
  std::string slow_path() const override { return apart_; }

  void backward() override {
    if (c_.vectors[0] != nullptr)
      bias_backward(m_.element, c_.relu ? c_.output.data : nullptr, c_.gradient, m_.batch, outputs_,
                    c_.vector_gradients[0], m_.partials, m_.stream);
    else if (c_.relu)
      mask_gradient();
    weight_.run(input().values.data, c_.gradient, c_.weight_gradient, m_.workspace, m_.stream);
    if (data_ && m_.filter_done) m_.filter_done();
    if (data_) data_->run(c_.weight, c_.gradient, input_gradient(), m_.workspace, m_.stream);
  }

 private:
  /// cuBLASLt applies bias and ReLU in the product if it can; otherwise a separate kernel does.
  void make_forward() {
    ProductShape shape{outputs_, m_.batch, inputs_, true, false, false, c_.bias_elements, c_.relu};
    if (shape.bias == nullptr) {
      forward_.emplace(m_.cublas, m_.precision, shape);
      return;
    }
    try {
      forward_.emplace(m_.cublas, m_.precision, shape);
    } catch (const std::runtime_error& error) {
      apart_ = std::string("bias and ReLU apart: ") + error.what();
      shape.bias = nullptr;
      shape.relu = false;
      forward_.emplace(m_.cublas, m_.precision, shape);
    }
  }

  int inputs_;
  int outputs_;
  std::string apart_;  ///< reason why a separate kernel applies bias and ReLU; empty: none does
  std::optional<Product> forward_;
  Product weight_;
  std::optional<Product> data_;  ///< empty: no gradient needed
};

}  // namespace

LayerOperationPtr make_convolution(const Connections& connections) {
  return std::make_unique<ConvolutionOperation>(connections);
}

LayerOperationPtr make_fully_connected(const Connections& connections) {
  return std::make_unique<FullyConnectedOperation>(connections);
}

}  // namespace lockstep::cuda
