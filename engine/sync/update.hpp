#pragma once
// What S-SGD and its relatives do with an averaged gradient g: one update of the parameters w, at learning rate gamma,
// with weight decay lambda on weights alone.
//
//   momentum   v <- mu v - gamma (g + lambda w);  w <- w + v                     Polyak 1964; with LARS, see lars.hpp
//   nesterov   v as above;  w <- w + mu v - gamma (g + lambda w)                  Sutskever et al. 2013, section 2
//   adam       Kingma & Ba 2015, adamw  Loshchilov & Hutter 2019                  adam.hpp
//
// At a constant rate momentum and nesterov are torch.optim.SGD's: its buffer is -v / gamma.
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

/// Decays of the two moments, and what is added to the root of the second.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

struct UpdateOptions {
  double momentum = 0.9;  ///< of the rules momentum and nesterov
  double weight_decay = 0;
  std::optional<LarsOptions> lars = std::nullopt;  ///< with the rule momentum; none: the same learning rate everywhere
  UpdateRule rule = UpdateRule::momentum;
  AdamOptions adam = {};
};

bool is_adam(UpdateRule rule);

/// Throws std::invalid_argument: momentum or a decay of moments outside [0, 1), negative weight decay, LARS with another
/// rule than momentum, its coefficient <= 0 or epsilon < 0, Adam's epsilon <= 0.
void check(const UpdateOptions& options);

/// Makes the updates of one replica, and keeps what they need from one to the next. Adam counts them.
class Updater {
 public:
  /// For n parameters on a device. Throws as check().
  Updater(VectorOps& ops, std::int64_t n, int device, const UpdateOptions& options);

  /// w <- w after one update by g; n elements in `layout`.
  void update(const Layout& layout, double learning_rate, const float* g, float* w);

  /// "velocity", or "first_moment", "second_moment" and "updates", each with `of` after it.
  void visit_state(StateVisitor& state, const std::string& of = "");

 private:
  VectorOps* ops_;
  UpdateOptions options_;
  std::vector<DeviceVector> kept_;  ///< v; of Adam m and v
  std::int64_t updates_ = 0;
};

}  // namespace lockstep::sync
