#pragma once
// Times iterations of a pipeline with any number of micro-batches. A full pipeline repeats its order, and soon its
// times. So a short order of the same schedule is timed, with the missing periods added (PipelineOrder::run_longer). If
// its times do not repeat themselves yet, an order of twice as many micro-batches is tried, up to the whole pipeline.
//
// The result is exact, except for pipelines of more than kMostPasses passes whose times do not repeat themselves by
// then. They are extrapolated linearly from two orders with fewer micro-batches.
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/split/pipeline_time.hpp"

namespace lockstep::sim::split {

/// About a second of computing.
inline constexpr double kMostPasses = 1e6;

/// The last ops of each stage: those of the whole pipeline's end. `line` starts them as late as there.
struct TimedPipeline {
  const std::vector<StageOps>* ops = nullptr;  ///< of the order that was timed; the timer owns it
  PipelineTimeline line;
};

/// Keeps the orders that it made. Use it in one thread at a time.
class PipelineTimer {
 public:
  PipelineTimer(PipelineSchedule schedule, const PipelineShape& shape);

  TimedPipeline run(const PipelineTimes& times);
  /// True if orders of all micro-batches are short enough to be timed step by step.
  bool can_be_whole() const { return !is_extrapolated_; }
  /// Returns the passes of the first order that run() tries.
  double first_passes() const { return 2.0 * shape_.stages * shape_.chunks * sizes_.front(); }

 private:
  const PipelineOrder& order_at(std::size_t size);
  void skip_to(std::size_t size);
  TimedPipeline extrapolate(const PipelineTimes& times);

  PipelineSchedule schedule_;
  PipelineShape shape_;
  std::vector<int> sizes_;  ///< micro-batches of the orders to try, ascending; if extrapolated, by the last two
  bool is_extrapolated_ = false;
  std::vector<std::unique_ptr<const PipelineOrder>> orders_;  ///< of sizes_; none of those that proved too short
  std::size_t first_ = 0;                                     ///< first of sizes_ that is long enough, so far
};

/// Keeps the timers of a search's splits, because many splits have the same schedule and shape. Use it in one thread at
/// a time.
class PipelineTimers {
 public:
  std::shared_ptr<PipelineTimer> at(PipelineSchedule schedule, const PipelineShape& shape);

 private:
  using Key = std::tuple<PipelineSchedule, int, int, int, ChunkOrder>;
  std::map<Key, std::shared_ptr<PipelineTimer>> all_;
  double passes_ = 0;  ///< of the first orders of all timers kept
};

}  // namespace lockstep::sim::split
