#include "calib/import/steady_steps.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

constexpr double kOfNormal = 1.4826;     // standard deviation of a normal distribution over its MAD
constexpr double kDeviations = 5;        // beyond which a time is no scatter
constexpr double kLeastShare = 0.03;     // of the median: printed digits make MADs of 0
constexpr std::size_t kMostWarmUp = 20;  // lines; and never more than half of a run

double spread_of(const std::vector<double>& seconds, double around) {
  std::vector<double> deviations;
  for (double s : seconds) deviations.push_back(std::abs(s - around));
  return kOfNormal * median(deviations);
}

double limit_of(const std::vector<double>& seconds, double around) {
  return std::max(kDeviations * spread_of(seconds, around), kLeastShare * around);
}

std::vector<double> seconds_of(const std::vector<LoggedStep>& steps) {
  std::vector<double> seconds;
  for (const LoggedStep& step : steps) seconds.push_back(step.seconds);
  return seconds;
}

// Lines at the begin of a run that are no steady ones, by the times of its second half.
std::size_t warm_up_of(const std::vector<LoggedStep>& run) {
  if (run.size() < 2) return 0;
  const std::vector<double> all = seconds_of(run);
  const std::vector<double> late(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  const double usual = median(late), limit = limit_of(late, usual);
  std::size_t count = 1;
  const std::size_t most = std::min(kMostWarmUp, run.size() / 2);
  while (count < most && run[count].seconds > usual + limit && run[count].interruption.empty()) ++count;
  return count;
}

// Returns the index from which at least nine of ten times are above `limit_s` until the end; the number of times if
// there are too few of them.
std::size_t begin_of_slowdown(const std::vector<double>& seconds, double limit_s) {
  constexpr std::size_t kFewest = 10;
  constexpr double kLeastSlow = 0.9, kLeastOfAll = 0.2;
  const double all = static_cast<double>(seconds.size());
  std::size_t begin = seconds.size(), slow = 0;
  for (std::size_t i = seconds.size(); i-- > 0;) {
    if (seconds[i] <= limit_s) continue;
    ++slow;
    const double until_end = all - static_cast<double>(i);
    if (static_cast<double>(slow) >= kLeastSlow * until_end && slow >= kFewest && until_end >= kLeastOfAll * all)
      begin = i;
  }
  return begin;
}

class Sorter {
 public:
  void leave_out(const std::string& why, double seconds) {
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g.first == why; });
    if (group == groups_.end()) group = groups_.insert(groups_.end(), {why, {}});
    group->second.push_back(seconds);
  }
  std::vector<LeftOutSteps> finish() const {
    std::vector<LeftOutSteps> all;
    for (const auto& [why, seconds] : groups_) all.push_back({why, static_cast<int>(seconds.size()), median(seconds)});
    return all;
  }

 private:
  std::vector<std::pair<std::string, std::vector<double>>> groups_;
};

}  // namespace

SteadySteps steady_steps(const std::vector<LoggedStep>& steps) {
  SteadySteps steady;
  Sorter sorter;
  std::vector<LoggedStep> settled;
  for (std::size_t begin = 0; begin < steps.size();) {
    std::size_t end = begin + 1;
    while (end < steps.size() && steps[end].number > steps[end - 1].number) ++end;
    const std::vector<LoggedStep> run(steps.begin() + static_cast<std::ptrdiff_t>(begin),
                                      steps.begin() + static_cast<std::ptrdiff_t>(end));
    const std::size_t warm_up = warm_up_of(run);
    for (std::size_t i = 0; i < run.size(); ++i)
      i < warm_up ? sorter.leave_out("warm-up", run[i].seconds) : settled.push_back(run[i]);
    if (begin > 0) ++steady.restarts;
    begin = end;
  }
  std::vector<double> all = seconds_of(settled);
  double usual = median(all), limit = limit_of(all, usual);
  const std::size_t slowdown = begin_of_slowdown(all, usual + limit);
  if (slowdown > 0 && slowdown < settled.size()) {
    steady.slower_since_line = settled[slowdown].line;
    for (std::size_t i = 0; i < slowdown; ++i)
      sorter.leave_out("before line " + std::to_string(steady.slower_since_line), settled[i].seconds);
    settled.erase(settled.begin(), settled.begin() + static_cast<std::ptrdiff_t>(slowdown));
    all = seconds_of(settled);
    usual = median(all);
    limit = limit_of(all, usual);
  }
  for (const LoggedStep& step : settled) {
    const bool is_slow = step.seconds > usual + limit;
    if (is_slow || step.seconds < usual - limit)
      sorter.leave_out(!is_slow ? "fast" : step.interruption.empty() ? "slow" : step.interruption, step.seconds);
    else
      steady.seconds.push_back(step.seconds);
  }
  steady.median_s = median(steady.seconds);
  steady.spread_s = spread_of(steady.seconds, steady.median_s);
  steady.mean_of_all_s = mean(all);
  steady.left_out = sorter.finish();
  return steady;
}

std::string steady_text(const SteadySteps& steady, bool is_of_rates) {
  std::size_t lines = steady.seconds.size();
  std::vector<std::string> reasons;
  for (const LeftOutSteps& group : steady.left_out) {
    lines += static_cast<std::size_t>(group.lines);
    reasons.push_back(std::to_string(group.lines) + " " + group.why + " (median " +
                      (is_of_rates ? short_number(1 / group.median_s) + "/s" : format_seconds(group.median_s)) + ")");
  }
  std::string text = std::to_string(steady.seconds.size()) + " of " + std::to_string(lines) + " lines";
  if (steady.restarts > 0)
    text += ", " + std::to_string(steady.restarts) + (steady.restarts == 1 ? " restart" : " restarts");
  return reasons.empty() ? text : text + "; left out: " + joined(reasons);
}

}  // namespace lockstep::calib
