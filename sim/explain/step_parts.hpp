#pragma once
// Compares the parts of a step's time, from traces of its ranks, with the predicted parts.
#include <optional>
#include <string>
#include <vector>

#include "calib/import/step_trace.hpp"
#include "sim/explain/scoring.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::explain {

struct PartTime {
  calib::StepPart part = calib::StepPart::idle;
  double measured_s = 0;
  Expected expected;  ///< its interval is, relative to the time, that of the whole step

  double lost_s() const { return measured_s - expected.seconds; }
};

/// All operations of NCCL of one kind and size in a step, overlapped time included.
struct CollectiveTime {
  std::string operation;
  int ranks = 0;           ///< 0: the trace does not have it
  std::int64_t bytes = 0;  ///< of an operation; 0: the trace does not have it
  int calls = 0;
  double measured_s =
      0;  ///< without waiting, if calls are matched over all their ranks; else of the rank that waits least
  double exposed_s = 0;              ///< mean over the ranks
  std::optional<Expected> expected;  ///< none: an operation, size or group of GPUs that is not predicted
};

struct RankWaits {
  double waits_s = 0;  ///< that this rank waits for the last one, over all matched calls
  /// Seconds that the other ranks wait because of this one, also in calls at which it is not last itself: median over
  /// the ranks that it has matched calls with.
  double delays_s = 0;
  int last_arrivals = 0;  ///< calls at which this rank alone is last
};

/// Covers a stretch of the critical path.
struct PathSegment {
  std::size_t rank = 0;  ///< its place in StepBreakdown::ranks
  calib::StepPart part = calib::StepPart::idle;
  double begin_s = 0, end_s = 0;  ///< from the path's begin; segments follow each other
};

struct TracedRank {
  std::string file;
  int rank = 0;
  double seconds = 0;
  std::vector<calib::PartSpan> spans;  ///< of the step, in order
  double own_s = 0;                    ///< step time minus exposed communication
  RankWaits waits{};
};

/// Measured and expected parts add up to the measured and the expected step; so do the lost times to the difference.
struct StepBreakdown {
  std::int64_t step = 0;  ///< the profiler's number
  double measured_s = 0;
  Expected expected;
  std::vector<PartTime> parts;  ///< one for each StepPart, means over the ranks
  std::vector<CollectiveTime> collectives;
  std::vector<TracedRank> ranks;  ///< by rank
  int world_size = 1;             ///< of the job, of which these are traced
  int matched_calls = 0;          ///< collectives found on at least two ranks (rank_waits.hpp)
  /// Index in `ranks` of the straggler, the rank with the largest delays_s; without matched calls, the one whose own
  /// time exceeds the median of the others the most. At least 2 % of the step. None: no rank does so, or there is only
  /// one.
  std::optional<std::size_t> straggler;
  double wait_for_straggler_s = 0;  ///< seconds that the median rank waits for the straggler
  std::vector<PathSegment> path;    ///< critical path over the ranks; empty without matched calls
};

/// Traces of a job's ranks, and the step that stands for all: the one whose mean duration over the ranks is the median.
struct TracedJob {
  std::vector<calib::StepTrace> ranks;  ///< by rank; empty: no trace
  std::int64_t step = 0;

  bool has_ranks() const { return !ranks.empty(); }
  /// Returns the rank's step with the number `step`, whose mean duration over the ranks is the median.
  const calib::TracedStep& median_step_of(const calib::StepTrace& rank) const;
  double seconds() const;
  calib::PartSeconds parts() const;  ///< means over the ranks
  double scatter() const;            ///< standard deviation of log(seconds) among the steps
};

/// Throws InputError: traces of the same rank, of jobs of different sizes, or without a step that all have.
TracedJob join_ranks(std::vector<calib::StepTrace> ranks);

/// Divides an iteration of `seconds` into parts, in the proportions of the closed form:
///   `gemm, attention`  Layers by their kind, recomputation included.
///   `memory`           All other layers, attention without fused kernels, and the update.
///   `communication`    Exposed communication. It includes waiting for other ranks and pipeline stages, during which
///                      NCCL kernels run.
///   `host`             Time that the host's launches and input add.
calib::PartSeconds predict_parts(const Workload& workload, double seconds);

/// Causes are ranked by the parts of a traced step. Parts have an error of their own. Three steps were profiled on an
/// H100: log(measured / predicted) of GEMM, attention and other kernels has a root mean square of 0.23, rounded up to
/// 0.25. Up to 10 % of a step is spent in parts that are not predicted. This share is added to measured and expected
/// parts before their ratio is computed, so that small parts do not decide.
constexpr double kPartDeviation = 0.25, kPartOffset = 0.1;

/// `expected_parts` add up to expected.seconds. Collectives are without their expectation (predicted_times.hpp).
StepBreakdown break_down(const TracedJob& traced, const Expected& expected, const calib::PartSeconds& expected_parts);

}  // namespace lockstep::sim::explain
