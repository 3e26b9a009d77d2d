// Batch normalisation and local response normalisation.
//
// Batch norm uses the n = batch x height x width values x of each channel:
//   training    xhat = (x - mean) / sqrt(var + 1e-5), var = sum (x - mean)^2 / n;   y = gamma xhat + beta
//   then        running = 0.9 running + 0.1 new, for the mean and the unbiased variance n / (n - 1) var
//   evaluation  the running mean and variance instead
//   backward    d gamma = sum dy xhat,  d beta = sum dy,
//               dx = gamma / sqrt(var + 1e-5) (dy - d beta / n - xhat d gamma / n)
// (Ioffe & Szegedy 2015; constants as in PyTorch and cuDNN). Work is divided by channels, so that no sum is split.
//
// Local response normalisation (Krizhevsky, Sutskever & Hinton 2012, section 3.3) sums over channels c' at most 2 away
// at the same pixel:
//   y_c = x_c / s_c^0.75,  s_c = 2 + 1e-4 sum x_c'^2
//   dx_c = dy_c / s_c^0.75 - 2 (1e-4) (0.75) x_c sum_c' dy_c' x_c' / s_c'^1.75
#include <algorithm>
#include <cmath>

#include "engine/host/loops.hpp"
#include "engine/host/operation.hpp"

namespace lockstep::host {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;  ///< weight of the newest batch in the running statistics
constexpr int kReach = 2;
constexpr double kBias = 2;
constexpr double kAlpha = 1e-4;
constexpr double kBeta = 0.75;

template <typename Scalar>
class BatchNorm final : public Operation<Scalar> {
  using Base = Operation<Scalar>;
  using Base::layer;
  using Base::w_;

 public:
  explicit BatchNorm(const Wiring<Scalar>& wiring)
      : Base(wiring),
        plane_(std::int64_t{layer().in.height} * layer().in.width),
        mean_(layer().in.channels),
        scale_(layer().in.channels) {}

  void forward(const Step& step) override {
    w_.pool->parallel_for(layer().in.channels, [&](int c, int) {
      if (step.training)
        batch_statistics(c);
      else
        running_statistics(c);
      const Scalar slope = w_.parameters[0][c] * scale_[c];
      const Scalar shift = w_.parameters[1][c];
      loops<Scalar>().normalise(runs(), this->in(0) + c * plane_, mean_[c], slope, shift, this->out(0) + c * plane_);
    });
  }

  void backward(const Step&) override {
    w_.pool->parallel_for(layer().in.channels, [&](int c, int) {
      parameter_gradients(c);
      if (w_.inputs[0].gradient != nullptr) input_gradient(c);
    });
  }

 private:
  /// Describes a channel's values in the batch.
  Runs runs() const { return {w_.batch, plane_, layer().in.elements()}; }

  void batch_statistics(int c) {
    const Scalar n = static_cast<Scalar>(w_.batch * plane_);
    const Scalar* x = this->in(0) + c * plane_;
    mean_[c] = loops<Scalar>().sum_of_runs(runs(), x) / n;
    const Scalar squares = loops<Scalar>().squares_of_runs(runs(), x, mean_[c]);
    scale_[c] = 1 / std::sqrt(squares / n + static_cast<Scalar>(kEpsilon));
    const Scalar unbiased = squares / std::max(n - 1, Scalar{1});
    update(w_.running[c], mean_[c]);
    update(w_.running[layer().in.channels + c], unbiased);
  }

  static void update(Scalar& running, Scalar fresh) { running += static_cast<Scalar>(kMomentum) * (fresh - running); }

  void running_statistics(int c) {
    mean_[c] = w_.running[c];
    scale_[c] = 1 / std::sqrt(w_.running[layer().in.channels + c] + static_cast<Scalar>(kEpsilon));
  }

  void parameter_gradients(int c) {
    Scalar gamma = 0;
    Scalar beta = 0;
    loops<Scalar>().normalised_sums(runs(), this->in(0) + c * plane_, this->out_gradient(0) + c * plane_, mean_[c],
                                    &gamma, &beta);
    w_.parameter_gradients[0][c] = gamma * scale_[c];
    w_.parameter_gradients[1][c] = beta;
  }

  void input_gradient(int c) {
    const Scalar n = static_cast<Scalar>(w_.batch * plane_);
    const ChannelGradient<Scalar> of{mean_[c], w_.parameters[0][c] * scale_[c], w_.parameter_gradients[1][c] / n,
                                     w_.parameter_gradients[0][c] / n * scale_[c]};
    loops<Scalar>().normalised_gradient(runs(), this->in(0) + c * plane_, this->out_gradient(0) + c * plane_, of,
                                        this->in_gradient(0) + c * plane_, w_.inputs[0].accumulate);
  }

  std::int64_t plane_;
  Vector<Scalar> mean_;
  Vector<Scalar> scale_;  ///< 1 / sqrt(var + epsilon)
};

template <typename Scalar>
class LocalResponse final : public Operation<Scalar> {
  using Base = Operation<Scalar>;
  using Base::layer;

 public:
  explicit LocalResponse(const Wiring<Scalar>& wiring)
      : Base(wiring),
        plane_(std::int64_t{layer().in.height} * layer().in.width),
        sums_(layer().in.elements() * wiring.batch) {}

  void forward(const Step&) override {
    this->for_images([this](int image) {
      const std::int64_t count = layer().in.elements();
      const Scalar* x = this->in(image);
      Scalar* s = sums_.data() + image * count;
      std::fill_n(s, count, static_cast<Scalar>(kBias));
      for_neighbours([&](std::int64_t at, std::int64_t neighbour) {
        for (std::int64_t i = 0; i < plane_; ++i) {
          s[at + i] += static_cast<Scalar>(kAlpha) * x[neighbour + i] * x[neighbour + i];
        }
      });
      Scalar* y = this->out(image);
      for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * std::pow(s[i], static_cast<Scalar>(-kBeta));
    });
  }

  void backward(const Step&) override {
    const Input<Scalar>& input = this->w_.inputs[0];
    if (input.gradient == nullptr) return;
    this->for_images([&](int image) {
      const std::int64_t count = layer().in.elements();
      const Scalar* x = this->in(image);
      const Scalar* y = this->out(image);
      const Scalar* dy = this->out_gradient(image);
      const Scalar* s = sums_.data() + image * count;
      Scalar* dx = this->in_gradient(image);
      for (std::int64_t i = 0; i < count; ++i) {
        const Scalar direct = dy[i] * std::pow(s[i], static_cast<Scalar>(-kBeta));
        dx[i] = input.accumulate ? dx[i] + direct : direct;
      }
      for_neighbours([&](std::int64_t at, std::int64_t other) {
        const Scalar factor = static_cast<Scalar>(-2 * kAlpha * kBeta);
        for (std::int64_t i = 0; i < plane_; ++i) {
          dx[at + i] += factor * x[at + i] * dy[other + i] * y[other + i] / s[other + i];
        }
      });
    });
  }

 private:
  /// Calls visit(first element of a channel, first element of a channel within reach) for all such pairs.
  template <typename Visit>
  void for_neighbours(const Visit& visit) const {
    const int channels = layer().in.channels;
    for (int c = 0; c < channels; ++c) {
      const int last = std::min(c + kReach, channels - 1);
      for (int other = std::max(c - kReach, 0); other <= last; ++other) visit(c * plane_, other * plane_);
    }
  }

  std::int64_t plane_;
  Vector<Scalar> sums_;  ///< s of the last forward pass
};

}  // namespace

template <typename Scalar>
OperationPtr<Scalar> make_batch_norm(const Wiring<Scalar>& wiring) {
  return std::make_unique<BatchNorm<Scalar>>(wiring);
}
template <typename Scalar>
OperationPtr<Scalar> make_lrn(const Wiring<Scalar>& wiring) {
  return std::make_unique<LocalResponse<Scalar>>(wiring);
}
template OperationPtr<float> make_batch_norm(const Wiring<float>&);
template OperationPtr<double> make_batch_norm(const Wiring<double>&);
template OperationPtr<float> make_lrn(const Wiring<float>&);
template OperationPtr<double> make_lrn(const Wiring<double>&);

}  // namespace lockstep::host
