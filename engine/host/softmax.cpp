// Softmax cross-entropy heads: d loss / d z_k = weight (p_k - [k = label]) / batch.
#include <algorithm>
#include <cmath>

#include "engine/host/operation.hpp"

namespace lockstep::host {

template <typename Scalar>
void Softmax<Scalar>::forward(const Step&) {
  this->for_images([this](int image) {
    const std::int64_t classes = this->layer().out.elements();
    const Scalar* z = this->in(image);
    Scalar* p = this->out(image);
    const Scalar largest = *std::max_element(z, z + classes);  // exp() of a difference <= 0 cannot overflow
    Scalar sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) sum += p[k] = std::exp(z[k] - largest);
    for (std::int64_t k = 0; k < classes; ++k) p[k] /= sum;
  });
}

template <typename Scalar>
void Softmax<Scalar>::backward(const Step& step) {
  const Input<Scalar>& input = this->w_.inputs[0];
  if (input.gradient == nullptr) return;
  this->for_images([&](int image) {
    const std::int64_t classes = this->layer().out.elements();
    const Scalar scale = this->w_.head_weight / static_cast<Scalar>(this->w_.batch);
    const Scalar* p = this->out(image);
    Scalar* dz = this->in_gradient(image);
    for (std::int64_t k = 0; k < classes; ++k) {
      const Scalar gradient = scale * (p[k] - (k == step.labels[image] ? Scalar{1} : Scalar{0}));
      dz[k] = input.accumulate ? dz[k] + gradient : gradient;
    }
  });
}

// Computed from z, because log p would be -infinity if p rounds to 0.
template <typename Scalar>
double Softmax<Scalar>::loss(const int* labels) const {
  const std::int64_t classes = this->layer().out.elements();
  double sum = 0;
  for (int image = 0; image < this->w_.batch; ++image) {
    const Scalar* z = this->in(image);
    const double largest = static_cast<double>(*std::max_element(z, z + classes));
    double exponentials = 0;
    for (std::int64_t k = 0; k < classes; ++k) exponentials += std::exp(static_cast<double>(z[k]) - largest);
    sum += std::log(exponentials) + largest - static_cast<double>(z[labels[image]]);
  }
  return static_cast<double>(this->w_.head_weight) * sum / this->w_.batch;
}

template class Softmax<float>;
template class Softmax<double>;

}  // namespace lockstep::host
