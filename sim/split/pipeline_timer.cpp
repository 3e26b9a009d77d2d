#include "sim/split/pipeline_timer.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim::split {
namespace {

constexpr int kFirstRounds = 8;  // of twice as many micro-batches as there are stages: interleaved ones repeat within
constexpr int kLeastRounds = 8;  // of a pipeline that is extrapolated

}  // namespace

PipelineTimer::PipelineTimer(PipelineSchedule schedule, const PipelineShape& shape)
    : schedule_(schedule), shape_(shape) {
  const int round = 2 * shape.stages, rest = shape.micro_batches % round;
  const double passes_of_round = 2.0 * round * shape.stages * shape.chunks;
  is_extrapolated_ = shape.micro_batches * (passes_of_round / round) > kMostPasses;
  const int most = std::min(shape.micro_batches / round,
                            std::max(kLeastRounds, static_cast<int>(kMostPasses / passes_of_round / 2)));
  for (int rounds = kFirstRounds; rounds * 3 / 2 < most; rounds *= 2) sizes_.push_back(rest + rounds * round);
  if (is_extrapolated_) {
    sizes_.push_back(rest + most * round);
    sizes_.push_back(std::min(rest + 2 * most * round, shape.micro_batches));
  } else {
    sizes_.push_back(shape.micro_batches);
  }
  orders_.resize(sizes_.size());
}

const PipelineOrder& PipelineTimer::order_at(std::size_t size) {
  if (!orders_[size]) {
    PipelineShape shape = shape_;
    shape.micro_batches = sizes_[size];
    orders_[size] = std::make_unique<const PipelineOrder>(pipeline_ops(schedule_, shape), shape);
  }
  return *orders_[size];
}

TimedPipeline PipelineTimer::run(const PipelineTimes& times) {
  const std::size_t last = sizes_.size() - 1;
  while (first_ <= last) {
    const PipelineOrder& order = order_at(first_);
    if (sizes_[first_] == shape_.micro_batches) return {&order.stages(), order.run(times)};
    if (auto line = order.run_longer(times, shape_.micro_batches - sizes_[first_]))
      return {&order.stages(), std::move(*line)};
    const bool may_repeat = order.repeats() || first_ == 0;  // a short order may not show it
    skip_to(may_repeat || first_ == last ? first_ + 1 : last);
  }
  return extrapolate(times);
}

// Keeps the last two orders of a pipeline that is extrapolated.
void PipelineTimer::skip_to(std::size_t size) {
  first_ = size;
  const std::size_t kept = is_extrapolated_ ? std::min(size, sizes_.size() - 2) : size;
  for (std::size_t i = 0; i < kept; ++i) orders_[i].reset();
}

TimedPipeline PipelineTimer::extrapolate(const PipelineTimes& times) {
  const std::size_t last = sizes_.size() - 1;
  const PipelineTimeline shorter = order_at(last - 1).run(times);
  TimedPipeline timed{&order_at(last).stages(), order_at(last).run(times)};
  const double steps = double(shape_.micro_batches - sizes_[last]) / (sizes_[last] - sizes_[last - 1]);
  const double more_s = steps * (timed.line.makespan_s - shorter.makespan_s);
  timed.line.makespan_s += more_s;
  for (std::vector<double>& starts_s : timed.line.starts_s)
    for (double& start_s : starts_s) start_s += more_s;
  for (double& busy_s : timed.line.busy_s) busy_s *= double(shape_.micro_batches) / sizes_[last];
  return timed;
}

// Forgets all timers before their first orders need more than about 50 MB. Splits that use them keep theirs.
std::shared_ptr<PipelineTimer> PipelineTimers::at(PipelineSchedule schedule, const PipelineShape& shape) {
  constexpr double kMostKept = 1e6;
  std::shared_ptr<PipelineTimer>& known =
      all_[{schedule, shape.stages, shape.micro_batches, shape.chunks, shape.order}];
  if (known) return known;
  const auto made = std::make_shared<PipelineTimer>(schedule, shape);
  known = made;
  passes_ += made->first_passes();
  if (passes_ > kMostKept) {
    all_.clear();
    passes_ = 0;
  }
  return made;
}

}  // namespace lockstep::sim::split
