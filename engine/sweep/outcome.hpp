#pragma once
// The content of a sweep's folder. The state of each run follows from its record alone. So each process knows the
// remaining runs, even after an interruption or while several processes work on the sweep.
#include <map>
#include <optional>
#include <string>

#include "engine/sweep/sweep.hpp"

namespace lockstep::sweep {

enum class State {
  open,   ///< no record, or that of an interrupted run, which continues from its checkpoint
  ended,  ///< reached its target, finished its epochs, or used up its time
  diverged,
  failed  ///< the program ended with an error; the next call retries it
};

/// A sweep's records. Each is a file in the sweep's folder; collected records are lines of FOLDER.jsonl
/// (engine/base/study.hpp). If both exist, the file is used.
class Records {
 public:
  /// Reads FOLDER.jsonl if it exists. Throws InputError.
  explicit Records(const std::string& folder);
  const std::string& folder() const { return folder_; }
  std::string path_of(const Run& run, const char* ending = ".json") const;
  /// Returns the record, or nothing if there is none. Throws InputError.
  std::optional<JsonDocument> find(const Run& run) const;

 private:
  std::string folder_;
  std::map<std::string, JsonDocument> collected_;  // by file
};

struct Outcome {
  State state = State::open;
  Json record;  ///< null if there is none
};

/// The state of a run from its record. A run that ended before its epochs or below its target counts as open. Throws
/// InputError if the file is no record, or one of other settings.
Outcome outcome_of(const Records& records, const Run& run);

/// The learning rate that the search found: the one with the highest last test accuracy; among equal ones, the lowest.
/// Nothing while a run of the search is open or failed, or if all diverged. Without a search, the cell's own rate.
struct Choice {
  bool is_made = false;
  std::optional<double> learning_rate;  ///< none: without a search, the default of `train`; with one, no rate learns

  bool allows_runs_of(const Cell& cell) const { return is_made && (cell.search.empty() || learning_rate); }
};
Choice choose_rate(const Records& records, const Cell& cell);

/// Writes a record with status "failed" for a run whose process failed.
void write_failure(const Records& records, const Run& run, const std::string& why);

/// The content of FOLDER/sweep.json, schema "lockstep/sweep-result/1", computed from the records: provenance, sweep (as
/// read), cells: [{name, options, search: [{learning_rate, file, status, test_accuracy}], learning_rate, runs: [{file,
/// seed, status, iterations, epochs, test_accuracy, at_chance, iterations_to_target: [per target, or null]}]}].
Json summary(const Sweep& sweep, const Records& records, const std::vector<std::string>& argv);

/// Writes the summary and all records to FOLDER.jsonl, which then contains the same information as the folder.
void collect(const Sweep& sweep, const Records& records, const std::vector<std::string>& argv);

/// Writes the summary as a table with one line per cell.
std::string table(const Json& summary);

}  // namespace lockstep::sweep
