// y = W x + b for every image: Y (batch x O) = X (batch x I) W^T, d X = d Y W, d W = d Y^T X, d b = sum of d Y's rows.
// Work is split by features, not by images, so that each product reads its part of W once and no sum is split.
#include <algorithm>

#include "engine/host/gemm.hpp"
#include "engine/host/operation.hpp"

namespace lockstep::host {
namespace {

constexpr std::int64_t kFeatures = 128;  ///< per task

template <typename Scalar>
class FullyConnected final : public Operation<Scalar> {
  using Base = Operation<Scalar>;
  using Base::layer;
  using Base::w_;

 public:
  explicit FullyConnected(const Wiring<Scalar>& wiring)
      : Base(wiring), inputs_(layer().in.elements()), outputs_(layer().out.channels) {}

  void forward(const Step&) override {
    const bool biased = layer().parameters.size() > 1;
    for_features(outputs_, [&](std::int64_t first, std::int64_t count) {
      gemm<Scalar>({w_.batch, count, inputs_}, {w_.inputs[0].values, inputs_},
                   {w_.parameters[0] + first * inputs_, inputs_, true}, w_.values + first, outputs_, false);
      for (int image = 0; biased && image < w_.batch; ++image) {
        Scalar* row = w_.values + image * outputs_ + first;
        for (std::int64_t i = 0; i < count; ++i) row[i] += w_.parameters[1][first + i];
      }
    });
  }

  bool splits_gradients() const override { return w_.inputs[0].gradient != nullptr; }

  void backward(const Step& step) override {
    if (step.gradients != Gradients::of_input) parameter_gradients();
    const Input<Scalar>& input = w_.inputs[0];
    if (input.gradient == nullptr || step.gradients == Gradients::of_parameters) return;
    for_features(inputs_, [&](std::int64_t first, std::int64_t count) {
      gemm<Scalar>({w_.batch, count, outputs_}, {w_.gradient, outputs_}, {w_.parameters[0] + first, inputs_},
                   input.gradient + first, inputs_, input.accumulate);
    });
  }

 private:
  void parameter_gradients() const {
    const bool biased = layer().parameters.size() > 1;
    for_features(outputs_, [&](std::int64_t first, std::int64_t count) {
      gemm<Scalar>({count, inputs_, w_.batch}, {w_.gradient + first, outputs_, true}, {w_.inputs[0].values, inputs_},
                   w_.parameter_gradients[0] + first * inputs_, inputs_, false);
      if (biased) bias_gradient(first, count);
    });
  }

  void bias_gradient(std::int64_t first, std::int64_t count) const {
    Scalar* sum = w_.parameter_gradients[1] + first;
    std::fill_n(sum, count, Scalar{0});
    for (int image = 0; image < w_.batch; ++image) {
      const Scalar* row = w_.gradient + image * outputs_ + first;
      for (std::int64_t i = 0; i < count; ++i) sum[i] += row[i];
    }
  }

  template <typename Task>
  void for_features(std::int64_t features, const Task& task) const {
    const int blocks = static_cast<int>((features + kFeatures - 1) / kFeatures);
    w_.pool->parallel_for(blocks, [&](int block, int) {
      const std::int64_t first = block * kFeatures;
      task(first, std::min(kFeatures, features - first));
    });
  }

  std::int64_t inputs_;
  std::int64_t outputs_;
};

}  // namespace

template <typename Scalar>
OperationPtr<Scalar> make_fully_connected(const Wiring<Scalar>& wiring) {
  return std::make_unique<FullyConnected<Scalar>>(wiring);
}
template OperationPtr<float> make_fully_connected(const Wiring<float>&);
template OperationPtr<double> make_fully_connected(const Wiring<double>&);

}  // namespace lockstep::host
