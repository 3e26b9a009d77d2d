#include "calib/probe/selection.hpp"

#include <algorithm>
#include <set>

#include "calib/collective_key.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kQuickBudget_s = 45;
constexpr double kQuickSeries_s = 1;
constexpr double kQuickTolerance = 0.03;
constexpr int kQuickLeast = 5;
constexpr double kQuickWarmUp_s = 0.02;

// "layer" also selects passes, whose parts are the layers' forward and backward times.
bool is_named(const std::string& probe, const std::string& name) {
  if (probe == "pass" && is_named("layer", name)) return true;
  return name == probe || name == probe + "s" || name == probe + "es" ||
         (probe.back() == 'y' && name == probe.substr(0, probe.size() - 1) + "ies");
}

}  // namespace

std::vector<Probe> probes_named(std::vector<Probe> probes, const std::vector<std::string>& names) {
  if (names.empty()) return probes;
  std::vector<std::string> kinds;
  for (const Probe& probe : probes)
    if (std::find(kinds.begin(), kinds.end(), probe.probe) == kinds.end()) kinds.push_back(probe.probe);
  for (const std::string& name : names)
    if (std::none_of(kinds.begin(), kinds.end(), [&](const std::string& kind) { return is_named(kind, name); }))
      throw InputError("--probes: nothing here is measured by " + in_quotes(name) + "; allowed: " + joined(kinds));
  probes.erase(std::remove_if(probes.begin(), probes.end(),
                              [&](const Probe& probe) {
                                return std::none_of(names.begin(), names.end(), [&](const std::string& name) {
                                  return is_named(probe.probe, name);
                                });
                              }),
               probes.end());
  return probes;
}

std::vector<Probe> quick_probes(const std::vector<Probe>& probes) {
  std::vector<Probe> kept;
  for (const Probe& probe : probes) {
    const bool is_iteration = probe.probe == "iteration" && !probe.key.contains("input");
    const bool is_sum =
        probe.probe == "collective" && probe.key.value("operation", "") == "all-reduce" && is_of_floats(probe.key);
    if (is_iteration || is_sum) kept.push_back(probe);
  }
  return kept;
}

SamplingOptions quick_sampling(std::size_t series) {
  SamplingOptions options;
  options.tolerance = kQuickTolerance;
  options.least = kQuickLeast;
  options.warm_up_s = kQuickWarmUp_s;
  options.time_limit_s =
      std::min(kQuickSeries_s, kQuickBudget_s / static_cast<double>(std::max<std::size_t>(1, series)));
  options.has_second_look = false;
  return options;
}

}  // namespace lockstep::calib
