// All layers except convolutions and fully-connected ones, with our own kernels.
#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/cuda/layer_operation.hpp"

namespace lockstep::cuda {
namespace {

using model::LayerKind;

class BatchNormOperation final : public LayerOperation {
 public:
  explicit BatchNormOperation(const Connections& connections)
      : LayerOperation(connections), statistics_(2 * std::int64_t{c_.output.channels}) {
    const Tensor& x = input().values;
    m_.partial_count = std::max(m_.partial_count, partial_floats(m_.element, x.rows(), x.channels));
  }

  void forward(bool training) override {
    const BatchNormData data = batch_norm_data();
    if (training && c_.sums != nullptr && c_.sums->are_made) {
      const float* sums = c_.sums->memory.data();
      batch_norm_statistics_from_sums(m_.element, data, input().values.data, sums,
                                      sums + squares_offset(c_.output.channels), m_.stream);
    } else {
      batch_norm_statistics(m_.element, data, input().values.data, training, m_.stream);
    }
    batch_norm_apply(m_.element, data, input().values.data, has_skip() ? input(1).values.data : nullptr, c_.output.data,
                     c_.relu, m_.stream);
  }

  void backward() override {
    BatchNormBackward pass{};
    pass.x = input().values.data;
    pass.y = has_skip() && c_.relu ? c_.output.data : nullptr;
    pass.dy = c_.gradient;
    pass.relu_without_skip = c_.relu && !has_skip();
    pass.dx = input_gradient();
    pass.accumulate = accumulates();
    pass.gamma_gradient = c_.vector_gradients[0];
    pass.beta_gradient = c_.vector_gradients[1];
    batch_norm_backward(m_.element, batch_norm_data(), pass, m_.stream);
    if (!has_skip() || input_gradient(1) == nullptr || input(1).write.in_place) return;
    pass_on(m_.element, c_.gradient, input_gradient(1), c_.output.elements(), accumulates(1), m_.stream);
  }

  std::int64_t memory_bytes() const override { return statistics_.bytes(); }

 private:
  bool has_skip() const { return c_.inputs.size() == 2; }
  BatchNormData batch_norm_data() const {
    const int channels = c_.output.channels;
    return {c_.output.rows(), channels,           c_.vectors[0],
            c_.vectors[1],    statistics_.data(), statistics_.data() + channels,
            c_.running,       m_.partials};
  }

  DeviceBuffer<float> statistics_;  ///< means and 1 / deviations of the current pass
};

class ReluOperation final : public LayerOperation {
 public:
  using LayerOperation::LayerOperation;
  void forward(bool) override {
    relu_forward(m_.element, input().values.data, c_.output.data, c_.output.elements(), m_.stream);
  }
  void backward() override {
    if (input_gradient() == nullptr) return;
    relu_backward(m_.element, c_.output.data, c_.gradient, input_gradient(), c_.output.elements(), accumulates(),
                  m_.stream);
  }
};

class DropoutOperation final : public LayerOperation {
 public:
  using LayerOperation::LayerOperation;
  void forward(bool training) override {
    if (training)
      dropout(m_.element, input().values.data, c_.output.data, c_.output, key(), false, m_.stream);
    else
      pass_on(m_.element, input().values.data, c_.output.data, c_.output.elements(), false, m_.stream);
  }
  void backward() override {
    if (input_gradient() == nullptr) return;
    dropout(m_.element, c_.gradient, input_gradient(), c_.output, key(), accumulates(), m_.stream);
  }

 private:
  DropoutKey key() const { return {m_.seed, c_.index, m_.state}; }
};

class AddOperation final : public LayerOperation {
 public:
  using LayerOperation::LayerOperation;
  void forward(bool) override {
    const void* sum = input().values.data;
    for (std::size_t i = 1; i < c_.inputs.size(); ++i) {
      const bool last = i + 1 == c_.inputs.size();
      add_forward(m_.element, sum, input(i).values.data, c_.output.data, c_.output.elements(), last && c_.relu,
                  m_.stream);
      sum = c_.output.data;
    }
  }
  void backward() override {
    if (c_.relu) mask_gradient();
    for (std::size_t i = 0; i < c_.inputs.size(); ++i) {
      if (input_gradient(i) == nullptr || input(i).write.in_place) continue;
      pass_on(m_.element, c_.gradient, input_gradient(i), c_.output.elements(), accumulates(i), m_.stream);
    }
  }
};

class ConcatOperation final : public LayerOperation {
 public:
  using LayerOperation::LayerOperation;
  void forward(bool) override {
    int first = 0;
    for (std::size_t i = 0; i < c_.inputs.size(); ++i) {
      const Tensor& from = input(i).values;
      move_channels(m_.element, from.data, {0, from.channels}, c_.output.data, {first, c_.output.channels},
                    from.channels, from.rows(), false, m_.stream);
      first += from.channels;
    }
  }
  void backward() override {
    int first = 0;
    for (std::size_t i = 0; i < c_.inputs.size(); ++i) {
      const Tensor& to = input(i).values;
      if (input_gradient(i) != nullptr) {
        move_channels(m_.element, c_.gradient, {first, c_.output.channels}, input_gradient(i), {0, to.channels},
                      to.channels, to.rows(), accumulates(i), m_.stream);
      }
      first += to.channels;
    }
  }
};

class SubsampleOperation final : public LayerOperation {
 public:
  using LayerOperation::LayerOperation;
  void forward(bool) override {
    subsample_forward(m_.element, input().values, c_.output, c_.layer->window.stride_h, m_.stream);
  }
  void backward() override {
    if (input_gradient() == nullptr) return;
    subsample_backward(m_.element, output_gradient(), input_gradient_tensor(), c_.layer->window.stride_h, accumulates(),
                       m_.stream);
  }
};

class MaxPoolOperation final : public LayerOperation {
 public:
  explicit MaxPoolOperation(const Connections& connections)
      : LayerOperation(connections),
        chosen_(aligned(c_.output.elements() * static_cast<std::int64_t>(sizeof(std::uint16_t))) / 2) {}
  void forward(bool) override {
    max_pool_forward(m_.element, input().values, c_.output, c_.layer->window, chosen_.data(), m_.stream);
  }
  void backward() override {
    if (input_gradient() == nullptr) return;
    max_pool_backward(m_.element, output_gradient(), chosen_.data(), input_gradient_tensor(), c_.layer->window,
                      accumulates(), m_.stream);
  }
  std::int64_t memory_bytes() const override { return chosen_.bytes(); }

 private:
  DeviceBuffer<std::uint16_t> chosen_;
};

/// Global pooling uses a window of the size of the image.
class AvgPoolOperation final : public LayerOperation {
 public:
  explicit AvgPoolOperation(const Connections& connections) : LayerOperation(connections), window_(c_.layer->window) {
    if (c_.layer->kind != LayerKind::global_avg_pool) return;
    window_ = model::Window{};
    window_.kernel_h = c_.layer->in.height;
    window_.kernel_w = c_.layer->in.width;
  }
  void forward(bool) override { avg_pool_forward(m_.element, input().values, c_.output, window_, m_.stream); }
  void backward() override {
    if (input_gradient() == nullptr) return;
    avg_pool_backward(m_.element, output_gradient(), input_gradient_tensor(), window_, accumulates(), m_.stream);
  }

 private:
  model::Window window_;
};

class LocalResponseOperation final : public LayerOperation {
 public:
  using LayerOperation::LayerOperation;
  void forward(bool) override { local_response_forward(m_.element, input().values, c_.output, m_.stream); }
  void backward() override {
    if (input_gradient() == nullptr) return;
    local_response_backward(m_.element, input().values, output_gradient(), input_gradient_tensor(), accumulates(),
                            m_.stream);
  }
};

/// Stores no probabilities: the backward pass computes loss and gradient from the scores.
class SoftmaxOperation final : public LayerOperation {
 public:
  using LayerOperation::LayerOperation;
  void forward(bool) override {}
  void backward() override {
    const Tensor& x = input().values;
    const SoftmaxHead head{{x.data, x.images, static_cast<int>(x.pixels()), x.channels},
                           input_gradient(),
                           accumulates(),
                           c_.head_weight,
                           c_.losses};
    softmax_loss(m_.element, head, m_.labels, m_.state, m_.stream);
  }
};

}  // namespace

void LayerOperation::mask_gradient() const {
  relu_backward(m_.element, c_.output.data, c_.gradient, c_.gradient, c_.output.elements(), false, m_.stream);
}

LayerOperationPtr make_value_operation(const Connections& connections) {
  switch (connections.layer->kind) {
    case LayerKind::batch_norm:
      return std::make_unique<BatchNormOperation>(connections);
    case LayerKind::relu:
      return std::make_unique<ReluOperation>(connections);
    case LayerKind::max_pool:
      return std::make_unique<MaxPoolOperation>(connections);
    case LayerKind::avg_pool:
    case LayerKind::global_avg_pool:
      return std::make_unique<AvgPoolOperation>(connections);
    case LayerKind::lrn:
      return std::make_unique<LocalResponseOperation>(connections);
    case LayerKind::dropout:
      return std::make_unique<DropoutOperation>(connections);
    case LayerKind::add:
      return std::make_unique<AddOperation>(connections);
    case LayerKind::concat:
      return std::make_unique<ConcatOperation>(connections);
    case LayerKind::softmax:
      return std::make_unique<SoftmaxOperation>(connections);
    case LayerKind::subsample:
      return std::make_unique<SubsampleOperation>(connections);
    default:
      throw InputError("layer " + in_quotes(connections.layer->name) +
                       ": the CUDA backend cannot run a layer of kind " + to_string(connections.layer->kind));
  }
}

LayerOperationPtr make_layer_operation(const Connections& connections) {
  if (connections.layer->kind == LayerKind::conv) return make_convolution(connections);
  if (connections.layer->kind == LayerKind::fc) return make_fully_connected(connections);
  return make_value_operation(connections);
}

}  // namespace lockstep::cuda
