#include "sim/scenario/measured_all_reduce.hpp"

#include <algorithm>

#include "calib/collective_key.hpp"

namespace lockstep::sim::scenario {
namespace {

std::string library_of(const calib::Fit& fit) {
  return fit.key.value("library", "");
}

}  // namespace

AllReduceOfProfile::AllReduceOfProfile(const Scenario& scenario)
    : profile_(scenario.communication.profile ? scenario.communication.profile : scenario.compute.profile.profile),
      operation_(scenario.communication.all_reduce == AllReduceKind::profile_average ? "average" : "all-reduce"),
      library_(scenario.communication.library),
      gpus_per_node_(std::max(1, scenario.cluster.gpus_per_node)) {}

bool AllReduceOfProfile::matches_operation(const calib::Fit& fit, int gpus) const {
  return fit.probe == "collective" && fit.key.value("operation", "") == operation_ &&
         fit.key.value("ranks", 0) == gpus && !fit.key.contains("in_place") && calib::is_of_floats(fit.key);
}

const calib::Fit* AllReduceOfProfile::find_fit(int gpus) const {
  if (!profile_) return nullptr;
  const int nodes = (gpus + gpus_per_node_ - 1) / gpus_per_node_;
  const calib::Fit* best = nullptr;
  for (const calib::Fit& fit : profile_->fits) {
    if (!matches_operation(fit, gpus) || (!library_.empty() && library_of(fit) != library_)) continue;
    const bool fills = fit.key.value("nodes", 1) == nodes;
    if (best == nullptr || (fills && best->key.value("nodes", 1) != nodes)) best = &fit;
  }
  return best;
}

std::vector<std::string> AllReduceOfProfile::libraries(int gpus) const {
  std::vector<std::string> names;
  if (!profile_) return names;
  for (const calib::Fit& fit : profile_->fits)
    if (matches_operation(fit, gpus) && std::find(names.begin(), names.end(), library_of(fit)) == names.end())
      names.push_back(library_of(fit));
  return names;
}

const calib::Fit* measured_all_reduce(const Scenario& s, int gpus) {
  const AllReduceKind kind = s.communication.all_reduce;
  if (kind != AllReduceKind::profile && kind != AllReduceKind::profile_average) return nullptr;
  return AllReduceOfProfile(s).find_fit(gpus);
}

}  // namespace lockstep::sim::scenario
