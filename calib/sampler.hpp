#pragma once
// Repeats a timing until it is known well enough.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "calib/summary.hpp"

namespace lockstep::calib {

struct SamplingOptions {
  double tolerance = 0.01;  ///< of the half width of the median's confidence interval, relative
  int least = 11;           ///< samples, warm-up not counted
  int most = 1000;
  double warm_up_s = 0.05;  ///< at least; and at least `warm_up_runs`
  int warm_up_runs = 3;
  double settle_s = 2;           ///< at most, beyond the warm-up, until clocks have settled
  double settled_within = 0.01;  ///< clocks of the last kSettledRuns runs, relative
  double time_limit_s = 5;       ///< for one series, its repetitions included
  double throttle_ratio = 0.75;  ///< of the default clock: slower samples are discarded
  int most_repeats = 2;          ///< of a series that drifts
  bool has_second_look = true;   ///< what was disturbed is measured once more after all others (second_look.hpp)
};

/// Clocks of the devices between two moments.
struct ClockSpan {
  double lowest_hz = 0;           ///< of all devices; 0: unknown
  double ratio = 1;               ///< of a clock that something held down to its highest, 1 where nothing did
  std::set<std::string> reasons;  ///< why clocks were not higher, as NVML names them
};

constexpr int kSettledRuns = 5;

/// What is timed. `run` performs it once and returns its seconds on the device's own clock (or a steady clock).
struct Timed {
  std::function<double()> run;
  /// Clock of the device over its default, now; empty where it cannot be read (the CPU).
  std::function<double()> clock_ratio;
  /// For the series' own clock; empty: std::chrono::steady_clock. Tests give a made-up one.
  std::function<double()> now_s;
  /// Samples that it needs beyond SamplingOptions::least: what is timed has parts, which scatter more than their sum.
  int least = 0;
  /// Clocks since the last call (probe/clock_watch.hpp), which each sample keeps; empty where they cannot be read.
  std::function<ClockSpan()> clocks = {};
};

/// Times that are not among those that count.
struct Discarded {
  std::string why;  ///< as in SetAside (sample_log.hpp)
  std::vector<double> seconds;
  std::vector<std::size_t> runs;
};

struct Series {
  std::vector<double> seconds;          ///< kept samples, in order
  std::vector<std::size_t> runs;        ///< which call of Timed::run gave each, from 0; warm-up counted
  std::vector<double> clock_hz;         ///< the lowest of the devices' while each sample ran; empty where unknown
  std::set<std::string> clock_reasons;  ///< why they were not higher
  bool is_settled = true;               ///< clocks were, when the warm-up ended
  std::vector<Discarded> discarded;     ///< all runs that do not count, in order
  Summary summary;
  int throttled = 0;                       ///< samples discarded because the clock had dropped
  int repeats = 0;                         ///< times the series was repeated because it drifted
  bool is_precise = false;                 ///< reached the tolerance, at the full clock
  std::vector<std::string> flags() const;  ///< "drift", "remeasured", "throttled", "unsettled", "outliers",
                                           ///< "imprecise"
};

/// Warm-up until clocks have settled, where they are known, then samples until the tolerance is reached and there are at least `least`, or until `most` or the time
/// limit. A series that drifts is measured again; the last one that has `least` samples is kept and flagged.
Series sample(const Timed& timed, const SamplingOptions& options);

}  // namespace lockstep::calib
