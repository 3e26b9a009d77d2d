// Max, average and global average pooling.
//
// Padding is ignored: the maximum is over the image's pixels in the window, and the average divides by their number.
// The zoo's sources do the same where it matters: Caffe clips the last window of rounded-up pooling (CIFAR-10 quick),
// and TensorFlow excludes padding from averages (Inception-V3). A window always contains a pixel, because padding is
// smaller than the kernel. Among equal maxima, the first gets the gradient.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/host/loops.hpp"
#include "engine/host/operation.hpp"

namespace lockstep::host {
namespace {

/// Holds the pixels [h0, h1) x [w0, w1) of the image in the window of output pixel (p, q).
struct Pixels {
  int h0, h1, w0, w1;
};
Pixels pixels_of(const model::Layer& layer, int p, int q) {
  const model::Window& w = layer.window;
  const int h = p * w.stride_h - w.pad_top;
  const int v = q * w.stride_w - w.pad_left;
  return {std::max(h, 0), std::min(h + w.kernel_h, layer.in.height), std::max(v, 0),
          std::min(v + w.kernel_w, layer.in.width)};
}

/// Calls visit(channel, output element, pixels) for every output of one image.
template <typename Visit>
void for_windows(const model::Layer& layer, const Visit& visit) {
  std::int64_t element = 0;
  for (int c = 0; c < layer.out.channels; ++c) {
    for (int p = 0; p < layer.out.height; ++p) {
      for (int q = 0; q < layer.out.width; ++q) visit(c, element++, pixels_of(layer, p, q));
    }
  }
}

template <typename Scalar>
class MaxPool final : public Operation<Scalar> {
 public:
  explicit MaxPool(const Wiring<Scalar>& wiring)
      : Operation<Scalar>(wiring), chosen_(this->layer().out.elements() * wiring.batch) {}

  void forward(const Step&) override {
    this->for_images([this](int image) {
      if (halves())
        forward_halving(image);
      else
        forward_any(image);
    });
  }

  void backward(const Step&) override {
    const Input<Scalar>& input = this->w_.inputs[0];
    if (input.gradient == nullptr) return;
    this->for_images([&](int image) {
      Scalar* dx = this->in_gradient(image);
      if (!input.accumulate) std::fill_n(dx, input.shape.elements(), Scalar{0});
      const Scalar* dy = this->out_gradient(image);
      const std::int32_t* chosen = chosen_of(image);
      const std::int64_t plane = std::int64_t{this->layer().out.height} * this->layer().out.width;
      const std::int64_t in_plane = std::int64_t{input.shape.height} * input.shape.width;
      for (int c = 0; c < input.shape.channels; ++c, dx += in_plane, dy += plane, chosen += plane) {
        for (std::int64_t i = 0; i < plane; ++i) dx[chosen[i]] += dy[i];
      }
    });
  }

 private:
  std::int32_t* chosen_of(int image) { return chosen_.data() + image * this->layer().out.elements(); }

  /// Whether windows are 2x2 without overlap. This common case needs no clipping and no branches.
  bool halves() const {
    model::Window two;
    two.kernel_h = two.kernel_w = two.stride_h = two.stride_w = 2;
    model::Window own = this->layer().window;
    own.ceil = false;
    return own == two && this->layer().in.height == 2 * this->layer().out.height &&
           this->layer().in.width == 2 * this->layer().out.width;
  }

  void forward_halving(int image) {
    const model::Shape& shape = this->layer().out;
    const Scalar* x = this->in(image);
    Scalar* y = this->out(image);
    std::int32_t* chosen = chosen_of(image);
    const std::int64_t plane = std::int64_t{shape.height} * shape.width;
    for (int c = 0; c < shape.channels; ++c)
      loops<Scalar>().halve({shape.height, shape.width}, x + 4 * c * plane, y + c * plane, chosen + c * plane);
  }

  void forward_any(int image) {
    const model::Shape& shape = this->layer().in;
    const Scalar* x = this->in(image);
    Scalar* y = this->out(image);
    std::int32_t* chosen = chosen_of(image);
    for_windows(this->layer(), [&](int c, std::int64_t element, const Pixels& pixels) {
      const Scalar* plane = x + std::int64_t{c} * shape.height * shape.width;
      int best = pixels.h0 * shape.width + pixels.w0;
      for (int h = pixels.h0; h < pixels.h1; ++h) {
        for (int w = pixels.w0; w < pixels.w1; ++w) {
          if (plane[h * shape.width + w] > plane[best]) best = h * shape.width + w;
        }
      }
      y[element] = plane[best];
      chosen[element] = best;
    });
  }

  std::vector<std::int32_t> chosen_;  ///< position of each output's maximum in its input plane
};

template <typename Scalar>
class AvgPool final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;

  void forward(const Step&) override {
    const model::Shape& shape = this->layer().in;
    this->for_images([&](int image) {
      const Scalar* x = this->in(image);
      Scalar* y = this->out(image);
      for_windows(this->layer(), [&](int c, std::int64_t element, const Pixels& pixels) {
        Scalar sum = 0;
        for (int h = pixels.h0; h < pixels.h1; ++h) {
          const Scalar* row = x + (std::int64_t{c} * shape.height + h) * shape.width;
          for (int w = pixels.w0; w < pixels.w1; ++w) sum += row[w];
        }
        y[element] = sum / count(pixels);
      });
    });
  }

  void backward(const Step&) override {
    const Input<Scalar>& input = this->w_.inputs[0];
    if (input.gradient == nullptr) return;
    this->for_images([&](int image) {
      Scalar* dx = this->in_gradient(image);
      if (!input.accumulate) std::fill_n(dx, input.shape.elements(), Scalar{0});
      const Scalar* dy = this->out_gradient(image);
      for_windows(this->layer(), [&](int c, std::int64_t element, const Pixels& pixels) {
        const Scalar share = dy[element] / count(pixels);
        for (int h = pixels.h0; h < pixels.h1; ++h) {
          Scalar* row = dx + (std::int64_t{c} * input.shape.height + h) * input.shape.width;
          for (int w = pixels.w0; w < pixels.w1; ++w) row[w] += share;
        }
      });
    });
  }

 private:
  static Scalar count(const Pixels& pixels) {
    return static_cast<Scalar>((pixels.h1 - pixels.h0) * (pixels.w1 - pixels.w0));
  }
};

template <typename Scalar>
class GlobalAvgPool final : public Operation<Scalar> {
 public:
  using Operation<Scalar>::Operation;

  void forward(const Step&) override {
    this->for_images([this](int image) {
      const std::int64_t plane = pixels();
      for (int c = 0; c < this->layer().in.channels; ++c) {
        this->out(image)[c] = loops<Scalar>().sum(plane, this->in(image) + c * plane) / static_cast<Scalar>(plane);
      }
    });
  }

  void backward(const Step&) override {
    const Input<Scalar>& input = this->w_.inputs[0];
    if (input.gradient == nullptr) return;
    this->for_images([&](int image) {
      const std::int64_t plane = pixels();
      for (int c = 0; c < input.shape.channels; ++c) {
        const Scalar share = this->out_gradient(image)[c] / static_cast<Scalar>(plane);
        Scalar* dx = this->in_gradient(image) + c * plane;
        for (std::int64_t i = 0; i < plane; ++i) dx[i] = input.accumulate ? dx[i] + share : share;
      }
    });
  }

 private:
  std::int64_t pixels() const { return std::int64_t{this->layer().in.height} * this->layer().in.width; }
};

}  // namespace

template <typename Scalar>
OperationPtr<Scalar> make_max_pool(const Wiring<Scalar>& wiring) {
  return std::make_unique<MaxPool<Scalar>>(wiring);
}
template <typename Scalar>
OperationPtr<Scalar> make_avg_pool(const Wiring<Scalar>& wiring) {
  return std::make_unique<AvgPool<Scalar>>(wiring);
}
template <typename Scalar>
OperationPtr<Scalar> make_global_avg_pool(const Wiring<Scalar>& wiring) {
  return std::make_unique<GlobalAvgPool<Scalar>>(wiring);
}
template OperationPtr<float> make_max_pool(const Wiring<float>&);
template OperationPtr<double> make_max_pool(const Wiring<double>&);
template OperationPtr<float> make_avg_pool(const Wiring<float>&);
template OperationPtr<double> make_avg_pool(const Wiring<double>&);
template OperationPtr<float> make_global_avg_pool(const Wiring<float>&);
template OperationPtr<double> make_global_avg_pool(const Wiring<double>&);

}  // namespace lockstep::host
