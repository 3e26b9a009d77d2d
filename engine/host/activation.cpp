// ReLU, y = max(x, 0) with derivative 0 at 0, and dropout.
//
// In training, dropout gives y = 2 x with probability 1/2, else 0, so that the expectation is x. In evaluation, y = x.
// The rate is 0.5 everywhere, as in AlexNet and VGG. Element e of image i of layer l is kept if bit e mod 64 of the
// word (seed, l, step, i, e / 64) of engine/base/random.hpp is set. So there is no state, and any number of threads
// gives the same result.
#include <algorithm>

#include "engine/base/random.hpp"
#include "engine/host/loops.hpp"
#include "engine/host/operation.hpp"

namespace lockstep::host {
namespace {

template <typename Scalar>
class Relu final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;

  void forward(const Step&) override {
    this->for_images(
        [this](int image) { loops<Scalar>().relu(this->layer().out.elements(), this->in(image), this->out(image)); });
  }

  void backward(const Step&) override {
    const Input<Scalar>& input = this->w_.inputs[0];
    if (input.gradient == nullptr) return;
    this->for_images([&](int image) {
      loops<Scalar>().relu_gradient(this->layer().out.elements(), this->out(image), this->out_gradient(image),
                                    this->in_gradient(image), input.accumulate);
    });
  }
};

template <typename Scalar>
class Dropout final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;

  void forward(const Step& step) override {
    this->for_images([&](int image) { mask(step, image, this->in(image), this->out(image), false); });
  }

  void backward(const Step& step) override {
    const Input<Scalar>& input = this->w_.inputs[0];
    if (input.gradient == nullptr) return;
    this->for_images(
        [&](int image) { mask(step, image, this->out_gradient(image), this->in_gradient(image), input.accumulate); });
  }

 private:
  void mask(const Step& step, int image, const Scalar* from, Scalar* to, bool accumulate) const {
    const std::int64_t count = this->layer().out.elements();
    const std::uint64_t key = random_bits(step.seed, static_cast<std::uint64_t>(this->w_.index), step.number);
    for (std::int64_t first = 0; first < count; first += 64) {
      const std::uint64_t kept = random_bits(key, static_cast<std::uint64_t>(image), first / 64);
      const std::int64_t last = std::min<std::int64_t>(count, first + 64);
      for (std::int64_t i = first; i < last; ++i) {
        const bool keep = (kept >> (i - first) & 1) != 0;
        const Scalar scaled = step.training ? (keep ? 2 * from[i] : Scalar{0}) : from[i];
        to[i] = accumulate ? to[i] + scaled : scaled;
      }
    }
  }
};

}  // namespace

template <typename Scalar>
OperationPtr<Scalar> make_relu(const Wiring<Scalar>& wiring) {
  return std::make_unique<Relu<Scalar>>(wiring);
}
template <typename Scalar>
OperationPtr<Scalar> make_dropout(const Wiring<Scalar>& wiring) {
  return std::make_unique<Dropout<Scalar>>(wiring);
}
template OperationPtr<float> make_relu(const Wiring<float>&);
template OperationPtr<double> make_relu(const Wiring<double>&);
template OperationPtr<float> make_dropout(const Wiring<float>&);
template OperationPtr<double> make_dropout(const Wiring<double>&);

}  // namespace lockstep::host
