#include "sim/explain/good_log.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"

namespace lockstep::sim::explain {
namespace {

constexpr double kLeastOfSmall = 0.08;

std::string collective_text(const MeasuredCollective& one) {
  if (one.transfer) return one.operation;
  const int gpus = one.question.gpus.front();
  return one.operation + " on " + std::to_string(gpus) + " " + one.question.gpu + ", " +
         std::to_string(std::min(gpus, one.question.gpus_per_node)) + " a node";
}

bool is_same_kind(const MeasuredCollective& a, const MeasuredCollective& b) {
  return collective_text(a) == collective_text(b);
}

std::string kind_text(const Measurements& of) {
  return of.collectives.empty() ? "a training" : collective_text(of.collectives.front());
}

std::string file_of(const Measurements& of) {
  return of.collectives.empty() ? of.steps.front().file : of.collectives.front().file;
}

[[noreturn]] void refuse(const std::string& file, const std::string& what, const Measurements& good) {
  throw InputError(file + ": is of " + what + ", and " + file_of(good) + " of " + kind_text(good) +
                   "; allowed: --against a log of the same operation or job on the same machine");
}

MeasuredCollective take_common_sizes(const MeasuredCollective& good, MeasuredCollective& measured,
                                     std::vector<std::string>& left_out) {
  MeasuredCollective matched = good;
  matched.points.clear();
  std::vector<MeasuredCollective::Point> kept;
  for (const MeasuredCollective::Point& point : measured.points)
    for (const MeasuredCollective::Point& other : good.points)
      if (other.bytes == point.bytes) {
        kept.push_back(point);
        matched.points.push_back(other);
      }
  if (kept.empty())
    throw InputError(measured.file + ": has no size of " + good.file + "; allowed: the same -b, -e and -f for both");
  const std::size_t lost = measured.points.size() + good.points.size() - 2 * kept.size();
  if (lost > 0)
    left_out.push_back("Left out: " + std::to_string(lost) + (lost == 1 ? " size" : " sizes") + " of " +
                       measured.operation + " that " + measured.file + " and " + good.file + " do not share");
  measured.points = kept;
  return matched;
}

void check_same_job(const MeasuredStep& good, const MeasuredStep& measured) {
  for (const auto& [key, value] : measured.logged.items()) {
    const auto other = good.logged.find(key);
    if (other != good.logged.end() && *other != value)
      throw InputError(measured.file + ": has " + key + " " + value.dump() + ", and " + good.file + " " +
                       other->dump() + "; allowed: --against a log of the same job");
  }
}

}  // namespace

double least_scatter(double bytes) {
  return bytes > 0 && bytes <= kLatencyBytes ? kLeastOfSmall : kLeastDeviation;
}

Measurements match_good_log(const Measurements& good, Measurements& measured, std::vector<std::string>& left_out) {
  Measurements matched;
  for (MeasuredCollective& one : measured.collectives) {
    const auto same = std::find_if(good.collectives.begin(), good.collectives.end(),
                                   [&](const MeasuredCollective& other) { return is_same_kind(one, other); });
    if (same == good.collectives.end()) refuse(one.file, collective_text(one), good);
    matched.collectives.push_back(take_common_sizes(*same, one, left_out));
  }
  for (const MeasuredStep& one : measured.steps) {
    if (good.steps.empty()) refuse(one.file, "a training", good);
    check_same_job(good.steps.front(), one);
    matched.steps.push_back(good.steps.front());
  }
  return matched;
}

Expected expected_from_good(double seconds, double scatter, double bytes) {
  return with_deviation(seconds, std::max(scatter, least_scatter(bytes)));
}

Expected expect_with_fault(const Expected& good, const Expected& predicted, const Expected& with_fault) {
  const double ratio = with_fault.seconds / predicted.seconds;
  const double own = std::sqrt(1 - kSharedVariance) * with_fault.deviation() * std::min(1.0, std::abs(std::log(ratio)));
  return with_deviation(good.seconds * ratio, std::hypot(good.deviation(), own));
}

}  // namespace lockstep::sim::explain
