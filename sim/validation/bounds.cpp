#include "sim/validation/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/student_t.hpp"
#include "sim/convergence/law.hpp"
#include "sim/validation/sources.hpp"

namespace lockstep::sim::validation {
namespace {

constexpr double kOutside = 0.1;           // share of the sources' records that may be outside on either side
constexpr std::size_t kFewest = 5;         // least number of sources that calibrate a class
constexpr std::size_t kFewestRanked = 20;  // distances of at least this number are ranked

struct Scored {
  std::string source;
  double at;
};

std::map<std::string, int> records_of_sources(const std::vector<Scored>& all) {
  std::map<std::string, int> counts;
  for (const Scored& one : all) ++counts[one.source];
  return counts;
}

// Returns the least reach beyond which at most kOutside of the weight lies. All sources have the same weight. A future
// source may lie anywhere, so half of its weight counts on either side. `how_far` may return negative values.
template <typename HowFar>
double ranked_reach(const std::vector<Scored>& all, const HowFar& how_far) {
  const std::map<std::string, int> of_source = records_of_sources(all);
  const double of_each = 1.0 / static_cast<double>(of_source.size() + 1);
  std::vector<std::pair<double, double>> beyond;  // distance on this side, weight
  for (const Scored& one : all) beyond.push_back({std::max(0.0, how_far(one.at)), of_each / of_source.at(one.source)});
  std::sort(beyond.rbegin(), beyond.rend());
  double share = of_each / 2;
  for (const auto& [at, weight] : beyond) {
    share += weight;
    if (share > kOutside) return at;
  }
  return beyond.back().first;
}

// Assumes that records are normally distributed around the prediction, with the mean distance of these sources.
double normal_reach(const std::vector<Scored>& all) {
  const double deviation_per_mean_distance = std::sqrt(std::acos(-1.0) / 2);  // 1 / E|z| for a standard normal z
  const std::map<std::string, int> of_source = records_of_sources(all);
  const auto sources = static_cast<double>(of_source.size());
  double sum = 0;
  for (const Scored& one : all) sum += std::abs(one.at) / of_source.at(one.source);
  return deviation_per_mean_distance * sum / sources * student_t_quantile(1 - kOutside, sources);
}

std::map<std::string, std::vector<Scored>> by_class(const std::vector<Prediction>& left_out, const std::string& but) {
  std::map<std::string, std::vector<Scored>> classes;
  for (const Prediction& p : left_out) {
    const double at = published_at(p);
    const std::string source = p.record->whole_source;
    if (std::isnan(at) || (!but.empty() && !may_predict(source, but))) continue;
    std::vector<std::string> names = p.task.interval_class.names();
    if (p.record->use == Use::apart) {
      if (!p.task.is_whole_training) continue;
      names.resize(1);
    }
    for (const std::string& name : std::set<std::string>(names.begin(), names.end()))
      classes[name].push_back({source, at});
  }
  return classes;
}

}  // namespace

std::map<std::string, Constant> bounds_from(const std::vector<Prediction>& left_out, const std::string& but) {
  std::map<std::string, Constant> constants;
  for (const auto& [name, all] : by_class(left_out, but)) {
    std::set<std::string> sources;
    for (const Scored& one : all) sources.insert(one.source);
    if (sources.size() < kFewest) continue;
    const std::vector<std::string> from(sources.begin(), sources.end());
    double below = 0, above = 0;
    if (sources.size() < kFewestRanked) {
      below = above = normal_reach(all);
    } else {
      below = ranked_reach(all, [](double at) { return -at; });
      above = ranked_reach(all, [](double at) { return at; });
    }
    constants["bounds below/" + name] = {below, 0, static_cast<int>(all.size()), from};
    constants["bounds above/" + name] = {above, 0, static_cast<int>(all.size()), from};
  }
  return constants;
}

void set_bounds_left_out(std::vector<Prediction>& left_out) {
  std::map<std::string, Catalogue> by_source;
  for (const Prediction& p : left_out) by_source[p.record->whole_source];
  for (auto& [source, catalogue] : by_source) catalogue.constants = bounds_from(left_out, source);
  for (Prediction& p : left_out) set_interval(p, calibration_of(p.task, by_source.at(p.record->whole_source)));
}

}  // namespace lockstep::sim::validation
