#pragma once
// Readers of the losses in training logs, one per program, in a Trainer's state, and in event files. Only loss_log.cpp uses
// them.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calib/import/event_file.hpp"
#include "calib/import/loss_log.hpp"

namespace lockstep::calib {

struct ProgressBar {
  std::int64_t done = 0, total = 0;
};

struct Losses {
  std::vector<LoggedLoss> training, evaluations;
  double parameters = 0, tokens = 0, samples = 0;  ///< 0: not logged

  // Only Megatron-LM logs these
  double rounded_parameters = 0;                  ///< the total in billions has two decimals
  std::map<std::string, double> rank_parameters;  ///< by tensor and pipeline rank: "(0, 0)"
  double padded_vocabulary = 0;
  std::optional<bool> is_embedding_tied;

  // Only HuggingFace's Trainer logs these
  ProgressBar bar;             ///< the training's latest; before the first loss, the latest of any work
  std::int64_t bar_total = 0;  ///< steps of the training; 0: not known yet
  double epochs = 0;           ///< the largest that is logged
  double examples = 0, batch_examples = 0;
};

std::int64_t last_step(const Losses& losses);

/// The programs whose logs losses_of_text() reads, joined for a message.
std::string loss_programs();

/// The losses by the program's reader that finds most of them. None if no line has a known layout.
Losses losses_of_text(const std::string& text);

bool is_trainer_state(const std::string& text);
Losses losses_of_state(const std::string& text, const std::string& path);

Losses losses_of_events(const EventFile& file);

}  // namespace lockstep::calib
