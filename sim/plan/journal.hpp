#pragma once
// What is finished of a plan, on disk: a line of JSON per task, written as it finishes, so that a run that was killed
// goes on where it stopped.
//
//   {"schema": "lockstep/plan-journal/1", "digest": "..."}
//   {"task": "0|analytic||0|0", "outcome": {...}, "sha256": "the first 16 digits of all before"}
//
// The digest is that of the plan, its inputs and the program: a journal of another is not taken up. A line that was
// torn by a crash or altered, and whatever follows it, is dropped, and that is said.
#include <map>
#include <string>

#include "sim/plan/task.hpp"

namespace lockstep::sim::plan {

/// A line of a journal, with its end: the text of an object, and its checksum as its last member.
std::string journal_line(const std::string& object);

class Journal {
 public:
  /// No journal: nothing is kept.
  Journal() = default;
  /// Opens `path`. With `resume` what it holds under the same digest is taken up; otherwise, and where the digest is
  /// another one, it begins anew. Throws InputError where it cannot be written or holds something else than a journal,
  /// which is left as it is, and FileInUse where another run has it.
  Journal(const std::string& path, const std::string& digest, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Outcomes by Task::key().
  const std::map<std::string, Outcome>& kept() const { return kept_; }
  /// Lines dropped, and whether a journal of another plan was replaced, for the reader.
  const std::string& note() const { return note_; }
  /// Handed to the system at once, forced to disk at most once a second and by flush(). Throws std::runtime_error.
  void add(const std::string& key, const Outcome& outcome);
  void flush();

 private:
  void keep_valid_lines(const std::string& text, const std::string& digest);
  void write(const std::string& text);

  int fd_ = -1;
  std::string path_;
  std::string note_;
  std::map<std::string, Outcome> kept_;
  double flushed_s_ = 0;
};

}  // namespace lockstep::sim::plan
