#pragma once
// Finds the links that the messages of plans cross, once per class of equivalent units of a cluster (cluster.hpp). Time
// and memory grow with the number of classes and of runs in the plans, but hardly with the number of units.
//
// Two units are equivalent if every block sends the same bytes from and to the same of their GPUs. The GPUs at the
// other ends must be the same, too, inside the unit or outside it. Each unit has a signature, the sum of a 64-bit hash
// over all messages that begin or end in it; units with the same signature form a class. The load of a link depends on
// its unit's class alone; the route of a message depends on the classes of both its ends and on the GPUs within them.
// So only messages of a run that differ in these are kept.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/plan.hpp"
#include "sim/replay/block_shapes.hpp"

namespace lockstep::sim::replay {

/// Links that a run's messages cross, whatever their bytes. Links are numbered by class: UnitClasses::bandwidth().
/// Crossings are those of one unit of each class, because the runs of a block load all units of a class equally.
struct RunOnLinks {
  /// Messages that cross a link and have the same bandwidth on their routes.
  struct Crossing {
    int link;
    double route_bytes_per_s;
    double messages;
  };
  /// A route that messages take.
  struct CrossedRoute {
    double latency_s;
    double route_bytes_per_s;
    std::vector<int> links;
  };
  std::vector<Crossing> crossings;
  std::vector<const CrossedRoute*> routes;  ///< owned by UnitClasses
};

class UnitClasses {
 public:
  /// Finds the links of all runs of the plans. `as_one`: the whole cluster is one unit, and links keep their numbers.
  /// Throws InputError before the search if it would need more than about 12 s or 4 GB.
  UnitClasses(const std::vector<const Plan*>& plans, const Cluster& cluster, bool as_one = false);

  int links() const { return static_cast<int>(bandwidth_.size()); }
  double bandwidth(int link) const { return bandwidth_[static_cast<std::size_t>(link)]; }
  /// Throws std::out_of_range if no plan has a run between the same ranks.
  const RunOnLinks& find(const Run& run) const { return runs_.at(run); }

 private:
  struct HashRun {
    std::size_t operator()(const Run& run) const { return hash_of_ranks(run); }
  };
  struct SameRanks {
    bool operator()(const Run& a, const Run& b) const { return have_same_ranks(a, b); }
  };
  using Runs = std::unordered_map<Run, RunOnLinks, HashRun, SameRanks>;

  void find_classes(const std::set<const Transfers::Block*>& blocks);
  void check_routes() const;
  void find_crossings(const Run& run, RunOnLinks& found);
  void find_routes(const Run& run, RunOnLinks& found);
  void cross(const Run& run, int i, int unit, double messages, RunOnLinks& found);
  void add_route(const Run& run, int i, RunOnLinks& found);
  RunOnLinks::CrossedRoute route_of(int src, int dst);
  int unit_of(int gpu) const { return gpu / gpus_of_unit_; }
  int class_of(int unit) const { return class_of_[static_cast<std::size_t>(unit)]; }

  const Cluster& cluster_;
  const bool as_one_;
  const int gpus_of_unit_;
  const int links_of_unit_;
  std::vector<int> class_of_;      // by unit
  std::vector<int> first_of_;      // by class: one of its units
  std::vector<double> bandwidth_;  // by link of the classes; 0 if no message crosses it
  std::vector<int> crossing_of_;   // by link, for the current run; -1: none
  Runs runs_;
  std::deque<RunOnLinks::CrossedRoute> routes_;
  std::unordered_map<std::uint64_t, const RunOnLinks::CrossedRoute*>
      known_routes_;  // by classes and positions of both ends
  Route route_;
};

}  // namespace lockstep::sim::replay
