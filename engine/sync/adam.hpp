#pragma once
// Adam (Kingma & Ba 2015, "Adam: a method for stochastic optimization", Alg. 1) and AdamW (Loshchilov & Hutter 2019,
// "Decoupled weight decay regularization", Alg. 2), element by element; the first update has t = 1:
//
//   h = g + lambda w                                     AdamW: g alone
//   m <- beta1 m + (1 - beta1) h;  v <- beta2 v + (1 - beta2) h^2
//   AdamW: w <- w - gamma lambda w
//   w <- w - gamma / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
//
// in this order, which is PyTorch's (torch.optim.Adam, AdamW).
#include <cstdint>

namespace lockstep::sync {

/// Hyper-parameters of Adam's update number t (1, 2, ...); see above.
struct AdamStep {
  double learning_rate;
  double weight_decay;
  double beta1;
  double beta2;
  double epsilon;
  bool is_decoupled;  ///< weight decay apart from the gradient: AdamW
  std::int64_t t;
};

/// What Adam's update of number t makes of its hyper-parameters, once for all elements, in the floats that it computes in.
struct AdamScalars {
  explicit AdamScalars(const AdamStep& step);

  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float rate;  ///< gamma / (1 - beta1^t)
  float root;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon;
  float coupled;  ///< weight decay that is added to the gradient
  float shrink;   ///< share of a weight that is taken off apart from it
};

}  // namespace lockstep::sync
