#pragma once
// All-reduces as a profile has measured them ("all_reduce": "profile" and "profile-average"): that of /communication
// where the scenario names one, so that compute may come from elsewhere, else that of /compute.
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Outlives the scenario that it is made of: programs keep it.
class AllReduceOfProfile {
 public:
  explicit AllReduceOfProfile(const Scenario& scenario);

  const calib::Profile* profile() const { return profile_.get(); }
  /// "all-reduce", or "average" as train's S-SGD does.
  const std::string& operation() const { return operation_; }
  /// The fit over bytes of the operation over `gpus` devices, by the library that the scenario names, else by the first;
  /// of several numbers of nodes those that the devices fill, else the first. Null where it was not measured.
  const calib::Fit* over(int gpus) const;
  /// Libraries by which it was measured over so many devices, each once.
  std::vector<std::string> libraries(int gpus) const;

 private:
  bool is_such(const calib::Fit& fit, int gpus) const;

  std::shared_ptr<const calib::Profile> profile_;
  std::string operation_, library_;
  int gpus_per_node_;
};

/// Null where the scenario's all-reduces are no measured ones, or were not measured over so many devices.
const calib::Fit* measured_all_reduce(const Scenario& scenario, int gpus);

}  // namespace lockstep::sim::scenario
