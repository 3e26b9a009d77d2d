#pragma once
// Progress of long work, for a person at a terminal: "GPU counts 1/3, splits 120/1,173, 12 s left", redrawn in place on
// standard error. Results never depend on it. A program turns it on; in a library nothing is drawn.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace lockstep {

/// How long work goes on before something is drawn: 2 s, or LOCKSTEP_PROGRESS_AFTER_MS in the environment, for tests.
std::chrono::milliseconds progress_delay();
/// Draws the progress of this thread's work on `screen`, `first` after it began; nullptr, the default: draws nothing. Children
/// of a ProcessPool draw nothing.
void show_progress_on(std::FILE* screen, std::chrono::milliseconds first = progress_delay());
/// Removes the line, so that other text can be written; it comes back when the work advances.
void clear_progress();

struct ProgressStep {
  std::string what;  ///< a plural: "splits"
  std::size_t done = 0;
  std::size_t of = 0;  ///< 0: not known
};

/// The share of all work that is done, from 0 to 1: the outer step counts, the inner one is a part of its current unit. 0 where
/// the outermost total is not known.
double share_done(const std::vector<ProgressStep>& steps);

/// "12 s", "5 min", "2.5 h".
std::string time_left_text(double left_s);

/// What is drawn `passed_s` after the outermost step began; `steps` from the outermost in. The time left assumes that all units
/// take the same time. It is left out while nothing is done.
std::string progress_text(const std::vector<ProgressStep>& steps, double passed_s);

/// One piece of work of this thread, from construction to destruction. Lines may be nested; the outermost decides when
/// something is drawn: after a delay, then five times a second.
class ProgressLine {
 public:
  /// `what`: a plural, "splits"; `of`: how many, 0 where that is not known.
  ProgressLine(std::string what, std::size_t of);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// One more unit is done, or `done` in all. Called by the thread that made it.
  void advance();
  void advance_to(std::size_t done);

 private:
  std::size_t depth_;  ///< its place among the steps of this thread
};

}  // namespace lockstep
