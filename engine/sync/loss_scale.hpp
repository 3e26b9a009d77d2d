#pragma once
// Dynamic loss scaling for half precision (Micikevicius et al. 2018, "Mixed precision training", section 3.2). The loss
// is multiplied by S before back-propagation, and the gradient divided by S. That preserves gradients below 2^-24, the
// smallest number in half precision. S is adapted during training:
//
//   an overflow (a gradient that is not finite):  the batch is dropped, S <- max(1, S / 2)
//   `growth_interval` good steps in a row:        S <- min(most, 2 S)
//
// S is a power of two, so that scaling causes no rounding.
#include <cstdint>
#include <stdexcept>

#include "engine/sync/state.hpp"

namespace lockstep::sync {

struct LossScaleOptions {
  double initial = 65536;               ///< a power of two
  std::int64_t growth_interval = 2000;  ///< good steps before S doubles
  double most = 16777216;               ///< a power of two, at least `initial`
};

/// Drops the batch. A GradientFunction, or its has_asked_all(), throws this. Algorithms call for all gradients of a
/// step before they change their models, so that the step can be repeated with another batch.
struct GradientOverflow : std::runtime_error {
  GradientOverflow() : std::runtime_error("a gradient overflowed") {}
};

class LossScale {
 public:
  /// Throws std::invalid_argument if a scale is no power of two or below 1, if most < initial, or if interval < 1.
  explicit LossScale(const LossScaleOptions& options = {});

  double value() const { return scale_; }
  std::int64_t overflows() const { return overflows_; }
  /// Counts a step without overflow. After enough of them S is doubled.
  void count_good_step();
  void overflow();
  /// Counts an overflow of a batch that started before the last overflow was known. S has already been halved.
  void overflow_at_former_scale() { ++overflows_; }
  void visit_state(StateVisitor& state);

 private:
  LossScaleOptions options_;
  double scale_;
  std::int64_t good_steps_ = 0;  ///< since the last change of S
  std::int64_t overflows_ = 0;
};

}  // namespace lockstep::sync
