#pragma once
// What a person sees of a run: a line per epoch on standard output, a progress bar on standard error.
#include <chrono>

#include "engine/train/trainer.hpp"

namespace lockstep::train {

class Screen final : public Observer {
 public:
  /// `has_bar`: standard error is a terminal and nobody asked for quiet. `has_notes`: remarks on standard error.
  Screen(bool has_bar, bool has_notes) : has_bar_(has_bar), has_notes_(has_notes) {}

  void resumed(std::int64_t epochs, std::int64_t iterations) override;
  void iteration(std::int64_t epoch, double share, double loss) override;
  void epoch(const Json& epoch) override;
  void tuned(int gpu, int learners) override;
  void remark(const std::string& line) override;

 private:
  void clear_bar();

  bool has_bar_;
  bool has_notes_;
  bool has_header_ = false;
  bool bar_shown_ = false;
  std::chrono::steady_clock::time_point last_bar_;
};

/// The lines after the table.
std::string summary_text(const Json& record);

}  // namespace lockstep::train
