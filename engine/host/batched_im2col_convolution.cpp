// Convolution of layers with few pixels (convolution.hpp), for N images of PQ output pixels:
//   output    = weight * columns         (K x CRS) (CRS x NPQ), each task some rows k
//   d weight  = d output * columns^T     each task some rows k
//   d columns = weight^T * d output      each task some channels c, which it adds to the images
#include <algorithm>

#include "engine/host/columns.hpp"
#include "engine/host/convolution.hpp"
#include "engine/host/gemm.hpp"
#include "engine/host/loops.hpp"

namespace lockstep::host {
namespace {

constexpr int kTasks = 8;
constexpr int kRows = 16;  ///< rows per task are a multiple of this: one register of results

int rounded_share(int channels) {
  const int share = (channels + kTasks - 1) / kTasks;
  return std::min(channels, (share + kRows - 1) / kRows * kRows);
}

template <typename Scalar>
class BatchedIm2colConvolution final : public Operation<Scalar> {
  using Base = Operation<Scalar>;
  using Base::in;
  using Base::in_gradient;
  using Base::layer;
  using Base::out;
  using Base::out_gradient;
  using Base::w_;

 public:
  explicit BatchedIm2colConvolution(const Wiring<Scalar>& wiring)
      : Base(wiring),
        pixels_(std::int64_t{layer().out.height} * layer().out.width),
        width_(pixels_ * w_.batch),
        window_(std::int64_t{layer().window.kernel_h} * layer().window.kernel_w),
        taps_(layer().in.channels * window_),
        outputs_(rounded_share(layer().out.channels)),
        inputs_(rounded_share(layer().in.channels)) {
    w_.workspace->need_shared(columns_size() + layer().out.channels * width_);
    w_.workspace->need_per_worker(std::max<std::int64_t>(outputs_, inputs_ * window_) * width_);
  }

  void forward(const Step&) override {
    make_columns();
    for_channels(layer().out.channels, outputs_, [&](const Channels& k, int worker) {
      Scalar* rows = w_.workspace->of_worker(worker);
      gemm<Scalar>({k.count, width_, taps_}, {weights(k.first), taps_}, {columns(), width_}, rows, width_, false);
      for (int row = 0; row < k.count; ++row) {
        const int channel = k.first + row;
        const Scalar bias = layer().parameters.size() > 1 ? w_.parameters[1][channel] : Scalar{0};
        for (int image = 0; image < w_.batch; ++image)
          loops<Scalar>().shift(pixels_, rows + row * width_ + image * pixels_, bias, out(image) + channel * pixels_);
      }
    });
  }

  bool splits_gradients() const override { return w_.inputs[0].gradient != nullptr; }

  void backward(const Step& step) override {
    for_channels(layer().out.channels, outputs_, [&](const Channels& k, int) { gather_gradient(k); });
    if (step.gradients != Gradients::of_input) weight_gradients();
    if (step.gradients != Gradients::of_parameters && w_.inputs[0].gradient != nullptr) input_gradients();
  }

 private:
  std::int64_t columns_size() const { return aligned_elements<Scalar>(taps_ * width_); }
  Scalar* columns() const { return w_.workspace->shared(); }
  Scalar* gradients() const { return columns() + columns_size(); }
  const Scalar* weights(int output) const { return w_.parameters[0] + output * taps_; }

  template <typename Task>
  void for_channels(int channels, int share, const Task& task) const {
    w_.pool->parallel_for((channels + share - 1) / share, [&](int block, int worker) {
      const int first = block * share;
      task(Channels{first, std::min(share, channels - first)}, worker);
    });
  }

  void make_columns() const {
    for_channels(layer().in.channels, inputs_, [&](const Channels& c, int) {
      for (int image = 0; image < w_.batch; ++image)
        image_to_columns(layer(), c, in(image), columns() + c.first * window_ * width_ + image * pixels_, width_);
    });
  }

  void gather_gradient(const Channels& k) const {
    for (int channel = k.first; channel < k.first + k.count; ++channel)
      for (int image = 0; image < w_.batch; ++image)
        loops<Scalar>().copy(pixels_, out_gradient(image) + channel * pixels_,
                             gradients() + channel * width_ + image * pixels_);
  }

  void weight_gradients() const {
    make_columns();
    for_channels(layer().out.channels, outputs_, [&](const Channels& k, int) {
      const Scalar* rows = gradients() + k.first * width_;
      gemm<Scalar>({k.count, taps_, width_}, {rows, width_}, {columns(), width_, true},
                   w_.parameter_gradients[0] + k.first * taps_, taps_, false);
      for (int row = 0; layer().parameters.size() > 1 && row < k.count; ++row)
        w_.parameter_gradients[1][k.first + row] = loops<Scalar>().sum(width_, rows + row * width_);
    });
  }

  void input_gradients() const {
    for_channels(layer().in.channels, inputs_, [&](const Channels& c, int worker) {
      Scalar* rows = w_.workspace->of_worker(worker);
      gemm<Scalar>({c.count * window_, width_, layer().out.channels}, {weights(0) + c.first * window_, taps_, true},
                   {gradients(), width_}, rows, width_, false);
      const std::int64_t plane = std::int64_t{layer().in.height} * layer().in.width;
      for (int image = 0; image < w_.batch; ++image) {
        if (!w_.inputs[0].accumulate) std::fill_n(in_gradient(image) + c.first * plane, c.count * plane, Scalar{0});
        columns_to_image(layer(), c, rows + image * pixels_, width_, in_gradient(image));
      }
    });
  }

  std::int64_t pixels_;  ///< P Q
  std::int64_t width_;   ///< N P Q
  std::int64_t window_;  ///< R S
  std::int64_t taps_;    ///< C R S
  int outputs_;          ///< output channels per task
  int inputs_;
};

}  // namespace

bool has_few_pixels(const model::Layer& layer, int batch) {
  const std::int64_t pixels = std::int64_t{layer.out.height} * layer.out.width * batch;
  return layer.window.groups == 1 && pixels <= kTasks * std::int64_t{layer.out.channels};
}

template <typename Scalar>
OperationPtr<Scalar> make_batched_im2col_convolution(const Wiring<Scalar>& wiring) {
  return std::make_unique<BatchedIm2colConvolution<Scalar>>(wiring);
}
template OperationPtr<float> make_batched_im2col_convolution(const Wiring<float>&);
template OperationPtr<double> make_batched_im2col_convolution(const Wiring<double>&);

}  // namespace lockstep::host
