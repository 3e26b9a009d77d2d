#pragma once
// Which steps of a training log are steady: warm-up, checkpoints, evaluations and restarts told from the rest by their times.
//
// A run of steps ends where the number of the step falls (the job was started again). In each run the first line counts as
// warm-up (allocation, compilation, autotuning), and so do the lines after it until one is near the median. Among the other
// lines, one is left out if it differs from their median by more than 5 scaled median absolute deviations (MAD) and by more
// than 3 %.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::calib {

/// A line of a log about the time of steps.
struct LoggedStep {
  std::int64_t number = 0;  ///< of the last step that it is about
  double seconds = 0;       ///< of one step, the mean where the line is about several
  int line = 0;             ///< in the file, from 1
  std::string
      interruption{};  ///< what the log says happened since the line before: "checkpoint", "evaluation"; empty: nothing
};

/// Lines that are not steady, for one reason.
struct LeftOutSteps {
  std::string why;  ///< "warm-up", "checkpoint", "evaluation", "slow", "fast"
  int lines = 0;
  double median_s = 0;
};

struct SteadySteps {
  std::vector<double> seconds;  ///< of the steady lines, in their order
  double median_s = 0;
  double spread_s = 0;       ///< 1.4826 MAD: the standard deviation of normally distributed times
  double mean_of_all_s = 0;  ///< of every line after the first one: what an average over the whole run says
  int restarts = 0;
  std::vector<LeftOutSteps> left_out;
};

/// `steps` in the order of the log, at least one. A single line is steady.
SteadySteps steady_steps(const std::vector<LoggedStep>& steps);

/// "40 of 44 lines; left out: 3 warm-up (median 9.1 s), 1 checkpoint (median 3.2 s)"; of a log of rates "(median 7020/s)".
std::string steady_text(const SteadySteps& steady, bool is_of_rates = false);

}  // namespace lockstep::calib
