#pragma once
// Reports the errors of a fitted law on runs that it has not seen.
#include <string>
#include <vector>

#include "sim/loss/loss_fit.hpp"

namespace lockstep::sim::loss {

struct LossFitReport {
  LossLaw law;
  LossLaw prior;
  int rows = 0, used = 0;            ///< rows of the file, and rows that were fitted
  std::vector<std::string> refused;  ///< rows that could not be read
  std::vector<LeftOutSize> sizes;
  double median_error = 0;       ///< of the tokens to the loss, |ratio - 1|, over all points of held-out sizes
  double median_loss_error = 0;  ///< of the loss after the runs' tokens
  std::vector<CriticalBatchCheck> batches;
};

/// Leaves out too small batches (without_small_batches()), fits, calibrates, and checks every size.
LossFitReport fit_with_report(const LossTable& table, const LossLaw& prior);
std::string fit_report_text(const LossFitReport& report);

}  // namespace lockstep::sim::loss
