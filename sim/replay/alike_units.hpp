#pragma once
// What plans' messages do on links, known once for all units of a cluster (cluster.hpp) to which the same happens: time and
// memory grow with the classes of alike units and the runs of the plans, and with the cluster by some sums over its units.
//
// Units are alike when every block touches them alike: the same of their GPUs, with the same GPUs at the other ends, in the
// same unit or in another one, and as many bytes. Each unit adds up a number for all that touches it, and units with the
// same sum (64 bits, mixed) are a class. What a link carries then depends on its unit's class alone; a message on the classes of both its ends
// and on the GPUs within them, so that of a run only messages that differ in these are kept.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/plan.hpp"
#include "sim/replay/block_shapes.hpp"

namespace lockstep::sim {
inline namespace replay {

/// What a run's messages do, whatever their bytes. Links are those of classes: AlikeUnits::bandwidth(). Crossings are of
/// the links of one unit of each class: what the runs of a block do there together, they do on all the class's.
struct RunOnLinks {
  /// Messages that cross a link and have the same bandwidth on their routes.
  struct Crossing {
    int link;
    double route_bytes_per_s;
    double messages;
  };
  /// A way in which messages go.
  struct Way {
    double latency_s;
    double route_bytes_per_s;
    std::vector<int> links;
  };
  std::vector<Crossing> crossings;
  std::vector<const Way*> ways;  ///< kept by AlikeUnits
};

class AlikeUnits {
 public:
  /// Of all runs of the plans. `as_one`: the whole cluster is one unit, and links keep their numbers.
  AlikeUnits(const std::vector<const Plan*>& plans, const Cluster& cluster, bool as_one = false);

  int links() const { return static_cast<int>(bandwidth_.size()); }
  double bandwidth(int link) const { return bandwidth_[static_cast<std::size_t>(link)]; }
  /// Of a run that is alike to one of the plans'.
  const RunOnLinks& of(const Run& run) const { return runs_.at(run); }

 private:
  struct HashRun {
    std::size_t operator()(const Run& run) const { return hash_of_ranks(run); }
  };
  struct SameRanks {
    bool operator()(const Run& a, const Run& b) const { return have_same_ranks(a, b); }
  };
  using Runs = std::unordered_map<Run, RunOnLinks, HashRun, SameRanks>;

  void find_classes(const std::set<const Transfers::Block*>& blocks);
  void find_crossings(const Run& run, RunOnLinks& found);
  void find_ways(const Run& run, RunOnLinks& found);
  void cross(const Run& run, int i, int unit, double messages, RunOnLinks& found);
  void add_way(const Run& run, int i, RunOnLinks& found);
  RunOnLinks::Way way_of(int src, int dst);
  int unit_of(int gpu) const { return gpu / gpus_of_unit_; }
  int class_of(int unit) const { return class_of_[static_cast<std::size_t>(unit)]; }

  const Cluster& cluster_;
  const bool as_one_;
  const int gpus_of_unit_;
  const int links_of_unit_;
  std::vector<int> class_of_;      // by unit
  std::vector<int> first_of_;      // by class, a unit of it
  std::vector<double> bandwidth_;  // by link of the classes; 0 where no message has met it
  std::vector<int> crossing_of_;   // by link, of the run at hand; -1: none
  Runs runs_;
  std::deque<RunOnLinks::Way> ways_;
  std::unordered_map<std::uint64_t, const RunOnLinks::Way*> known_ways_;  // by the classes and places of both ends
  Route route_;
};

}  // namespace replay
}  // namespace lockstep::sim
