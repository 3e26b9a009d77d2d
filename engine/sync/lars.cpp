#include "engine/sync/lars.hpp"

namespace lockstep::sync {

double trust_ratio(const LarsOptions& lars, double weight_norm, double gradient_norm, double weight_decay) {
  if (weight_norm <= 0 || gradient_norm <= 0) return 1;
  return lars.coefficient * weight_norm / (gradient_norm + weight_decay * weight_norm + lars.epsilon);
}

}  // namespace lockstep::sync
