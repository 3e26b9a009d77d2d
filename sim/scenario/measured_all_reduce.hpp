#pragma once
// All-reduces measured by a profile ("all_reduce": "profile" and "profile-average"). It is the profile of
// /communication if the scenario names one, so that compute may come from another. Otherwise it is that of /compute.
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Independent of the lifetime of its scenario, because programs keep it.
class AllReduceOfProfile {
 public:
  explicit AllReduceOfProfile(const Scenario& scenario);

  const calib::Profile* profile() const { return profile_.get(); }
  /// Returns "all-reduce", or "average" as S-SGD of `train` computes it.
  const std::string& operation() const { return operation_; }
  /// Returns the operation's fit over bytes for `gpus` devices, by the library that the scenario names, or else the
  /// first one. If several numbers of nodes were measured, takes the number that the devices fill, or else the first.
  /// Null if it was not measured.
  const calib::Fit* find_fit(int gpus) const;
  /// Lists each library by which it was measured over `gpus` devices once.
  std::vector<std::string> libraries(int gpus) const;

 private:
  /// True if the fit is of operation(), in single precision and over `gpus` devices, by any library.
  bool matches_operation(const calib::Fit& fit, int gpus) const;

  std::shared_ptr<const calib::Profile> profile_;
  std::string operation_, library_;
  int gpus_per_node_;
};

/// Null if the scenario does not use measured all-reduces, or they were not measured over `gpus` devices.
const calib::Fit* measured_all_reduce(const Scenario& scenario, int gpus);

}  // namespace lockstep::sim::scenario
