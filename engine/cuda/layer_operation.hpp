#pragma once
// One step of a program on a GPU: how it runs forward and backward. All its work goes to the replica's stream.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/cuda/convolution.hpp"
#include "engine/cuda/fully_connected.hpp"
#include "engine/cuda/kernels.hpp"
#include "engine/cuda/output_sums.hpp"
#include "engine/cuda/program.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

/// What the steps of a replica share. Because they run one after the other they share their working memory too: they
/// say what they need when they are made, and it is allocated after the last of them.
struct Machine {
  device::Precision precision;
  Element element;
  int batch;
  std::uint64_t seed;
  cudaStream_t stream;
  cublasLtHandle_t cublas;
  ConvolutionSolvers* convolutions;
  PassState* state;
  std::int32_t* labels;

  std::int64_t workspace_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::int64_t partial_count = 0;
  void* workspace = nullptr;          ///< of cuDNN and cuBLASLt
  void* scratch = nullptr;            ///< beside it: results that are added to others
  float* partials = nullptr;          ///< parts of sums
  std::function<void()> filter_done;  ///< between a layer's gradient of its parameters and that of its input; or empty
};

/// One input of a step.
struct Source {
  Tensor values;
  void* gradient;
  GradientWrite write;
};

/// What a step is connected to; pointers stay fixed. Of the parameters: weights as elements in their packed order,
/// vectors as floats ({bias} or {gamma, beta}); a fully-connected layer's bias as elements too.
struct Connections {
  Machine* machine;
  const model::Layer* layer;  ///< the step's first
  int index;                  ///< of that layer
  bool relu;
  std::vector<Source> inputs;
  Tensor output;
  void* gradient;  ///< d loss / d output; written by the step itself where the ReLU masks it
  void* weight = nullptr;
  void* weight_gradient = nullptr;
  const void* bias_elements = nullptr;
  std::array<float*, 2> vectors{};
  std::array<float*, 2> vector_gradients{};
  float* running = nullptr;    ///< batch norm: means, then variances
  float* losses = nullptr;     ///< softmax: one per image
  OutputSums* sums = nullptr;  ///< of a convolution and the batch norm behind it, where an engine may make them
  float head_weight = 1;
};

class LayerOperation {
 public:
  explicit LayerOperation(const Connections& connections) : c_(connections), m_(*connections.machine) {}
  virtual ~LayerOperation() = default;
  virtual void forward(bool training) = 0;
  /// Follows a training forward pass.
  virtual void backward() = 0;
  /// Device memory of its own.
  virtual std::int64_t memory_bytes() const { return 0; }
  /// What it does more slowly than it should, and why; empty: nothing.
  virtual std::string slow_path() const { return {}; }

 protected:
  const Source& input(std::size_t i = 0) const { return c_.inputs[i]; }
  /// d loss / d input where it is needed, else null.
  void* input_gradient(std::size_t i = 0) const { return input(i).write.needed ? input(i).gradient : nullptr; }
  bool accumulates(std::size_t i = 0) const { return input(i).write.accumulate; }
  /// The output's gradient as a tensor.
  Tensor output_gradient() const {
    Tensor tensor = c_.output;
    tensor.data = c_.gradient;
    return tensor;
  }
  Tensor input_gradient_tensor() const {
    Tensor tensor = input().values;
    tensor.data = input_gradient();
    return tensor;
  }
  /// Masks the output's gradient by the ReLU that ends the step, in place.
  void mask_gradient() const;

  Connections c_;
  Machine& m_;
};

using LayerOperationPtr = std::unique_ptr<LayerOperation>;

// product_operations.cpp
LayerOperationPtr make_convolution(const Connections& connections);
LayerOperationPtr make_fully_connected(const Connections& connections);
// value_operations.cpp
LayerOperationPtr make_value_operation(const Connections& connections);

LayerOperationPtr make_layer_operation(const Connections& connections);

}  // namespace lockstep::cuda
