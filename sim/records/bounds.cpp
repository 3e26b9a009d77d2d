#include "sim/records/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/records/sources.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr double kOutside = 0.1;            // share of sources' records that may be on either side
constexpr std::size_t kFewest = 5;          // sources that calibrate a class by themselves
constexpr std::size_t kFewestOfASide = 10;  // that calibrate its two sides apart

struct Scored {
  std::string source;
  double at;
};

// The least reach beyond which no more than `outside` lies, sources weighed alike; `how_far` may be negative.
template <typename HowFar>
double reach(const std::vector<Scored>& all, double outside, const HowFar& how_far) {
  std::map<std::string, int> of_source;
  for (const Scored& one : all) ++of_source[one.source];
  std::vector<std::pair<double, double>> beyond;  // how far on this side, weight
  for (const Scored& one : all)
    beyond.push_back(
        {std::max(0.0, how_far(one.at)), 1.0 / of_source[one.source] / static_cast<double>(of_source.size())});
  std::sort(beyond.rbegin(), beyond.rend());
  double share = 0;
  for (const auto& [at, weight] : beyond) {
    share += weight;
    if (share > outside) return at;
  }
  return beyond.back().first;
}

std::map<std::string, std::vector<Scored>> by_class(const std::vector<Prediction>& left_out, const std::string& but) {
  std::map<std::string, std::vector<Scored>> classes;
  for (const Prediction& p : left_out) {
    const double at = published_at(p);
    const std::string source = whole_source(p.record->source);
    if (std::isnan(at) || source == but) continue;
    const std::vector<std::string> names = bounds_classes(p.mapped.bounds_class);
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
    double below = reach(all, kOutside, [](double at) { return -at; });
    double above = reach(all, kOutside, [](double at) { return at; });
    if (sources.size() < kFewestOfASide)
      below = above = reach(all, 2 * kOutside, [](double at) { return std::abs(at); });
    constants["bounds below/" + name] = {below, 0, static_cast<int>(all.size()), from};
    constants["bounds above/" + name] = {above, 0, static_cast<int>(all.size()), from};
  }
  return constants;
}

void set_bounds_left_out(std::vector<Prediction>& left_out) {
  std::map<std::string, Catalogue> by_source;
  for (const Prediction& p : left_out) by_source[whole_source(p.record->source)];
  for (auto& [source, catalogue] : by_source) catalogue.constants = bounds_from(left_out, source);
  for (Prediction& p : left_out) set_bounds(p, by_source.at(whole_source(p.record->source)));
}

}  // namespace records
}  // namespace lockstep::sim
