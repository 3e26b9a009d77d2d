#pragma once
// Reads the times at which a spot market has nodes: a file of intervals, schema "lockstep/availability/1"
// (sim/plan/README.md). For a training longer than the trace, the trace begins again at its end. A series of counts is
// written as consecutive intervals. Nodes that leave and nodes that come at the same instant are therefore the same
// nodes, as far as their numbers agree. If the count falls, nodes that the job does not use leave first.
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/object_format.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::failures {

/// Nodes that are available together.
struct AvailableInterval {
  double from_s = 0;
  double to_s = 0;
  int nodes = 1;
};

struct Availability {
  std::string name;
  std::string kind;
  std::string source;
  double length_s = 0;  ///< of the trace; 0 in the file: to the end of the last interval
  double notice_s = 0;  ///< from the warning to the loss of a node
  std::vector<AvailableInterval> intervals;

  /// Largest number of nodes that are available at once.
  int most_nodes() const;
};

/// Reading checks that intervals lie in the trace and are not empty, and sets the length. Throws InputError.
const ObjectFormat<Availability>& availability_format();
Json availability_schema();

/// A job has all its nodes from `from_s` to `to_s`; then it loses some. Seconds since its first request for nodes.
struct Holding {
  double from_s = 0;
  double to_s = std::numeric_limits<double>::infinity();
};

/// The periods in which a job holds `nodes` nodes, without end. A period begins when that many are available, and ends
/// when one of the job's nodes leaves. The job takes free nodes in the order in which they came.
class Holdings {
 public:
  Holdings(const Availability& trace, int nodes, double start_s);
  /// Returns the next period. None: there will never be that many nodes again. A period without an end ends at
  /// infinity.
  std::optional<Holding> next();

 private:
  struct Change {
    double time_s = 0;
    std::vector<std::size_t> leave, come;
  };
  void collect_changes();
  void begin();
  bool take(int wanted);
  int apply(const Change& change);
  int step();

  const Availability& trace_;
  int wanted_;
  double start_s_, clock_s_ = 0;  // clock: since the start
  std::vector<Change> changes_;   // of one round, ascending, the last at the trace's end
  std::size_t change_ = 0;
  double round_s_ = 0;           // since the start, of the round's begin; negative in the first
  std::set<std::size_t> there_;  // intervals, by their order
  std::vector<int> free_, used_;
  int held_ = 0;
  std::int64_t free_now_ = 0;  // over all that are there
};

}  // namespace lockstep::sim::failures
