#pragma once
// Finds the steady steps of a training log: separates warm-up, checkpoints, evaluations and restarts by their times.
//
// A run of steps ends where the step number falls (the job was restarted). In each run the first line counts as warm-up
// (allocation, compilation, autotuning), and so do the following lines until one is near the median. Among the other
// lines, one is excluded if it differs from their median by more than 5 scaled median absolute deviations (MAD) and by
// more than 3 %.
//
// A slowdown that lasts until the end of the log is no outlier, because it is the machine's present state. It begins at
// a line from which nine of ten lines are slow. If these are at least ten lines and a fifth of all, only they are steady.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::calib {

/// A line of a log with the time of one or more steps.
struct LoggedStep {
  std::int64_t number = 0;     ///< of the last step in the line
  double seconds = 0;          ///< per step; the mean if the line covers several
  int line = 0;                ///< in the file, from 1
  std::string interruption{};  ///< the log's event since the previous line: "checkpoint", "evaluation"; empty: none
};

/// Lines excluded for one reason.
struct LeftOutSteps {
  std::string why;  ///< "warm-up", "checkpoint", "evaluation", "slow", "fast", "before line 53"
  int lines = 0;
  double median_s = 0;
};

struct SteadySteps {
  std::vector<double> seconds;  ///< of the steady lines, in order
  double median_s = 0;
  double spread_s = 0;       ///< 1.4826 MAD: the standard deviation of normally distributed times
  double mean_of_all_s = 0;  ///< of every line after the first; an average over the whole run gives this
  int restarts = 0;
  int slower_since_line = 0;  ///< line of the file from which a lasting slowdown began; 0: none
  std::vector<LeftOutSteps> left_out;
};

/// `steps` are in the order of the log, at least one. A single line counts as steady.
SteadySteps steady_steps(const std::vector<LoggedStep>& steps);

/// "40 of 44 lines; left out: 3 warm-up (median 9.1 s), 1 checkpoint (median 3.2 s)"; for a log of rates "(median
/// 7020/s)".
std::string steady_text(const SteadySteps& steady, bool is_of_rates = false);

}  // namespace lockstep::calib
