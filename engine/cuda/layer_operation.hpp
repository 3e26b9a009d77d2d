#pragma once
// One step of a program on a GPU, with its forward and backward computation. All work goes to the replica's stream.
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

/// Resources that all steps of a replica share. Steps run one after the other, so they share working memory, too. Each
/// states its need at construction; the memory is allocated after the last one.
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
  void* workspace = nullptr;          ///< for cuDNN and cuBLASLt
  void* scratch = nullptr;            ///< separate memory for results that are then added to others
  float* partials = nullptr;          ///< partial sums
  std::function<void()> filter_done;  ///< called between a layer's filter gradient and its data gradient; may be empty
};

/// One input of a step.
struct Source {
  Tensor values;
  void* gradient;
  GradientWrite write;
};

/// Connects a step to its memory; pointers stay fixed. Weights are elements in packed order; vectors are floats ({bias}
/// or {gamma, beta}). A fully-connected layer's bias is also given as elements.
struct Connections {
  Machine* machine;
  const model::Layer* layer;  ///< the first layer of the step
  int index;                  ///< index of that layer
  bool relu;
  std::vector<Source> inputs;
  Tensor output;
  void* gradient;  ///< d loss / d output; the step itself writes it if the ReLU masks it
  void* weight = nullptr;
  void* weight_gradient = nullptr;
  const void* bias_elements = nullptr;
  std::array<float*, 2> vectors{};
  std::array<float*, 2> vector_gradients{};
  float* running = nullptr;    ///< batch norm: means, then variances
  float* losses = nullptr;     ///< softmax: one per image
  OutputSums* sums = nullptr;  ///< of a convolution and the batch norm that follows, if an engine may compute them
  float head_weight = 1;
};

class LayerOperation {
 public:
  explicit LayerOperation(const Connections& connections) : c_(connections), m_(*connections.machine) {}
  virtual ~LayerOperation() = default;
  virtual void forward(bool training) = 0;
  /// Call after a training forward pass.
  virtual void backward() = 0;
  /// Device memory that the step itself owns.
  virtual std::int64_t memory_bytes() const { return 0; }
  /// The reason if the step runs more slowly than it should; else empty.
  virtual std::string slow_path() const { return {}; }

 protected:
  const Source& input(std::size_t i = 0) const { return c_.inputs[i]; }
  /// d loss / d input if it is needed, else null.
  void* input_gradient(std::size_t i = 0) const { return input(i).write.needed ? input(i).gradient : nullptr; }
  bool accumulates(std::size_t i = 0) const { return input(i).write.accumulate; }
  /// Returns the output's gradient as a tensor.
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
  /// Applies the mask of the step's final ReLU to the output's gradient, in place.
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
