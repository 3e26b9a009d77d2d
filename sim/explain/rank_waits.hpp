#pragma once
// Which rank the others wait for, from traces of several ranks whose clocks need not agree.
//
// A collective ends on all of its ranks at about the same time, so the rank with the shortest kernel arrived last. Rank r
// waits for it (duration of r) - (shortest duration). Ranks within 1 us or 1 % of the shortest duration arrive together
// and do not wait. Calls are matched over the ranks by operation, size and process group, in their order.
//
// The last rank need not be the cause. If it waited longer than r since the previous call that both take part in, r
// waits for the ranks that the last one waited for. So a slow GPU is found behind nested groups, such as pairs of tensor
// parallelism within data parallelism.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/explain/step_parts.hpp"

namespace lockstep::sim::explain {

struct RankAnalysis {
  std::vector<RankWaits> ranks;   ///< in the order of TracedJob::ranks
  int matched_calls = 0;          ///< collectives that were found on at least two ranks; 0: nothing else is known
  std::vector<PathSegment> path;  ///< neighbours differ in rank or part
  /// Mean duration of a matched call on the rank that arrived last, by operation, ranks and bytes: without
  /// waiting. Only calls whose ranks were all traced count.
  std::map<std::tuple<std::string, int, std::int64_t>, double> transfer_s;
};

/// Follows the critical path backwards, from the end of the longest step. Within a rank it follows the timeline. A
/// matched call in which the rank waited leads to the rank that arrived last, at the end of the call there. Each call
/// does so once, and only if nothing else ran when it ended. Overlapped time is computation.
RankAnalysis analyse_ranks(const TracedJob& traced);

/// Returns the parts of the step by which causes are ranked. They are those of the critical path, scaled to the step,
/// because the prediction is of ranks that do not wait for a slow one. Without a path they are means over the ranks.
calib::PartSeconds path_parts(const TracedJob& traced);

}  // namespace lockstep::sim::explain
