#pragma once
// Runs a layer graph on the CPU: forward pass, loss, and the gradients of all parameters by back-propagation.
//
// The loss is the mean softmax cross-entropy over the batch. The last softmax layer has weight 1; every other one (an
// auxiliary classifier) has weight 0.3, as in GoogLeNet (Szegedy et al. 2015). Layouts: images batch x C x H x W;
// convolution weights K x C/groups x R x S; fully-connected weights O x I. Results do not depend on the number of
// threads, to the last bit. Passes allocate no memory, except inside oneDNN.
#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/host/arena_pool.hpp"
#include "engine/host/operation.hpp"
#include "engine/host/thread_pool.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::host {

constexpr double kAuxiliaryWeight = 0.3;

template <typename Scalar>  // float to train, double to check gradients
class Network {
 public:
  /// Every pass processes exactly `batch` images. Throws InputError for a graph that cannot run: another layer reads a
  /// softmax layer, or there are softmax layers but the last layer is not one. With a `pool`, which must outlive the
  /// network, memory for passes exists only within a PassMemory; otherwise it always exists.
  Network(const model::Graph& graph, int batch, int threads = 1, ArenaPool* pool = nullptr);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  const model::Graph& graph() const { return graph_; }
  int batch() const { return batch_; }

  /// parameters() are all parameters, gradients() d loss / d parameters, in the order of graph.layers and
  /// Layer::parameters.
  Eigen::Ref<Vector<Scalar>> parameters() { return parameters_; }
  Eigen::Ref<Vector<Scalar>> gradients() { return gradients_; }
  /// Returns the position of a parameter tensor in both.
  std::int64_t offset(int layer, int parameter) const { return offsets_[layer] + inner_offset(layer, parameter); }
  /// Batch norm's running statistics, per layer all means and then all variances. They are state, so an algorithm that
  /// averages or copies models must include them.
  Eigen::Ref<Vector<Scalar>> running_statistics() { return running_; }

  /// Draws weights from a normal distribution with mean 0. The variance is 2 / fan-in if a ReLU follows (He et al.
  /// 2015), else 1 / fan-in. Batch norm, pooling, LRN, dropout, sums and concatenations may be between the layer and
  /// the ReLU. Sets biases and beta to 0, gamma to 1, running means to 0 and variances to 1. The seed is also
  /// dropout's, starting at step 0.
  void initialise(std::uint64_t seed);
  /// Resets dropout's seed, step and running statistics as initialise() does, but keeps the parameters.
  void start(std::uint64_t seed);
  /// The number of the next training pass; with the seed it determines the elements that dropout drops. Each training
  /// pass increments it.
  std::uint64_t step() const { return step_; }
  void set_step(std::uint64_t step) { step_ = step; }

  /// With `training`: uses batch statistics and dropout, and updates running statistics. Else: uses running statistics
  /// and no dropout.
  void forward(const Scalar* images, bool training);
  /// The output of the last forward pass, batch x classes: the input of the last softmax layer, or the last layer's
  /// output.
  Eigen::Map<const Vector<Scalar>> output() const;
  /// The loss of the last forward pass; labels must be in [0, classes).
  Scalar loss(const int* labels) const;
  /// Runs a training pass and computes its gradients.
  Scalar loss_and_gradients(const Scalar* images, const int* labels) {
    return loss_and_gradients(images, labels, [](int) {});
  }
  /// Calls `done(layer)` when the gradients of a layer's parameters are complete, from the last layer to the first.
  template <typename Done>
  Scalar loss_and_gradients(const Scalar* images, const int* labels, const Done& done);
  /// As loss_and_gradients(), but calls `done(layer, gradients, is_forward)` after each part; copying the input counts
  /// as layer 0. Layers that cannot split their backward pass report `Gradients::all`.
  template <typename Done>
  Scalar loss_and_gradients_by_layer(const Scalar* images, const int* labels, const Done& done);
  /// The number of images classified correctly in evaluation mode.
  int correct(const Scalar* images, const int* labels);

  /// Returns the memory of outputs and their gradients, as placed by model::offline_plan().
  std::int64_t activation_bytes() const { return activations_ * static_cast<std::int64_t>(sizeof(Scalar)); }
  /// All memory of a pass: activations and workspaces.
  std::int64_t pass_bytes() const;
  /// The memory of gradients and, without a pool, of a pass. Excludes parameters and records of single layers (the
  /// positions of pooling maxima, batch statistics).
  std::int64_t memory_bytes() const;

 private:
  template <typename>
  friend class PassMemory;
  void take_memory();
  void give_memory_back();
  std::int64_t inner_offset(int layer, int parameter) const;
  void bring_in(const Scalar* images);
  void check_heads() const;
  void check_labels(const int* labels) const;
  void lay_out_parameters();
  void find_needed_gradients();
  void plan_activations();
  void connect();
  Wiring<Scalar> wiring_of(int layer, std::vector<bool>& gradient_written);
  bool feeds_relu(int layer) const;
  void initialise_tensor(int layer, int parameter, std::uint64_t seed);

  model::Graph graph_;
  int batch_;
  int output_layer_;
  std::vector<std::int64_t> offsets_;          ///< of each layer in the parameters
  std::vector<std::int64_t> running_offsets_;  ///< of each batch norm in the running statistics
  std::vector<bool> needs_gradient_;           ///< the layer or an earlier one has parameters
  Vector<Scalar> parameters_;
  Vector<Scalar> gradients_;
  Vector<Scalar> running_;
  std::int64_t activations_ = 0;  ///< elements of all outputs and their gradients, from model::offline_plan()
  std::vector<Place> places_;     ///< of each layer's output, valid until the last step that needs it
  ThreadPool pool_;
  Workspace<Scalar> workspace_;
  std::vector<OperationPtr<Scalar>> operations_;  ///< null for the input
  std::vector<Softmax<Scalar>*> heads_;           ///< the last is the main head
  std::uint64_t seed_ = 0;
  std::uint64_t step_ = 0;
  ArenaPool own_arenas_;
  ArenaPool& arenas_;
  Scalar* memory_ = nullptr;  ///< memory of passes; null: not held
  Scalar* placed_ = nullptr;  ///< memory to which the operations' pointers refer
};

/// Holds the memory of a network's passes during its lifetime. Results in that memory (output()) become invalid with
/// it.
template <typename Scalar>
class PassMemory {
 public:
  explicit PassMemory(Network<Scalar>& network) : network_(network) { network_.take_memory(); }
  ~PassMemory() { network_.give_memory_back(); }
  PassMemory(const PassMemory&) = delete;
  PassMemory& operator=(const PassMemory&) = delete;

 private:
  Network<Scalar>& network_;
};

template <typename Scalar>
template <typename Done>
Scalar Network<Scalar>::loss_and_gradients(const Scalar* images, const int* labels, const Done& done) {
  check_labels(labels);
  const Step step{true, seed_, step_, labels};
  forward(images, true);
  for (int i = static_cast<int>(operations_.size()) - 1; i > 0; --i) {
    if (!needs_gradient_[i]) continue;
    operations_[i]->backward(step);
    done(i);
  }
  return loss(labels);
}

template <typename Scalar>
template <typename Done>
Scalar Network<Scalar>::loss_and_gradients_by_layer(const Scalar* images, const int* labels, const Done& done) {
  check_labels(labels);
  bring_in(images);
  Step step{true, seed_, step_, labels};
  const int layers = static_cast<int>(operations_.size());
  done(0, Gradients::all, true);
  for (int i = 1; i < layers; ++i) {
    operations_[i]->forward(step);
    done(i, Gradients::all, true);
  }
  for (int i = layers - 1; i > 0; --i) {
    if (!needs_gradient_[i]) continue;
    const bool splits = operations_[i]->splits_gradients();
    for (const Gradients part : {Gradients::of_parameters, Gradients::of_input}) {
      step.gradients = splits ? part : Gradients::all;
      operations_[i]->backward(step);
      done(i, step.gradients, false);
      if (!splits) break;
    }
  }
  ++step_;
  return loss(labels);
}

extern template class Network<float>;
extern template class Network<double>;

}  // namespace lockstep::host
