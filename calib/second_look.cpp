#include "calib/second_look.hpp"

#include <cmath>
#include <tuple>

#include "calib/summary.hpp"

namespace lockstep::calib {
namespace {

constexpr double kLeastDisagreement = 0.02;  // as large as for a drift

bool is_throttled(const Sample& sample) {
  return sample.has_flag("throttled") && sample.has_flag("imprecise");
}

bool is_unsound(const Sample& sample) {
  return sample.has_flag("drift") || is_throttled(sample);
}

std::tuple<bool, bool, double> badness(const Sample& sample) {
  return {is_unsound(sample), sample.has_flag("outliers"), summarise(sample.seconds).relative_half_width};
}

// If either is unsound, that explains the difference: no disagreement.
bool disagree(const Sample& first, const Sample& second) {
  if (is_unsound(first) || is_unsound(second)) return false;
  const Summary a = summarise(first.seconds), b = summarise(second.seconds);
  const bool is_apart = a.high_s < b.low_s || b.high_s < a.low_s;
  return is_apart && std::abs(a.median_s - b.median_s) > kLeastDisagreement * std::min(a.median_s, b.median_s);
}

}  // namespace

bool wants_second_look(const Sample& sample) {
  return !sample.has_flag(kRevisited) && (is_unsound(sample) || sample.has_flag("outliers"));
}

bool is_second_better(const Sample& first, const Sample& second) {
  return badness(second) < badness(first);
}

Sample joined_looks(const Sample& first, const Sample& second, bool takes_second) {
  Sample sample = takes_second ? second : first;
  sample.flags.push_back(kRevisited);
  if (disagree(first, second)) sample.flags.push_back(kDisagrees);
  sample.set_aside = first.set_aside;
  sample.set_aside.push_back({takes_second ? "first" : "second", takes_second ? first.seconds : second.seconds});
  sample.set_aside.insert(sample.set_aside.end(), second.set_aside.begin(), second.set_aside.end());
  return sample;
}

}  // namespace lockstep::calib
