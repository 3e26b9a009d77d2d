#pragma once
// What a guess without a simulation would say, beside which predictions are scored. In the record's own unit.
//
//   nearest      the nearest record that may be known (least sum of logarithms of the ratios of what differs), scaled: a
//                rate per GPU by the ratio of peaks over that of the model's multiplications, a time to accuracy by GPUs
//                times peak, a bus bandwidth by that of the links, an efficiency and epochs as they are
//   linear       a rate given by the experiment, at the nearest batch, times the number of GPUs; of efficiencies and
//                speed-ups: no loss
//   alpha-beta   of an all-reduce: the line t = alpha + beta S through the experiment's given ones on as many GPUs, by
//                least squares of the relative error; through one point, its bandwidth
#include <optional>
#include <vector>

#include "sim/records/predict.hpp"

namespace lockstep::sim {
inline namespace records {

struct Baselines {
  std::optional<double> nearest, linear, alpha_beta;
};

/// `known` are the jobs with a value that may be known: of other sources, and what the experiment gives.
Baselines baselines_of(const Prediction& prediction, const JobSpec& job, const std::vector<const JobSpec*>& known,
                       const Catalogue& catalogue);

}  // namespace records
}  // namespace lockstep::sim
