#pragma once
// What a sweep's folder holds: the state of each run follows from its record alone, so that a sweep that was cut off,
// or that several processes work on, knows what is left to do.
#include <optional>
#include <string>

#include "engine/sweep/sweep.hpp"

namespace lockstep::sweep {

enum class State {
  open,   ///< no record, or one of a run that was cut off: it goes on from its checkpoint
  ended,  ///< target reached, epochs done, time is up
  diverged,
  failed  ///< the program did not end in order; tried again by the next call
};

struct Outcome {
  State state = State::open;
  Json record;  ///< null where there is none
};

/// Reads FOLDER/NAME.json. A record that ended before the run's epochs or below its target counts as open. Throws
/// InputError where the file is no record, or that of other settings.
Outcome outcome_of(const std::string& folder, const Run& run);

/// The learning rate that the search found: with the highest last test accuracy, of equal ones the lowest. Nothing
/// while a run of the search is open or failed, or where all diverged. Without a search the cell's own.
struct Choice {
  bool is_made = false;
  std::optional<double> learning_rate;  ///< none: that of `train` without a search, else no rate learns
};
Choice choose_rate(const std::string& folder, const Cell& cell);

/// Marks the record of a run whose process failed.
void write_failure(const std::string& folder, const Run& run, const std::string& why);

/// FOLDER/sweep.json, schema "lockstep/sweep-result/1": provenance, sweep (as read), cells: [{name, options, search:
/// [{learning_rate, file, status, test_accuracy}], learning_rate, runs: [{file, seed, status, iterations, epochs,
/// test_accuracy, iterations_to_target: [per target, or null]}]}]. It follows from the records.
Json summary(const Sweep& sweep, const std::string& folder, const std::vector<std::string>& argv);

/// The same as a table: a line per cell.
std::string table(const Json& summary);

}  // namespace lockstep::sweep
