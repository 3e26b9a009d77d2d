#pragma once
// Repeats a timing until it is known precisely enough.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "calib/summary.hpp"

namespace lockstep::calib {

struct SamplingOptions {
  double tolerance = 0.01;  ///< limit for the relative half width of the median's confidence interval
  int least = 11;           ///< minimum number of samples, without warm-up
  int most = 1000;
  double warm_up_s = 0.05;  ///< minimum, and at least `warm_up_runs` runs
  int warm_up_runs = 3;
  double settle_s = 2;           ///< maximum after the warm-up to wait until clocks have settled
  double settled_within = 0.01;  ///< relative difference of the clocks in the last kSettledRuns runs
  double time_limit_s = 5;       ///< per series, including its repetitions
  double throttle_ratio = 0.75;  ///< of the highest clock; samples at a lower one are discarded
  int most_repeats = 2;          ///< for a series that drifts
  bool has_second_look = true;   ///< measures disturbed series once more after all others (second_look.hpp)
};

/// Describes the devices' clocks between two moments.
struct ClockSpan {
  double lowest_hz = 0;           ///< lowest of all devices; 0: unknown
  double ratio = 1;               ///< clock over its highest value, if held down; else 1
  std::set<std::string> reasons;  ///< why clocks were not higher, in NVML's terms
};

constexpr int kSettledRuns = 5;

/// The work to time. `run` performs it once and returns its seconds by the device's own clock (or a steady clock).
struct Timed {
  std::function<double()> run;
  /// The device's current clock over its highest, or 1 if it is not held down; empty if it cannot be read (CPU).
  std::function<double()> clock_ratio;
  /// The clock of the series; empty: std::chrono::steady_clock. Tests pass a simulated one.
  std::function<double()> now_s;
  /// The minimum number of samples if above SamplingOptions::least. For work with parts, which scatter more than their
  /// sum.
  int least = 0;
  /// Clocks since the last call (probe/clock_watch.hpp), stored with each sample; empty if they cannot be read.
  std::function<ClockSpan()> clocks = {};
};

/// Times that do not count.
struct Discarded {
  std::string why;  ///< as in SetAside (sample_log.hpp)
  std::vector<double> seconds;
  std::vector<std::size_t> runs;
};

struct Series {
  std::vector<double> seconds;          ///< kept samples, in order
  std::vector<std::size_t> runs;        ///< index of the call of Timed::run for each sample, from 0, including warm-up
  std::vector<double> clock_hz;         ///< lowest clock of all devices during each sample; empty if unknown
  std::set<std::string> clock_reasons;  ///< why clocks were not higher
  bool is_settled = true;               ///< clocks had settled at the end of the warm-up
  std::vector<Discarded> discarded;     ///< all runs that do not count, in order
  Summary summary;
  int throttled = 0;                       ///< samples discarded because of a low clock
  int repeats = 0;                         ///< repetitions of the series because of drift
  bool is_precise = false;                 ///< reached the tolerance at the full clock
  std::vector<std::string> flags() const;  ///< "drift", "remeasured", "throttled", "unsettled", "outliers",
                                           ///< "imprecise"
};

/// Warms up until clocks have settled, if they are known. Then samples until the tolerance is reached with at least
/// `least` samples, or until `most` samples or the time limit. Repeats a series that drifts; keeps the last one that
/// has `least` samples, and flags it.
Series sample(const Timed& timed, const SamplingOptions& options);

}  // namespace lockstep::calib
