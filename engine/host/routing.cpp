// Layers that move values: sum of several inputs, concatenation along channels, and subsampling (every stride-th pixel;
// appended channels are zero).
#include <algorithm>

#include "engine/host/loops.hpp"
#include "engine/host/operation.hpp"

namespace lockstep::host {
namespace {

template <typename Scalar>
void pass(const Scalar* from, Scalar* to, std::int64_t count, bool accumulate) {
  (accumulate ? loops<Scalar>().add : loops<Scalar>().copy)(count, from, to);
}

template <typename Scalar>
class Add final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;

  void forward(const Step&) override {
    this->for_images([this](int image) {
      const int inputs = static_cast<int>(this->w_.inputs.size());
      const std::int64_t count = this->layer().out.elements();
      if (inputs > 1)
        loops<Scalar>().sum_of_two(count, this->in(image, 0), this->in(image, 1), this->out(image));
      else
        loops<Scalar>().copy(count, this->in(image), this->out(image));
      for (int i = 2; i < inputs; ++i) loops<Scalar>().add(count, this->in(image, i), this->out(image));
    });
  }

  void backward(const Step&) override {
    this->for_images([this](int image) {
      for (int i = 0; i < static_cast<int>(this->w_.inputs.size()); ++i) {
        const Input<Scalar>& input = this->w_.inputs[i];
        if (input.gradient == nullptr) continue;
        pass(this->out_gradient(image), this->in_gradient(image, i), input.shape.elements(), input.accumulate);
      }
    });
  }
};

template <typename Scalar>
class Concat final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;

  void forward(const Step&) override {
    this->for_images([this](int image) {
      Scalar* to = this->out(image);
      for (int i = 0; i < static_cast<int>(this->w_.inputs.size()); ++i) {
        to = std::copy_n(this->in(image, i), this->w_.inputs[i].shape.elements(), to);
      }
    });
  }

  void backward(const Step&) override {
    this->for_images([this](int image) {
      const Scalar* from = this->out_gradient(image);
      for (int i = 0; i < static_cast<int>(this->w_.inputs.size()); ++i) {
        const Input<Scalar>& input = this->w_.inputs[i];
        const std::int64_t count = input.shape.elements();
        if (input.gradient != nullptr) pass(from, this->in_gradient(image, i), count, input.accumulate);
        from += count;
      }
    });
  }
};

template <typename Scalar>
class Subsample final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;

  void forward(const Step&) override {
    this->for_images([this](int image) {
      const Scalar* x = this->in(image);
      Scalar* y = this->out(image);
      std::fill_n(y, this->layer().out.elements(), Scalar{0});
      for_kept([&](std::int64_t from, std::int64_t to) { y[to] = x[from]; });
    });
  }

  void backward(const Step&) override {
    const Input<Scalar>& input = this->w_.inputs[0];
    if (input.gradient == nullptr) return;
    this->for_images([&](int image) {
      const Scalar* dy = this->out_gradient(image);
      Scalar* dx = this->in_gradient(image);
      if (!input.accumulate) std::fill_n(dx, input.shape.elements(), Scalar{0});
      for_kept([&](std::int64_t from, std::int64_t to) { dx[from] += dy[to]; });
    });
  }

 private:
  /// Calls visit(input element, output element) for every pixel that is kept.
  template <typename Visit>
  void for_kept(const Visit& visit) const {
    const model::Shape& in = this->layer().in;
    const model::Shape& out = this->layer().out;
    const int stride = this->layer().window.stride_h;
    std::int64_t to = 0;
    for (int c = 0; c < in.channels; ++c) {
      for (int p = 0; p < out.height; ++p) {
        const std::int64_t row = (std::int64_t{c} * in.height + p * stride) * in.width;
        for (int q = 0; q < out.width; ++q) visit(row + q * stride, to++);
      }
    }
  }
};

}  // namespace

template <typename Scalar>
OperationPtr<Scalar> make_add(const Wiring<Scalar>& wiring) {
  return std::make_unique<Add<Scalar>>(wiring);
}
template <typename Scalar>
OperationPtr<Scalar> make_concat(const Wiring<Scalar>& wiring) {
  return std::make_unique<Concat<Scalar>>(wiring);
}
template <typename Scalar>
OperationPtr<Scalar> make_subsample(const Wiring<Scalar>& wiring) {
  return std::make_unique<Subsample<Scalar>>(wiring);
}
template OperationPtr<float> make_add(const Wiring<float>&);
template OperationPtr<double> make_add(const Wiring<double>&);
template OperationPtr<float> make_concat(const Wiring<float>&);
template OperationPtr<double> make_concat(const Wiring<double>&);
template OperationPtr<float> make_subsample(const Wiring<float>&);
template OperationPtr<double> make_subsample(const Wiring<double>&);

}  // namespace lockstep::host
