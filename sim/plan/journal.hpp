#pragma once
// Stores the finished tasks of a plan on disk as they finish, one line of JSON per task. If a run is killed, another
// run can continue from them.
//
//   {"schema": "lockstep/plan-journal/1", "digest": "..."}
//   {"task": "0|analytic||0|0", "outcome": {...}, "sha256": "the first 16 digits of all before"}
//
// The digest covers the plan, its inputs and the program. A journal with another digest is not used. If a crash tore a
// line, or a line was altered, it is dropped with all later ones, and note() reports that.
#include <string>

#include "sim/plan/outcomes.hpp"

namespace lockstep::sim::plan {

/// Returns a line of a journal, with its line end: the object, with its checksum as last member.
std::string journal_line(const std::string& object);

class Journal {
 public:
  /// Makes a journal that stores nothing.
  Journal() = default;
  /// Opens `path`. With `resume`, and if the digest is the same, keeps its outcomes; otherwise starts a new journal.
  /// Throws InputError if the file cannot be written or is not a journal, and leaves it unchanged. Throws FileInUse if
  /// another run uses it.
  Journal(const std::string& path, const std::string& digest, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Returns the stored outcomes, by Task::key().
  const Outcomes& kept() const { return kept_; }
  /// Returns the journal's folder; empty for a journal that stores nothing.
  const std::string& folder() const { return folder_; }
  /// Returns a message for the user about dropped lines, or about a replaced journal of another plan.
  const std::string& note() const { return note_; }
  /// Writes at once. Forces data to disk at most once a second, and in flush(). Throws std::runtime_error.
  void add(const std::string& key, const Outcome& outcome);
  void flush();

 private:
  void keep_valid_lines(const std::string& digest);
  bool keep(const std::string& line);
  void write(const std::string& text);

  int fd_ = -1;
  std::string path_, folder_;
  std::string note_;
  Outcomes kept_;
  double flushed_s_ = 0;
};

}  // namespace lockstep::sim::plan
