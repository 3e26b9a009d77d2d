#include "sim/split/pipeline_repetition.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>

#include "engine/base/index.hpp"

namespace lockstep::sim::split {
namespace {

// True if `b` waits for the same steps as `a`, all `distance` later.
bool waits_alike(const PipelineStep& a, const PipelineStep& b, int distance) {
  const auto is_as_far = [&](int of_a, int of_b) { return of_a < 0 ? of_b < 0 : of_b - of_a == distance; };
  return a.stage == b.stage && a.pass == b.pass && a.release == b.release && a.has_message == b.has_message &&
         a.is_beside_next == b.is_beside_next && is_as_far(a.own, b.own) && is_as_far(a.arrives_from, b.arrives_from);
}

bool has_each_pass(const std::vector<PipelineStep>& steps, std::size_t first, std::size_t period, int times) {
  std::map<int, int> counts;
  for (std::size_t i = first; i < first + period; ++i) ++counts[steps[i].pass];
  return std::all_of(counts.begin(), counts.end(), [&](const auto& count) { return count.second == times; });
}

// `times`: of each pass in a period.
PipelineRepetition repetition_of(const std::vector<PipelineStep>& steps, int micro_batches, int times,
                                 std::size_t period) {
  const std::size_t middle = steps.size() / 2;
  if (middle < 2 * period) return {};
  const auto is_repeated = [&](std::size_t i) {
    return waits_alike(steps[i - period], steps[i], static_cast<int>(period));
  };
  PipelineRepetition found{period, micro_batches, middle, middle, period};
  while (found.end < steps.size() && is_repeated(found.end)) ++found.end;
  while (found.first > period && is_repeated(found.first - 1)) --found.first;
  while (found.first < found.end && steps[found.first - 1].is_beside_next) ++found.first;
  if (found.end - found.first < 2 * period || !has_each_pass(steps, found.first, period, times)) return {};
  for (std::size_t i = found.first; i < found.first + period; ++i)
    for (const int from : {steps[i].own, steps[i].arrives_from})
      if (from >= 0) found.reach = std::max(found.reach, i - to_index(from));
  return found;
}

}  // namespace

PipelineRepetition find_repetition(const std::vector<PipelineStep>& steps, const PipelineShape& shape) {
  const int share = shape.order == ChunkOrder::mirrored ? 2 : 1;  // half of the micro-batches use each chunk
  const std::size_t of_micro_batch = steps.size() / to_index(shape.micro_batches);
  for (const int count : {1, shape.stages, 2 * shape.stages}) {
    if (count % share != 0) continue;
    const PipelineRepetition found = repetition_of(steps, count, count / share, of_micro_batch * to_index(count));
    if (found.period > 0) return found;
  }
  return {};
}

}  // namespace lockstep::sim::split
