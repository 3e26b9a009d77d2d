#include "sim/split/pipeline.hpp"

#include <algorithm>
#include <stdexcept>

namespace lockstep::sim::split {
namespace {

void check(PipelineSchedule schedule, const PipelineShape& shape) {
  if (shape.stages < 1 || shape.micro_batches < 1 || shape.chunks < 1)
    throw std::invalid_argument("a pipeline without stages, micro-batches or chunks");
  if (schedule != PipelineSchedule::interleaved && shape.chunks > 1)
    throw InputError("schedule \"" + name_of(schedule) + "\": " + std::to_string(shape.chunks) +
                     " chunks of layers per stage; allowed: 1, or the schedule \"interleaved\"");
  if (schedule == PipelineSchedule::interleaved && shape.micro_batches % shape.stages != 0)
    throw InputError("schedule \"interleaved\": " + std::to_string(shape.micro_batches) +
                     " micro-batches; allowed: multiples of the " + std::to_string(shape.stages) + " stages");
}

}  // namespace

StageOps stage_ops(PipelineSchedule schedule, const PipelineShape& shape, int stage) {
  check(schedule, shape);
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return gpipe(shape, stage);
    case PipelineSchedule::one_f_one_b:
      return one_f_one_b(shape, stage);
    case PipelineSchedule::interleaved:
      return interleaved(shape, stage);
    case PipelineSchedule::zb_h1:
      return zb_h1(shape, stage);
  }
  throw std::logic_error("a schedule without ops");
}

std::vector<StageOps> pipeline_ops(PipelineSchedule schedule, const PipelineShape& shape) {
  std::vector<StageOps> stages;
  for (int stage = 0; stage < shape.stages; ++stage) stages.push_back(stage_ops(schedule, shape, stage));
  return stages;
}

int most_in_flight(const StageOps& ops) {
  int held = 0, most = 0;
  for (const PipelineOp& op : ops) {
    if (op.pass == Pass::forward) most = std::max(most, ++held);
    if (op.pass == Pass::backward) --held;
  }
  return most;
}

int in_flight(PipelineSchedule schedule, const PipelineShape& shape, int stage) {
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return shape.micro_batches;
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zb_h1:
      return std::min(shape.stages - stage, shape.micro_batches);
    case PipelineSchedule::interleaved:
      return std::min(2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * shape.stages + 1,
                      shape.micro_batches * shape.chunks);
  }
  throw std::logic_error("a schedule without a formula");
}

}  // namespace lockstep::sim::split
