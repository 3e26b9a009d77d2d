#include "calib/sampler.hpp"

#include <algorithm>
#include <deque>

#include "engine/base/clock.hpp"

namespace lockstep::calib {
namespace {

// The minimum number of samples between checks of the interval, absolute and as a fraction of those taken. A check
// costs O(n^2), and frequent checks are more likely to find a narrow interval by chance.
constexpr int kCheckEvery = 5;
constexpr double kCheckShare = 0.1;

class Sampling {
 public:
  Sampling(const Timed& timed, const SamplingOptions& options)
      : timed_(timed),
        options_(options),
        now_s_(timed.now_s ? timed.now_s : steady_now_s),
        least_(std::max(options.least, timed.least)),
        deadline_s_(now_s_() + options.time_limit_s) {}

  Series run() {
    warm_up();
    Series series = take();
    while (series.summary.drifts() && series.repeats < options_.most_repeats && now_s_() < deadline_s_) {
      Series again = take();
      again.repeats = series.repeats + 1;
      again.throttled += series.throttled;
      if (again.summary.count < least_) {  // out of time: keeps the drifting series, which has more samples; flagged
        series.throttled = again.throttled;
        append(again.discarded, series.discarded);
        series.discarded.push_back({"cut short", again.seconds, again.runs});
        break;
      }
      series.discarded.push_back({"drift", series.seconds, series.runs});
      append(again.discarded, series.discarded);
      again.discarded = series.discarded;
      series = again;
    }
    return series;
  }

 private:
  static void append(const std::vector<Discarded>& more, std::vector<Discarded>& to) {
    to.insert(to.end(), more.begin(), more.end());
  }

  void warm_up() {
    const double until_s = now_s_() + options_.warm_up_s;
    for (int i = 0; i < options_.warm_up_runs || (now_s_() < until_s && now_s_() < deadline_s_); ++i) run_once();
    const double settles_until_s = std::min(now_s_() + options_.settle_s, deadline_s_);
    while (!is_settled() && now_s_() < settles_until_s) run_once();
    was_settled_ = is_settled();
  }

  // An idle GPU raises its clock within tenths of a second of load, and lowers it again as it warms up.
  bool is_settled() const {
    if (!timed_.clocks || last_hz_.empty() || last_hz_.back() <= 0) return true;
    if (last_hz_.size() < kSettledRuns) return false;
    const auto [least, most] = std::minmax_element(last_hz_.begin(), last_hz_.end());
    return *most <= *least * (1 + options_.settled_within);
  }

  double run_once() {
    ++runs_;
    const double seconds = timed_.run();
    if (!timed_.clocks) return seconds;
    span_ = timed_.clocks();
    last_hz_.push_back(span_.lowest_hz);
    if (last_hz_.size() > kSettledRuns) last_hz_.pop_front();
    return seconds;
  }

  // Uses the clocks during the last run if they were watched; otherwise the current clock.
  bool is_throttled() const {
    if (timed_.clocks) return span_.ratio < options_.throttle_ratio;
    return timed_.clock_ratio && timed_.clock_ratio() < options_.throttle_ratio;
  }

  // If the clock is low for the whole time limit, keeps the slow samples instead of none.
  Series take() {
    Series series;
    series.is_settled = was_settled_;
    std::vector<double> slow, slow_hz;
    std::vector<std::size_t> slow_runs;
    int next_check = least_;
    while (static_cast<int>(series.seconds.size()) < options_.most) {
      const double seconds = run_once();
      if (is_throttled()) {
        ++series.throttled;
        slow.push_back(seconds);
        slow_runs.push_back(runs_ - 1);
        slow_hz.push_back(span_.lowest_hz);
      } else {
        if (span_.lowest_hz > 0) series.clock_hz.push_back(span_.lowest_hz);
        series.seconds.push_back(seconds);
        series.runs.push_back(runs_ - 1);
      }
      series.clock_reasons.insert(span_.reasons.begin(), span_.reasons.end());
      const int kept = static_cast<int>(series.seconds.size());
      const bool is_late = now_s_() >= deadline_s_;
      if (kept >= least_ && (is_late || kept >= next_check)) {
        next_check = kept + std::max(kCheckEvery, static_cast<int>(kCheckShare * kept));
        series.summary = summarise(series.seconds);
        series.is_precise = series.summary.relative_half_width <= options_.tolerance;
        if (series.is_precise) break;
      }
      if (is_late) break;
    }
    const bool is_slow = series.seconds.empty();
    if (is_slow) {
      series.seconds = slow;
      series.runs = slow_runs;
      series.clock_hz = slow_hz;
    } else if (!slow.empty()) {
      series.discarded.push_back({"throttled", slow, slow_runs});
    }
    series.summary = summarise(series.seconds);
    series.is_precise =
        !is_slow && series.summary.count >= least_ && series.summary.relative_half_width <= options_.tolerance;
    return series;
  }

  const Timed& timed_;
  const SamplingOptions& options_;
  std::function<double()> now_s_;
  int least_;
  double deadline_s_;
  std::size_t runs_ = 0;
  ClockSpan span_;              ///< clocks during the last run
  std::deque<double> last_hz_;  ///< lowest clock in each of the last runs
  bool was_settled_ = true;
};

}  // namespace

std::vector<std::string> Series::flags() const {
  std::vector<std::string> flags;
  if (summary.drifts()) flags.push_back("drift");
  if (repeats > 0) flags.push_back("remeasured");
  if (throttled > 0) flags.push_back("throttled");
  if (!is_settled) flags.push_back("unsettled");
  if (summary.outliers * 20 > summary.count) flags.push_back("outliers");
  if (!is_precise) flags.push_back("imprecise");
  return flags;
}

Series sample(const Timed& timed, const SamplingOptions& options) {
  return Sampling(timed, options).run();
}

}  // namespace lockstep::calib
