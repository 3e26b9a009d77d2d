#pragma once
// What a sweep's folder holds: the state of each run follows from its record alone, so that a sweep that was cut off,
// or that several processes work on, knows what is left to do.
#include <map>
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

/// A sweep's records: a file each in its folder, and where they were collected a line each in FOLDER.jsonl
/// (engine/base/study.hpp). A file goes before a line.
class Records {
 public:
  /// Reads FOLDER.jsonl where there is one. Throws InputError.
  explicit Records(const std::string& folder);
  const std::string& folder() const { return folder_; }
  std::string path_of(const Run& run, const char* ending = ".json") const;
  /// Nothing where there is none. Throws InputError.
  std::optional<JsonDocument> find(const Run& run) const;

 private:
  std::string folder_;
  std::map<std::string, JsonDocument> collected_;  // by file
};

struct Outcome {
  State state = State::open;
  Json record;  ///< null where there is none
};

/// Of the run's record. One that ended before the run's epochs or below its target counts as open. Throws
/// InputError where the file is no record, or that of other settings.
Outcome outcome_of(const Records& records, const Run& run);

/// The learning rate that the search found: with the highest last test accuracy, of equal ones the lowest. Nothing
/// while a run of the search is open or failed, or where all diverged. Without a search the cell's own.
struct Choice {
  bool is_made = false;
  std::optional<double> learning_rate;  ///< none: that of `train` without a search, else no rate learns

  bool allows_runs_of(const Cell& cell) const { return is_made && (cell.search.empty() || learning_rate); }
};
Choice choose_rate(const Records& records, const Cell& cell);

/// Marks the record of a run whose process failed.
void write_failure(const Records& records, const Run& run, const std::string& why);

/// FOLDER/sweep.json, schema "lockstep/sweep-result/1": provenance, sweep (as read), cells: [{name, options, search:
/// [{learning_rate, file, status, test_accuracy}], learning_rate, runs: [{file, seed, status, iterations, epochs,
/// test_accuracy, iterations_to_target: [per target, or null]}]}]. It follows from the records.
Json summary(const Sweep& sweep, const Records& records, const std::vector<std::string>& argv);

/// Writes the summary and every record there is to FOLDER.jsonl, which then says as much as the folder.
void collect(const Sweep& sweep, const Records& records, const std::vector<std::string>& argv);

/// The summary as a table: a line per cell.
std::string table(const Json& summary);

}  // namespace lockstep::sweep
