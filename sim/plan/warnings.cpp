#include "sim/plan/warnings.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/scenario/measured_all_reduce.hpp"
#include "sim/scenario/profile_quality.hpp"
#include "sim/scenario/profile_range.hpp"

namespace lockstep::sim::plan {
namespace {

void check_rates(const ComputeSpec& compute, int batch, std::vector<std::string>& lines) {
  if (compute.rates.empty()) return;
  const int low = compute.rates.front().batch, high = compute.rates.back().batch;
  if (batch < low || batch > high)
    lines.push_back("batch " + std::to_string(batch) + " is outside the rates' " +
                    (low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high)) +
                    ": carried over by the roofline from the nearest");
  if (!compute.rates.front().model.empty())
    lines.push_back("rates are those of " + compute.rates.front().model + ", carried over by the roofline");
}

void check_profile(const Scenario& s, int gpus, int batch, std::vector<std::string>& lines) {
  for (const std::string& line : profile_range_warnings(s, gpus, batch)) lines.push_back(line);
  for (const std::string& line : overlap_beyond_profile(s, gpus, batch, {})) lines.push_back(line);
  for (const std::string& line : imprecise_inputs(s, gpus, batch, {})) lines.push_back(line);
  const calib::Fit* all_reduce = gpus < 2 ? nullptr : measured_all_reduce(s, gpus);
  const double bytes = 4.0 * static_cast<double>(s.model.parameter_count());
  if (all_reduce != nullptr && bytes > all_reduce->line.to_x)
    lines.push_back("all-reduces of up to " + format_bytes(bytes) + " are beyond the profile's " +
                    format_bytes(all_reduce->line.to_x));
}

// Warns if rates and profile are those of the base scenario, but the GPU is not.
void check_gpu(const PlanSpec& plan, const PlanPoint& point, const Scenario& s, std::vector<std::string>& lines) {
  if (s.compute.rates.empty() && !s.compute.profile) return;
  const bool sets_compute = std::any_of(point.settings.begin(), point.settings.end(), [](const Setting& setting) {
    return setting.pointer.rfind("/compute", 0) == 0;
  });
  const Json::json_pointer name("/cluster/gpu/name");
  const Json& base = plan.scenario->json();
  if (sets_compute || !base.contains(name) || base.at(name) == Json(s.cluster.gpu.name)) return;
  lines.push_back("rates are those given for " + base.at(name).dump() + ", the cluster has \"" + s.cluster.gpu.name +
                  "\"");
}

}  // namespace

std::vector<std::string> extrapolations(const PlanSpec& plan, const PlanPoint& point, const Scenario& scenario,
                                        int gpus, int batch_per_gpu) {
  std::vector<std::string> lines;
  check_rates(scenario.compute, batch_per_gpu, lines);
  check_profile(scenario, gpus, batch_per_gpu, lines);
  check_gpu(plan, point, scenario, lines);
  return lines;
}

}  // namespace lockstep::sim::plan
