#pragma once
// LARS, layer-wise adaptive rate scaling (You, Gitman & Ginsburg 2017; Eq. 1 of Jia et al. 2018, "Highly scalable deep
// learning training system with mixed-precision: training ImageNet in four minutes").
//
// Each weight tensor s gets a learning rate of its own, gamma r_s, so that an update is a fixed fraction of the
// weights however large the gradient:
//
//   r_s = eta |w_s| / (|g_s| + lambda |w_s| + epsilon)
//   v  <- mu v - gamma r_s (g + lambda w);  w <- w + v
//
// Biases and batch-norm parameters take r = 1 and no decay. With mixed precision, w and g are the float master copies:
// with eta = 0.001, r_s is below what half precision can hold.
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

/// r_s of one weight tensor. 1 where a norm is 0 (a tensor not yet trained, or not reached by the loss): no ratio.
double trust_ratio(const LarsOptions& lars, double weight_norm, double gradient_norm, double weight_decay);

}  // namespace lockstep::sync
