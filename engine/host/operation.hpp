#pragma once
// One layer of a network in memory: where its values, gradients and parameters lie, and how it runs.
//
// Activations are batch x channels x height x width, contiguous. A backward pass gets d loss / d output and writes
// d loss / d parameters (overwriting) and d loss / d input, the latter only where some earlier parameter needs it.
// An output read by several layers has its gradient summed: the first of them to run backward overwrites, the others
// add (Input::accumulate).
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

/// Rounded up to 64 bytes: what begins there is aligned alike for every worker, and so is the order in which Eigen
/// adds.
template <typename Scalar>
std::int64_t aligned_elements(std::int64_t elements) {
  constexpr std::int64_t kLine = 64 / sizeof(Scalar);
  return (elements + kLine - 1) / kLine * kLine;
}

/// Scratch memory that all layers share, because they run one after the other. Layers say what they need when they are
/// made; it lies behind the outputs in the memory of a pass.
template <typename Scalar>
class Workspace {
 public:
  explicit Workspace(int workers) : workers_(workers) {}
  void need_per_worker(std::int64_t elements) {
    per_worker_ = std::max(per_worker_, aligned_elements<Scalar>(elements));
  }
  void need_shared(std::int64_t elements) { shared_size_ = std::max(shared_size_, elements); }
  /// `memory`: elements() of them, aligned.
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

/// Where an output and its gradient lie in the memory of a pass, in elements; -1: there is none.
struct Place {
  std::int64_t values = -1;
  std::int64_t gradient = -1;
};

/// Pointers into the memory of a pass are set before it; see Operation::place().
template <typename Scalar>
struct Input {
  Place place;
  const Scalar* values;
  Scalar* gradient;  ///< null: nothing needs it
  bool accumulate;   ///< add to the gradient instead of overwriting it
  model::Shape shape;
};

/// Everything a layer is connected to. Pointers to parameters stay valid and fixed as long as the network lives.
template <typename Scalar>
struct Wiring {
  const model::Layer* layer;
  int index;  ///< in Graph::layers
  int batch;
  std::vector<Input<Scalar>> inputs;
  Place place;
  Scalar* values;
  const Scalar* gradient;  ///< d loss / d output; null when no parameter lies at or before the layer
  std::array<const Scalar*, 2> parameters;
  std::array<Scalar*, 2> parameter_gradients;
  Scalar* running;     ///< batch norm: `channels` means, then `channels` variances
  Scalar head_weight;  ///< softmax: share of this head in the loss
  Workspace<Scalar>* workspace;
  ThreadPool* pool;
};

/// What a backward pass computes: both, or one after the other, so that they can be timed apart.
enum class Gradients { all, of_parameters, of_input };

struct Step {
  bool training;
  std::uint64_t seed;
  std::uint64_t number;  ///< of the training step: each has its own dropout
  const int* labels;     ///< of the batch; only in the backward pass
  Gradients gradients = Gradients::all;
};

template <typename Scalar>
class Operation {
 public:
  explicit Operation(const Wiring<Scalar>& wiring) : w_(wiring) {}
  virtual ~Operation() = default;
  /// Passes from now on use this memory.
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
  /// Follows a training forward pass with the same step.
  virtual void backward(const Step& step) = 0;
  /// Whether backward() heeds Step::gradients.
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

/// p_k = exp(z_k) / sum_j exp(z_j) and the loss -log p_label of the label's class, averaged over the batch.
template <typename Scalar>
class Softmax final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;
  void forward(const Step& step) override;
  void backward(const Step& step) override;
  /// Mean cross-entropy of the last forward pass, times the head's weight.
  double loss(const int* labels) const;
};

/// The operation of a layer of any kind but input.
template <typename Scalar>
OperationPtr<Scalar> make_operation(const Wiring<Scalar>& wiring);

}  // namespace lockstep::host
