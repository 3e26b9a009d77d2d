#pragma once
// The closed form for programs whose collectives run on several streams at once. Taken alone, each would have every
// link to itself; here a link carries the bytes of all in the order in which they start, one after the other. That is
// what fair sharing gives for the last of them, and early for the others; a collective ends when the last of its links
// has carried its share, and never before the time it takes alone.
#include <utility>
#include <vector>

#include "sim/replay/replay.hpp"

namespace lockstep::sim {

class LinkQueue {
 public:
  /// With collectives on one stream only, it does nothing.
  LinkQueue(const Program& program, Cluster& cluster, const Perturbation& perturbation);
  /// When a collective of `plan` ends that starts at `start_s` and alone would end at `alone_end_s`.
  double end_s(int plan, double start_s, double alone_end_s);

 private:
  std::vector<std::vector<std::pair<int, double>>> busy_s_;  // by plan: links and the seconds that it keeps them
  std::vector<double> free_s_;                               // by link
};

/// The order in which the closed form takes a program's work: as enqueued, or, where collectives run on several
/// streams, by the time at which it can start.
class WorkOrder {
 public:
  explicit WorkOrder(const Program& program);
  /// Index of the next work, -1 at the end; times of when streams are free and of when work taken before has ended.
  int next(const std::vector<double>& stream_free_s, const std::vector<double>& end_s);

 private:
  bool can_start(int work) const;

  const Program& program_;
  const bool by_time_;
  std::size_t taken_ = 0;
  std::vector<std::vector<int>> of_stream_;
  std::vector<std::size_t> head_;  // by stream
  std::vector<bool> is_taken_;     // by work
};

}  // namespace lockstep::sim
