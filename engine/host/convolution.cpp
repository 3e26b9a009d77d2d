// Convolution by im2col. The windows of a few images become the columns of a matrix. For each group of channels:
//   output  = weight * columns             (K x CRS) (CRS x PQ) = K x PQ
//   d weight = d output * columns^T        summed over images
//   d columns = weight^T * d output        scattered back onto the pixels they were copied from (col2im)
//
// Images with few output pixels share one product, because small matrices are slow. The sum over images has at most
// kSlots parts of fixed images, added in order. So any number of threads gives the same bits.
//
// This class computes windows of one pixel and, without oneDNN (onednn.hpp), all convolutions. Layers with few pixels
// and many weights are divided by channels instead (batched_im2col_convolution.cpp).
#include <algorithm>

#include "engine/host/columns.hpp"
#include "engine/host/convolution.hpp"
#include "engine/host/gemm.hpp"
#include "engine/host/level.hpp"
#include "engine/host/loops.hpp"
#ifdef LOCKSTEP_WITH_ONEDNN
#include "engine/host/onednn.hpp"
#endif

namespace lockstep::host {
namespace {

constexpr int kSlots = 8;
constexpr std::int64_t kPixelsPerProduct = 256;
constexpr std::int64_t kReductionBlock = 8192;

bool has_unit_windows(const model::Window& window) {
  model::Window unit;
  unit.groups = window.groups;
  return window == unit;
}

template <typename Scalar>
class Convolution final : public Operation<Scalar> {
  using Base = Operation<Scalar>;
  using Base::in;
  using Base::in_gradient;
  using Base::layer;
  using Base::out;
  using Base::out_gradient;
  using Base::w_;

 public:
  explicit Convolution(const Wiring<Scalar>& wiring) : Base(wiring) {
    const model::Window& window = layer().window;
    pixels_ = std::int64_t{layer().out.height} * layer().out.width;
    taps_ = std::int64_t{layer().in.channels} / window.groups * window.kernel_h * window.kernel_w;
    weights_ = layer().parameters[0].elements;
    biases_ = layer().parameters.size() > 1 ? layer().out.channels : 0;
    slots_ = std::min(w_.batch, kSlots);
    const std::int64_t images_of_slot = (w_.batch + slots_ - 1) / slots_;
    together_ = static_cast<int>(std::clamp(kPixelsPerProduct / pixels_, std::int64_t{1}, images_of_slot));
    columns_are_input_ = has_unit_windows(window) && together_ == 1;
    columns_size_ = columns_are_input_ ? 0 : taps_ * window.groups * pixels_ * together_;
    const std::int64_t staged = together_ > 1 ? layer().out.elements() * together_ : 0;
    w_.workspace->need_per_worker(columns_size_ + staged);
    if (slots_ > 1) w_.workspace->need_shared((weights_ + biases_) * slots_);
  }

  void forward(const Step&) override {
    const int products = (w_.batch + together_ - 1) / together_;
    w_.pool->parallel_for(products, [&](int product, int worker) {
      const int first = product * together_;
      forward_images(first, std::min(together_, w_.batch - first), worker);
    });
  }

  bool splits_gradients() const override { return w_.inputs[0].gradient != nullptr; }

  void backward(const Step& step) override {
    w_.pool->parallel_for(slots_, [&](int slot, int worker) {
      const int begin = w_.batch * slot / slots_;
      const int end = w_.batch * (slot + 1) / slots_;
      for (int first = begin; first < end; first += together_) {
        backward_images(first, std::min(together_, end - first), slot, worker, first != begin, step.gradients);
      }
    });
    if (slots_ > 1 && step.gradients != Gradients::of_input) add_slots();
  }

 private:
  int groups() const { return layer().window.groups; }
  Scalar* staged(int worker) const { return w_.workspace->of_worker(worker) + columns_size_; }

  const Scalar* columns_of(int first, int images, int worker) const {
    if (columns_are_input_) return in(first);
    Scalar* columns = w_.workspace->of_worker(worker);
    for (int i = 0; i < images; ++i)
      image_to_columns(layer(), {0, layer().in.channels}, in(first + i), columns + i * pixels_, images * pixels_);
    return columns;
  }

  void forward_images(int first, int images, int worker) const {
    const std::int64_t width = images * pixels_;
    const Scalar* columns = columns_of(first, images, worker);
    Scalar* result = images > 1 ? staged(worker) : out(first);
    const std::int64_t rows = layer().out.channels / groups();
    for (int g = 0; g < groups(); ++g) {
      gemm<Scalar>({rows, width, taps_}, {w_.parameters[0] + g * rows * taps_, taps_},
                   {columns + g * taps_ * width, width}, result + g * rows * width, width, false);
    }
    if (images == 1 && biases_ == 0) return;
    for (int i = 0; i < images; ++i) {
      for (int k = 0; k < layer().out.channels; ++k) {
        const Scalar bias = biases_ > 0 ? w_.parameters[1][k] : Scalar{0};
        loops<Scalar>().shift(pixels_, result + k * width + i * pixels_, bias, out(first + i) + k * pixels_);
      }
    }
  }

  /// Returns d loss / d output of several images as one matrix of K rows.
  const Scalar* gradient_rows(int first, int images, int worker) const {
    if (images == 1) return out_gradient(first);
    Scalar* rows = staged(worker);
    for (int k = 0; k < layer().out.channels; ++k) {
      for (int i = 0; i < images; ++i) {
        std::copy_n(out_gradient(first + i) + k * pixels_, pixels_, rows + (std::int64_t{k} * images + i) * pixels_);
      }
    }
    return rows;
  }

  void backward_images(int first, int images, int slot, int worker, bool accumulate, Gradients wanted) const {
    const Scalar* columns = wanted == Gradients::of_input ? nullptr : columns_of(first, images, worker);
    const Scalar* gradient = gradient_rows(first, images, worker);
    if (columns != nullptr) parameter_gradients(images, slot, accumulate, columns, gradient);
    if (wanted != Gradients::of_parameters && w_.inputs[0].gradient != nullptr)
      input_gradient(first, images, worker, gradient);
  }

  void parameter_gradients(int images, int slot, bool accumulate, const Scalar* columns, const Scalar* gradient) const {
    const std::int64_t width = images * pixels_;
    const std::int64_t rows = layer().out.channels / groups();
    for (int g = 0; g < groups(); ++g) {
      gemm<Scalar>({rows, taps_, width}, {gradient + g * rows * width, width},
                   {columns + g * taps_ * width, width, true}, slot_weights(slot) + g * rows * taps_, taps_,
                   accumulate);
    }
    for (int k = 0; biases_ > 0 && k < layer().out.channels; ++k) {
      const Scalar sum = loops<Scalar>().sum(width, gradient + k * width);
      slot_biases(slot)[k] = accumulate ? slot_biases(slot)[k] + sum : sum;
    }
  }

  void input_gradient(int first, int images, int worker, const Scalar* gradient) const {
    const std::int64_t width = images * pixels_;
    const std::int64_t rows = layer().out.channels / groups();
    Scalar* columns = columns_are_input_ ? in_gradient(first) : w_.workspace->of_worker(worker);
    const bool add = columns_are_input_ && w_.inputs[0].accumulate;
    for (int g = 0; g < groups(); ++g) {
      gemm<Scalar>({taps_, width, rows}, {w_.parameters[0] + g * rows * taps_, taps_, true},
                   {gradient + g * rows * width, width}, columns + g * taps_ * width, width, add);
    }
    if (columns_are_input_) return;
    for (int i = 0; i < images; ++i) {
      Scalar* image = in_gradient(first + i);
      if (!w_.inputs[0].accumulate) std::fill_n(image, layer().in.elements(), Scalar{0});
      columns_to_image(layer(), {0, layer().in.channels}, columns + i * pixels_, width, image);
    }
  }

  Scalar* slot_weights(int slot) const {
    return slots_ > 1 ? w_.workspace->shared() + slot * (weights_ + biases_) : w_.parameter_gradients[0];
  }
  Scalar* slot_biases(int slot) const { return slots_ > 1 ? slot_weights(slot) + weights_ : w_.parameter_gradients[1]; }

  void add_slots() const {
    const std::int64_t all = weights_ + biases_;
    const int blocks = static_cast<int>((all + kReductionBlock - 1) / kReductionBlock);
    w_.pool->parallel_for(blocks, [&](int block, int) {
      const std::int64_t begin = block * kReductionBlock;
      const std::int64_t end = std::min(all, begin + kReductionBlock);
      Scalar* sum = w_.workspace->shared();
      for (int slot = 1; slot < slots_; ++slot) {
        loops<Scalar>().add(end - begin, w_.workspace->shared() + slot * all + begin, sum + begin);
      }
      const std::int64_t split = std::clamp(weights_, begin, end);
      std::copy(sum + begin, sum + split, w_.parameter_gradients[0] + begin);
      if (split < end) std::copy(sum + split, sum + end, w_.parameter_gradients[1] + (split - weights_));
    });
  }

  std::int64_t pixels_;  ///< P Q
  std::int64_t taps_;    ///< (C/g) R S
  std::int64_t weights_;
  std::int64_t biases_;
  int slots_;
  int together_;            ///< images per product
  bool columns_are_input_;  ///< 1x1, stride 1, no padding
  std::int64_t columns_size_;
};

#ifdef LOCKSTEP_WITH_ONEDNN
OperationPtr<float> make_by_onednn(const Wiring<float>& wiring) {
  return onednn::make_convolution(wiring);
}
OperationPtr<double> make_by_onednn(const Wiring<double>&) {
  return nullptr;  // oneDNN has no double precision
}
#endif

}  // namespace

// Windows of one pixel are plain matrix products: oneDNN would only convert to its blocked layout and back.
template <typename Scalar>
OperationPtr<Scalar> make_convolution(const Wiring<Scalar>& wiring) {
  if (has_few_pixels(*wiring.layer, wiring.batch)) return make_batched_im2col_convolution(wiring);
#ifdef LOCKSTEP_WITH_ONEDNN
  if (uses_onednn() && !has_unit_windows(wiring.layer->window)) {
    if (OperationPtr<Scalar> direct = make_by_onednn(wiring)) return direct;
  }
#endif
  return std::make_unique<Convolution<Scalar>>(wiring);
}
template OperationPtr<float> make_convolution(const Wiring<float>&);
template OperationPtr<double> make_convolution(const Wiring<double>&);

}  // namespace lockstep::host
