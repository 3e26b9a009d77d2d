#pragma once
// The closed form for programs whose collectives run on several streams at once. Here a link carries the bytes of all
// collectives one after the other, in the order in which they start. The last one then ends as with fair sharing, and
// the others end too early. A collective ends when the last of its links has carried its bytes, and never before the
// time that it takes without others.
//
// Copies of input over links may take far longer than a collective. If work needs a link for b seconds, and the link
// has r seconds of earlier work left, the new work ends after b + min(b, r). This is even sharing by two: the shorter
// ends after twice its own time, the longer after the sum of both. The end of the earlier work does not change.
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/replay/replay.hpp"
#include "sim/replay/uneven_loads.hpp"
#include "sim/replay/unit_classes.hpp"

namespace lockstep::sim::replay {

class LinkQueue {
 public:
  /// Does nothing if collectives are on one stream only and no copies cross links. `costs` must outlive it.
  LinkQueue(const Program& program, const PlanCosts& costs, const Perturbation& perturbation);
  /// Adds a collective of `plan` that starts at `start_s` to the queues of its links, and returns its end. Without
  /// others it would end at `alone_end_s`.
  double occupy(int plan, double start_s, double alone_end_s);
  /// Adds the input copies that all GPUs make from `source`, in the same way.
  double occupy(Work::Source source, double start_s, double alone_end_s);

 private:
  double occupy(const PlanCosts::LinkSeconds& busy, double start_s, double alone_end_s);

  bool shares_evenly_ = false;
  const PlanCosts& costs_;
  double bandwidth_;            // factor on the bandwidth of all links
  std::vector<double> free_s_;  // by link
};

/// True if collectives of the program share links with other collectives, or with copies.
bool has_busy_links(const Program& program);
/// Fills PlanCosts::busy_s and busy_by_copies_s, the seconds for which each link is occupied. `units` are those of the
/// plans. They are one unit if the program's input crosses links. `uneven` adds up bytes on the links of `units`.
void find_busy_links(const Program& program, const Cluster& cluster, const UnitClasses& units, UnevenLoads& uneven,
                     PlanCosts& costs);

/// The order in which the closed form processes a program's work. By default it is the order of enqueueing. Copies over
/// links are processed as soon as they start before the next work. If collectives run on several streams, all work is
/// ordered by the time at which it can start.
class WorkOrder {
 public:
  explicit WorkOrder(const Program& program);
  /// Index of the next work; -1 at the end. Arguments: when each stream is free, and when processed work has ended.
  int next_work(const std::vector<double>& stream_free_s, const std::vector<double>& end_s);

 private:
  using Times = std::vector<double>;
  bool can_start(int work) const;
  double start_s(int work, const Times& stream_free_s, const Times& end_s) const;
  void list_dependents();
  bool is_head(int work) const;
  void make_ready(int work, const Times& stream_free_s, const Times& end_s);
  void release_dependents(const Times& stream_free_s, const Times& end_s);
  int earliest(const Times& stream_free_s, const Times& end_s);
  int early_copy(double before_s, const Times& stream_free_s, const Times& end_s) const;
  int take(int work);

  const Program& program_;
  const bool by_time_;
  const bool takes_copies_early_;
  std::size_t taken_ = 0;
  std::size_t next_ = 0;                     // in enqueueing order: all before it are processed
  std::vector<std::vector<int>> of_stream_;  // work by stream, in the order of enqueueing
  std::vector<std::size_t> head_;            // by stream
  std::vector<bool> is_taken_;               // by work

  // Only if ordered by time. Work is ready if it is the next of its stream and nothing that it waits for is left, so its
  // start is known.
  std::vector<std::size_t> first_dependent_;  // by work, into dependents_; one more at the end
  std::vector<int> dependents_;
  std::vector<int> waits_for_;               // by work: work that it waits for and that is not taken
  using ReadyWork = std::pair<double, int>;  // start in seconds, work
  std::priority_queue<ReadyWork, std::vector<ReadyWork>, std::greater<>> ready_;
  int last_ = -1;
};

}  // namespace lockstep::sim::replay
