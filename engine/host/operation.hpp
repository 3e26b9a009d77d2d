#pragma once
// One layer of a network in memory: the places of its values, gradients and parameters, and its computation.
//
// Activations are batch x channels x height x width, contiguous. A backward pass gets d loss / d output. It overwrites
// d loss / d parameters, and writes d loss / d input only if an earlier layer has parameters. If several layers read an
// output, its gradient is a sum: the first of them to run backward overwrites, the others add (Input::accumulate).
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/host/thread_pool.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::host {

template <typename Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

/// Rounds up to 64 bytes. So each worker's memory has the same alignment, and Eigen adds in the same order.
template <typename Scalar>
std::int64_t aligned_elements(std::int64_t elements) {
  constexpr std::int64_t kLine = 64 / sizeof(Scalar);
  return (elements + kLine - 1) / kLine * kLine;
}

/// Scratch memory that all layers share, because they run one after the other. Each layer requests its size at
/// construction. The memory follows the outputs in the memory of a pass.
template <typename Scalar>
class Workspace {
 public:
  explicit Workspace(int workers) : workers_(workers) {}
  void need_per_worker(std::int64_t elements) {
    per_worker_ = std::max(per_worker_, aligned_elements<Scalar>(elements));
  }
  void need_shared(std::int64_t elements) { shared_size_ = std::max(shared_size_, elements); }
  /// `memory` is aligned and holds elements() numbers.
  void place(Scalar* memory) { memory_ = memory; }
  Scalar* of_worker(int worker) { return memory_ + worker * per_worker_; }
  Scalar* shared() { return memory_ + workers_ * per_worker_; }
  std::int64_t elements() const { return workers_ * per_worker_ + shared_size_; }

 private:
  std::int64_t workers_;
  std::int64_t per_worker_ = 0;
  std::int64_t shared_size_ = 0;
  Scalar* memory_ = nullptr;
};

/// The position of an output and its gradient in the memory of a pass, in elements; -1: none.
struct Place {
  std::int64_t values = -1;
  std::int64_t gradient = -1;
};

/// Pointers into the memory of a pass are set before each pass; see Operation::place().
template <typename Scalar>
struct Input {
  Place place;
  const Scalar* values;
  Scalar* gradient;  ///< null: nothing needs it
  bool accumulate;   ///< add to the gradient instead of overwriting it
  model::Shape shape;
};

/// The connections of a layer. Pointers to parameters stay valid and fixed as long as the network lives.
template <typename Scalar>
struct Wiring {
  const model::Layer* layer;
  int index;  ///< in Graph::layers
  int batch;
  std::vector<Input<Scalar>> inputs;
  Place place;
  Scalar* values;
  const Scalar* gradient;  ///< d loss / d output; null if neither the layer nor an earlier one has parameters
  std::array<const Scalar*, 2> parameters;
  std::array<Scalar*, 2> parameter_gradients;
  Scalar* running;     ///< batch norm: `channels` means, then `channels` variances
  Scalar head_weight;  ///< softmax: weight of this head in the loss
  Workspace<Scalar>* workspace;
  ThreadPool* pool;
};

/// The gradients that a backward pass computes: both, or one kind at a time, so that they can be timed separately.
enum class Gradients { all, of_parameters, of_input };

struct Step {
  bool training;
  std::uint64_t seed;
  std::uint64_t number;  ///< of the training step; each step has its own dropout
  const int* labels;     ///< of the batch; only in the backward pass
  Gradients gradients = Gradients::all;
};

template <typename Scalar>
class Operation {
 public:
  explicit Operation(const Wiring<Scalar>& wiring) : w_(wiring) {}
  virtual ~Operation() = default;
  /// Uses this memory in later passes.
  void place(Scalar* memory) {
    const auto at = [memory](std::int64_t offset) { return offset < 0 ? nullptr : memory + offset; };
    for (Input<Scalar>& input : w_.inputs) {
      input.values = at(input.place.values);
      input.gradient = at(input.place.gradient);
    }
    w_.values = at(w_.place.values);
    w_.gradient = at(w_.place.gradient);
  }
  virtual void forward(const Step& step) = 0;
  /// Call after a training forward pass with the same step.
  virtual void backward(const Step& step) = 0;
  /// Whether backward() respects Step::gradients.
  virtual bool splits_gradients() const { return false; }

 protected:
  const model::Layer& layer() const { return *w_.layer; }
  const Scalar* in(int image, int input = 0) const {
    return w_.inputs[input].values + image * w_.inputs[input].shape.elements();
  }
  Scalar* in_gradient(int image, int input = 0) const {
    return w_.inputs[input].gradient + image * w_.inputs[input].shape.elements();
  }
  Scalar* out(int image) const { return w_.values + image * layer().out.elements(); }
  const Scalar* out_gradient(int image) const { return w_.gradient + image * layer().out.elements(); }
  template <typename Task>
  void for_images(const Task& task) const {
    w_.pool->parallel_for(w_.batch, [&](int image, int) { task(image); });
  }

  Wiring<Scalar> w_;
};

template <typename Scalar>
using OperationPtr = std::unique_ptr<Operation<Scalar>>;

template <typename Scalar>
OperationPtr<Scalar> make_convolution(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_fully_connected(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_batch_norm(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_relu(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_dropout(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_max_pool(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_avg_pool(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_global_avg_pool(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_lrn(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_add(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_concat(const Wiring<Scalar>& wiring);
template <typename Scalar>
OperationPtr<Scalar> make_subsample(const Wiring<Scalar>& wiring);

/// p_k = exp(z_k) / sum_j exp(z_j), and the loss -log p_label averaged over the batch.
template <typename Scalar>
class Softmax final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;
  void forward(const Step& step) override;
  void backward(const Step& step) override;
  /// Mean cross-entropy of the last forward pass, times the head's weight.
  double loss(const int* labels) const;
};

/// Makes the operation of a layer of any kind except input.
template <typename Scalar>
OperationPtr<Scalar> make_operation(const Wiring<Scalar>& wiring);

}  // namespace lockstep::host
