#pragma once
// Repeats a timing until it is known well enough.
#include <functional>
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
  double time_limit_s = 5;       ///< for one series, its repetitions included
  double throttle_ratio = 0.75;  ///< of the default clock: slower samples are discarded
  int most_repeats = 2;          ///< of a series that drifts
  bool has_second_look = true;   ///< what was disturbed is measured once more after all others (second_look.hpp)
};

/// What is timed. `run` performs it once and returns its seconds on the device's own clock (or a steady clock).
struct Timed {
  std::function<double()> run;
  /// Clock of the device over its default, now; empty where it cannot be read (the CPU).
  std::function<double()> clock_ratio;
  /// For the series' own clock; empty: std::chrono::steady_clock. Tests give a made-up one.
  std::function<double()> now_s;
  /// Samples that it needs beyond SamplingOptions::least: what is timed has parts, which scatter more than their sum.
  int least = 0;
};

/// Times that are not among those that count.
struct Discarded {
  std::string why;  ///< as in SetAside (sample_log.hpp)
  std::vector<double> seconds;
  std::vector<std::size_t> runs;
};

struct Series {
  std::vector<double> seconds;       ///< kept samples, in order
  std::vector<std::size_t> runs;     ///< which call of Timed::run gave each, from 0; warm-up counted
  std::vector<Discarded> discarded;  ///< of the runs before or between, in order: no time is lost
  Summary summary;
  int throttled = 0;                       ///< samples discarded because the clock had dropped
  int repeats = 0;                         ///< times the series was begun anew, and ended, because it drifted
  bool is_precise = false;                 ///< reached the tolerance, at the full clock
  std::vector<std::string> flags() const;  ///< "drift", "remeasured", "throttled", "outliers", "imprecise"
};

/// Warm-up, then samples until the tolerance is reached and there are at least `least`, or until `most` or the time
/// limit. A series that drifts is measured again; the last one that has `least` samples is kept and flagged.
Series sample(const Timed& timed, const SamplingOptions& options);

}  // namespace lockstep::calib
