#pragma once
// LARS, layer-wise adaptive rate scaling (You, Gitman & Ginsburg 2017). This is Eq. 1 of Jia et al. 2018, "Highly
// scalable deep learning training system with mixed-precision: training ImageNet in four minutes".
//
// Each weight tensor s has its own learning rate, gamma r_s, so that an update is a fixed fraction of the weights,
// however large the gradient:
//
//   r_s = eta |w_s| / (|g_s| + lambda |w_s| + epsilon)
//   v  <- mu v - gamma r_s (g + lambda w);  w <- w + v
//
// Biases and batch-norm parameters use r = 1 and no decay. With mixed precision, w and g are the float master copies,
// because with eta = 0.001, r_s is too small for half precision.
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

/// r_s of one weight tensor; 1 if a norm is 0 (the tensor is not yet trained, or the loss does not depend on it).
double trust_ratio(const LarsOptions& lars, double weight_norm, double gradient_norm, double weight_decay);

}  // namespace lockstep::sync
