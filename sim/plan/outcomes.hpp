#pragma once
// Keeps the outcomes of a plan's tasks by their keys. A plan may have a million of them. The first 16 MB stay in memory.
// The others go to a file without a name, which disappears with its process.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/plan/task.hpp"

namespace lockstep::sim::plan {

class Outcomes {
 public:
  /// The file lies in `folder`; if it is empty, in the folder for temporary files.
  explicit Outcomes(std::string folder = "") : folder_(std::move(folder)) {}
  ~Outcomes();
  Outcomes(const Outcomes&) = delete;
  Outcomes& operator=(const Outcomes&) = delete;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t count(const std::string& key) const { return place_of(key) == 0 ? 0 : 1; }
  /// Returns all keys, in no order that means anything.
  std::vector<std::string> keys() const;
  /// Throws std::out_of_range for an unknown key, and std::runtime_error if the file cannot be read.
  Outcome at(const std::string& key) const;
  /// Adds or replaces an outcome. Throws std::runtime_error if the disk is full.
  void set(const std::string& key, const Outcome& outcome);

 private:
  using Place = std::uint64_t;  // 1 + offset of a record; 0: none
  // Places of tasks that have only a point and a fidelity, by point: nearly all tasks are of this kind.
  struct Series {
    std::string end;  // of their keys, behind the point
    std::vector<Place> places;
  };
  Place place_of(const std::string& key) const;
  Place& place_of_new(const std::string& key);
  void spill();

  std::string folder_;
  std::vector<Series> series_;
  std::map<std::string, Place> others_;
  std::size_t size_ = 0;
  std::string tail_;           // records that are not in the file
  std::uint64_t in_file_ = 0;  // bytes
  int file_ = -1;
};

}  // namespace lockstep::sim::plan
