#pragma once
// Adam (Kingma & Ba 2015, "Adam: a method for stochastic optimization", Alg. 1) and AdamW (Loshchilov & Hutter 2019,
// "Decoupled weight decay regularization", Alg. 2). Both work element by element. The first update has t = 1:
//
//   h = g + lambda w                                     AdamW: g alone
//   m <- beta1 m + (1 - beta1) h;  v <- beta2 v + (1 - beta2) h^2
//   AdamW: w <- w - gamma lambda w
//   w <- w - gamma / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
//
// The order of operations is PyTorch's (torch.optim.Adam, AdamW).
#include <cstdint>

namespace lockstep::sync {

/// Hyper-parameters of Adam's update number t (1, 2, ...); see above.
struct AdamStep {
  double learning_rate;
  double weight_decay;
  double beta1;
  double beta2;
  double epsilon;
  bool is_decoupled;  ///< AdamW: weight decay is not part of the gradient
  std::int64_t t;
};

/// Factors that Adam's update t computes once for all elements, in the precision of the update.
struct AdamScalars {
  explicit AdamScalars(const AdamStep& step);

  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float rate;  ///< gamma / (1 - beta1^t)
  float root;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon;
  float coupled;  ///< weight decay added to the gradient
  float shrink;   ///< AdamW: fraction by which each weight shrinks
};

}  // namespace lockstep::sync
