#pragma once
// What a guess without a simulation would say, beside which predictions are scored. In the record's own unit.
//
//   nearest      the nearest record that may be known (least sum of logarithms of the ratios of what differs), scaled: a
//                rate per GPU by the ratio of peaks over that of the model's multiplications, a time to accuracy by GPUs
//                times peak, a bus bandwidth by that of the links, an efficiency and epochs as they are
//   mfu          of a transformer's rate: 6 P operations a token, P its parameters at work on it (Kaplan et al. 2020,
//                section 2.1), at the median over the other sources of each one's median MFU
//   linear       a rate given by the experiment, at the nearest batch, times the number of GPUs; of efficiencies and
//                speed-ups: no loss
//   alpha-beta   of an all-reduce: the line t = alpha + beta S through the experiment's given ones on as many GPUs, by
//                least squares of the relative error; through one point, its bandwidth
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/validation/predict.hpp"

namespace lockstep::sim::validation {

struct Baselines {
  std::optional<double> nearest, mfu, linear, alpha_beta;
};

/// What share of its GPUs' peak (utilisation.hpp) transformers' training has had, counted as 6 P operations a token; 4 P
/// beside adapters, whose frozen weights get no gradients. FLOP/s that count what is computed again: 2 P more where all is.
class Utilisations {
 public:
  Utilisations(const std::vector<Record>& known, const Catalogue& catalogue);

  /// Median over all sources but this one (whole_source()) of each one's median; none where there are no others.
  std::optional<double> without(const std::string& source) const;

 private:
  std::map<std::string, double> median_by_source_;
};

/// `known` are the jobs with a value that may be known: of other sources, and what the experiment gives; `utilisation` is
/// that of other sources.
Baselines baselines_of(const Prediction& prediction, const Record& job, const std::vector<const Record*>& known,
                       std::optional<double> utilisation, const Catalogue& catalogue);

}  // namespace lockstep::sim::validation
