#pragma once
// One update of the parameters w by an averaged gradient g, at learning rate gamma, with weight decay lambda on weights
// only. S-SGD and its relatives use it.
//
//   momentum   v <- mu v - gamma (g + lambda w);  w <- w + v                     Polyak 1964; with LARS, see lars.hpp
//   nesterov   v as above;  w <- w + mu v - gamma (g + lambda w)                  Sutskever et al. 2013, section 2
//   adam       Kingma & Ba 2015, adamw  Loshchilov & Hutter 2019                  adam.hpp
//
// At a constant rate, momentum and nesterov are those of torch.optim.SGD, whose buffer is -v / gamma.
#include <optional>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "engine/sync/lars.hpp"
#include "engine/sync/state.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

enum class UpdateRule { momentum, nesterov, adam, adamw };

inline const Choices<UpdateRule>& choices_of(UpdateRule) {
  static const Choices<UpdateRule> all{{UpdateRule::momentum, "momentum"},
                                       {UpdateRule::nesterov, "nesterov"},
                                       {UpdateRule::adam, "adam"},
                                       {UpdateRule::adamw, "adamw"}};
  return all;
}

/// Decay rates of the two moments, and the term added to the root of the second.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

struct UpdateOptions {
  double momentum = 0.9;  ///< for the rules momentum and nesterov
  double weight_decay = 0;
  std::optional<LarsOptions> lars = std::nullopt;  ///< only with momentum; none: the same rate for all tensors
  UpdateRule rule = UpdateRule::momentum;
  AdamOptions adam = {};
};

bool is_adam(UpdateRule rule);

/// Throws std::invalid_argument if momentum or a decay of moments is outside [0, 1), if weight decay is negative, or if
/// Adam's epsilon <= 0. For LARS, throws if the rule is not momentum, its coefficient <= 0 or its epsilon < 0.
void check(const UpdateOptions& options);

/// Updates one replica, and keeps the state between updates. For Adam it counts the updates.
class Updater {
 public:
  /// For n parameters on a device. Throws in the cases of check().
  Updater(VectorOps& ops, std::int64_t n, int device, const UpdateOptions& options);

  /// Updates w once by g; `layout` has n elements.
  void update(const Layout& layout, double learning_rate, const float* g, float* w);

  /// Names its state "velocity", or "first_moment", "second_moment" and "updates", each followed by `of`.
  void visit_state(StateVisitor& state, const std::string& of = "");

 private:
  VectorOps* ops_;
  UpdateOptions options_;
  std::vector<DeviceVector> kept_;  ///< v; for Adam m and v
  std::int64_t updates_ = 0;
};

}  // namespace lockstep::sync
