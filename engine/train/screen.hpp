#pragma once
// Prints a run for people: one line per epoch on standard output, and a progress bar on standard error.
#include <chrono>
#include <string>

#include "engine/train/trainer.hpp"

namespace lockstep::train {

class Screen final : public Observer {
 public:
  /// `has_bar`: standard error is a terminal and --quiet is not given. `has_notes`: prints remarks to standard error.
  /// `epochs`: the maximum number of epochs.
  Screen(bool has_bar, bool has_notes, int epochs) : has_bar_(has_bar), has_notes_(has_notes), epochs_(epochs) {}

  void resumed(std::int64_t epochs, std::int64_t iterations) override;
  void iteration(std::int64_t epoch, double share, double loss) override;
  void epoch(const Json& epoch) override;
  void tuned(int gpu, int learners) override;
  void remark(const std::string& line) override;

 private:
  void clear_bar();
  /// ", at most 12 min left", at the pace since the first call. Empty in the first two seconds.
  std::string time_left(double epochs_done);

  bool has_bar_;
  bool has_notes_;
  int epochs_;
  bool has_header_ = false;
  bool bar_shown_ = false;
  std::chrono::steady_clock::time_point last_bar_;
  std::chrono::steady_clock::time_point first_call_;
  double first_epochs_ = 0;  ///< done before the first call: above 0 in a resumed run
};

/// Returns the lines that follow the table of epochs.
std::string summary_text(const Json& record);

}  // namespace lockstep::train
