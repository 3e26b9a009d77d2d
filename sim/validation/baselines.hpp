#pragma once
// Simple baselines without a simulation, with which predictions are compared, in the record's own unit.
//
//   `nearest`      The nearest record that may be known, scaled. The distance is the sum of logarithms of the ratios of
//                  differing facts. A rate per GPU is scaled by peak over the model's FLOP, a time to accuracy by one
//                  over GPUs times peak, a bus bandwidth by that of the links. Efficiencies and epochs are not scaled.
//   `mfu`          For a transformer's rate: 6 P operations a token, with its P active parameters (Kaplan et al. 2020,
//                  section 2.1). The MFU is the median over the other sources of each one's median, in the record's
//                  class (class_of_rate()); over all classes if no other source has that class.
//   `linear`       A rate given by the experiment, at the nearest batch, times the number of GPUs. For efficiencies and
//                  speed-ups: linear scaling.
//   `alpha-beta`   For an all-reduce: the line t = alpha + beta S, fitted by least squares of the relative error to the
//                  all-reduces that the experiment gives for as many GPUs. If it gives only one: that one's bandwidth.
//
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/validation/predict.hpp"

namespace lockstep::sim::validation {

struct Baselines {
  std::optional<double> nearest, mfu, linear, alpha_beta;
};

/// Returns the class of a transformer's rate: generation of the GPU, precision, and whether the model has experts.
/// Example: "hopper, fp8, experts". Empty: the GPU is unknown.
std::string class_of_rate(const Record& job, const Catalogue& catalogue);

/// The share of their GPUs' peak (utilisation.hpp) that published trainings of transformers reached. It counts 6 P
/// operations per token, or 4 P with adapters, whose frozen weights have no gradients. If the FLOP/s include
/// recomputation, full recomputation adds 2 P.
class Utilisations {
 public:
  Utilisations(const std::vector<Record>& known, const Catalogue& catalogue);

  /// Returns the median over the other sources (Record::whole_source) of each one's median in the class. If no other source
  /// has the class, all classes count. None: there is no other source.
  std::optional<double> without(const std::string& source, const std::string& rate_class) const;

 private:
  std::map<std::string, double> median_by_source_;
  std::map<std::string, std::map<std::string, double>> median_by_class_;
};

/// `known`: records whose values may be used, from other sources or given by the experiment. `utilisation`: the one
/// reached in other sources.
Baselines baselines_of(const Prediction& prediction, const Record& job, const std::vector<const Record*>& known,
                       std::optional<double> utilisation, const Catalogue& catalogue);

}  // namespace lockstep::sim::validation
