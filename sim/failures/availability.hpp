#pragma once
// Reads the times at which a spot market has nodes: a file of intervals, schema "lockstep/availability/1"
// (sim/plan/README.md). If a training is longer than the trace, the trace starts again at its end. A series of counts
// is written as consecutive intervals. Nodes that leave and nodes that come at the same instant therefore count as the
// same nodes, up to the smaller number. If the count falls, nodes that the job does not use leave first.
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/object_format.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::failures {

/// Nodes that are available for the same time.
struct AvailableInterval {
  double from_s = 0;
  double to_s = 0;
  int nodes = 1;
};

struct Availability {
  std::string name;
  std::string kind;
  std::string source;
  double length_s = 0;  ///< length of the trace; 0 in the file: to the end of the last interval
  double notice_s = 0;  ///< time from the warning to the loss of a node
  std::vector<AvailableInterval> intervals;

  /// Returns the largest number of nodes that are available at once.
  int most_nodes() const;
};

/// On reading, checks that intervals lie in the trace and are not empty, and sets the length. Throws InputError.
const ObjectFormat<Availability>& availability_format();
Json availability_schema();

/// A job has all its nodes from `from_s` to `to_s`. Then it loses some. Both are seconds since its first request.
struct Holding {
  double from_s = 0;
  double to_s = std::numeric_limits<double>::infinity();
};

/// The endless sequence of periods in which a job holds `nodes` nodes. A period begins when that many are available,
/// and ends when one of the job's nodes leaves. The job takes free nodes in the order in which they came.
class Holdings {
 public:
  Holdings(const Availability& trace, int nodes, double start_s);
  /// Returns the next period; none if there will never be that many nodes again. If a period never ends, its end is
  /// infinite.
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
  /// Moves the clock to the next change, and applies it. Returns the number of nodes that the job loses.
  int pass_next_change();

  const Availability& trace_;
  int wanted_;
  double start_s_, clock_s_ = 0;  // clock_s_: since the start
  std::vector<Change> changes_;   // of one round, ascending; the last is at the trace's end
  std::size_t change_ = 0;
  double round_s_ = 0;           // begin of the round, since the start; negative in the first round
  std::set<std::size_t> there_;  // indices of intervals that are available now
  std::vector<int> free_, used_;
  int held_ = 0;
  std::int64_t free_now_ = 0;  // over all intervals in there_
};

}  // namespace lockstep::sim::failures
