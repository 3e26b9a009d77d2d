#include "sim/scenario/overlap_spec.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "calib/overlap.hpp"

namespace lockstep::sim::scenario {
namespace {

// Interpolates linearly in ln(x) between neighbours and uses the nearest outside; `value_of` gives the value of an
// entry.
template <typename Value, typename ValueOf>
double in_logarithm(const std::map<double, Value>& curve, double x, const ValueOf& value_of) {
  const auto above = curve.lower_bound(x);
  if (above == curve.begin()) return value_of(above->second);
  if (above == curve.end()) return value_of(curve.rbegin()->second);
  const auto below = std::prev(above);
  const double share = std::log(x / below->first) / std::log(above->first / below->first);
  return (1 - share) * value_of(below->second) + share * value_of(above->second);
}

// True if the library sums on processors: `calibrate` over MPI, and PyTorch.
bool sums_on_processors(const std::string& library) {
  return library == "host" || library == "gloo";
}

bool is_nearer(int mine, int others, int wanted) {
  return mine >= wanted ? others < wanted || mine < others : others < wanted && mine > others;
}

}  // namespace

void OverlapSlowdown::add(double batch, double bytes, double ratio) {
  ratios_[batch][bytes] = std::max(1.0, ratio);
}

double OverlapSlowdown::at(double batch, double bytes) const {
  if (ratios_.empty()) return 1;
  return in_logarithm(ratios_, batch, [&](const std::map<double, double>& by_bytes) {
    return in_logarithm(by_bytes, bytes, [](double ratio) { return ratio; });
  });
}

std::pair<double, double> OverlapSlowdown::batches() const {
  if (ratios_.empty()) return {0, 0};
  return {ratios_.begin()->first, ratios_.rbegin()->first};
}

std::pair<double, double> OverlapSlowdown::bytes() const {
  if (ratios_.empty()) return {0, 0};
  const std::map<double, double>& first = ratios_.begin()->second;
  std::pair<double, double> range{first.begin()->first, first.rbegin()->first};
  for (const auto& [batch, by_bytes] : ratios_) {
    range.first = std::max(range.first, by_bytes.begin()->first);
    range.second = std::min(range.second, by_bytes.rbegin()->first);
  }
  return range;
}

double OverlapSlowdown::least() const {
  double least = ratios_.empty() ? 1 : at(ratios_.begin()->first, ratios_.begin()->second.begin()->first);
  for (const auto& [batch, by_bytes] : ratios_)
    for (const auto& [bytes, ratio] : by_bytes) least = std::min(least, ratio);
  return least;
}

double OverlapSlowdown::most() const {
  double most = 1;
  for (const auto& [batch, by_bytes] : ratios_)
    for (const auto& [bytes, ratio] : by_bytes) most = std::max(most, ratio);
  return most;
}

OverlapSlowdown OverlapSlowdown::in_turns() const {
  constexpr double kMost = 100;  // compute almost stands still
  OverlapSlowdown all;
  for (const auto& [batch, by_bytes] : ratios_)
    for (const auto& [bytes, ratio] : by_bytes) all.add(batch, bytes, 1 / std::max(1 / kMost, 2 - ratio));
  return all;
}

std::optional<MeasuredOverlap> measured_overlap(const calib::Profile& profile, const std::string& model,
                                                const std::string& precision, int devices) {
  std::optional<MeasuredOverlap> best;
  for (const calib::Slowdown& one : calib::slowdowns(profile)) {
    if (one.model != model || one.precision != precision || !(one.batch > 0) || !(one.bytes > 0)) continue;
    const bool is_emulated = one.library == "emulated";
    const bool is_same = best && best->devices == one.devices && best->library == one.library;
    const bool is_better = !best || (best->is_emulated != is_emulated ? best->is_emulated
                                                                      : is_nearer(one.devices, best->devices, devices));
    if (is_better && !is_same)
      best = MeasuredOverlap{{}, one.devices, one.library, is_emulated, sums_on_processors(one.library)};
    if (is_better || is_same) best->slowdown.add(one.batch, one.bytes, one.ratio);
  }
  return best;
}

}  // namespace lockstep::sim::scenario
