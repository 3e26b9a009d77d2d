#pragma once
// Progress of long work, for a person at a terminal: "GPU counts 1/3, splits 120/1,173, 12 s left", redrawn in place on
// standard error. Results never depend on it. A program turns it on; in a library nothing is drawn.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace lockstep {

/// Time of work before progress is drawn: 2 s, or LOCKSTEP_PROGRESS_AFTER_MS in the environment, for tests.
std::chrono::milliseconds progress_delay();
/// Draws the progress of this thread's work on `screen`, starting `first` after the work began. nullptr, the default,
/// draws nothing. Children of a ProcessPool draw nothing.
void show_progress_on(std::FILE* screen, std::chrono::milliseconds first = progress_delay());
/// Removes the line, so that other text can be written; it comes back when the work advances.
void clear_progress();

struct ProgressStep {
  std::string what;  ///< a plural: "splits"
  std::size_t done = 0;
  std::size_t of = 0;  ///< total; 0: not known
};

/// The fraction of all work that is done, from 0 to 1. Each inner step counts as a part of the current unit of its
/// outer step. 0 if the outermost total is not known.
double share_done(const std::vector<ProgressStep>& steps);

/// "12 s", "5 min", "2.5 h".
std::string time_left_text(double left_s);

/// The text of the line `passed_s` after the outermost step began; `steps` run from the outermost to the innermost. The
/// time left assumes that all units take the same time. It is omitted while nothing is done.
std::string progress_text(const std::vector<ProgressStep>& steps, double passed_s);

/// One piece of work of this thread, from construction to destruction. Pieces may be nested. The outermost decides when
/// the line is drawn: after a delay, then five times a second.
class ProgressLine {
 public:
  /// `what` is a plural, "splits"; `of` is the total, 0 if unknown.
  ProgressLine(std::string what, std::size_t of);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Reports one more unit done, or `done` in total. Call it from the thread that constructed this.
  void advance();
  void advance_to(std::size_t done);

 private:
  std::size_t depth_;  ///< its level of nesting in this thread
};

}  // namespace lockstep
