#include "sim/split/pipeline.hpp"

#include <algorithm>
#include <stdexcept>

namespace lockstep::sim::split {
namespace {

void check_dual(PipelineSchedule schedule, const PipelineShape& shape) {
  const bool has_copies = schedule == PipelineSchedule::dual_pipe;
  if (shape.micro_batches >= 2 * shape.stages &&
      (!has_copies || (shape.stages % 2 == 0 && shape.micro_batches % 2 == 0)))
    return;
  throw InputError("schedule \"" + name_of(schedule) + "\": " + std::to_string(shape.micro_batches) +
                   " micro-batches on " + std::to_string(shape.stages) + " stages; allowed: at least two per stage" +
                   (has_copies ? ", both numbers even" : ""));
}

void check(PipelineSchedule schedule, const PipelineShape& shape) {
  if (shape.stages < 1 || shape.micro_batches < 1 || shape.chunks < 1)
    throw std::invalid_argument("a pipeline without stages, micro-batches or chunks");
  if (chunk_order_of(schedule) != ChunkOrder::looped) {
    if (shape.chunks != 2 || shape.order != chunk_order_of(schedule))
      throw std::invalid_argument("a folded or mirrored pipeline without two chunks per stage");
    if (schedule != PipelineSchedule::zb_v) check_dual(schedule, shape);
    return;
  }
  if (schedule != PipelineSchedule::interleaved && shape.chunks > 1)
    throw InputError("schedule \"" + name_of(schedule) + "\": " + std::to_string(shape.chunks) +
                     " chunks of layers per stage; allowed: 1, or the schedule \"interleaved\"");
  if (schedule == PipelineSchedule::interleaved && shape.micro_batches % shape.stages != 0)
    throw InputError("schedule \"interleaved\": " + std::to_string(shape.micro_batches) +
                     " micro-batches; allowed: multiples of the " + std::to_string(shape.stages) + " stages");
}

}  // namespace

ChunkOrder chunk_order_of(PipelineSchedule schedule) {
  if (schedule == PipelineSchedule::dual_pipe) return ChunkOrder::mirrored;
  const bool is_folded = schedule == PipelineSchedule::zb_v || schedule == PipelineSchedule::dual_pipe_v;
  return is_folded ? ChunkOrder::folded : ChunkOrder::looped;
}

PipelineSchedule schedule_of_pipeline(const ParallelSpec& spec) {
  return spec.pipeline == 1 ? PipelineSchedule::one_f_one_b : spec.schedule;
}

PipelineShape pipeline_shape(const ParallelSpec& spec, int micro_batches) {
  return {spec.pipeline, micro_batches, spec.chunks(), chunk_order_of(schedule_of_pipeline(spec))};
}

int PipelineShape::messages_of(const ChunkPlace& place) const {
  const auto is_elsewhere = [&](const std::optional<ChunkPlace>& other) {
    return other && other->stage != place.stage ? 1 : 0;
  };
  return is_elsewhere(next(place)) + is_elsewhere(before(place));
}

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
    case PipelineSchedule::zb_v:
      return zb_v(shape, stage);
    case PipelineSchedule::dual_pipe:
      return dual_pipe(shape, stage);
    case PipelineSchedule::dual_pipe_v:
      return dual_pipe_v(shape, stage);
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
    if (op.pass == Pass::backward || op.pass == Pass::input_gradient) --held;
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
    case PipelineSchedule::zb_v:
    case PipelineSchedule::dual_pipe:
    case PipelineSchedule::dual_pipe_v:
      break;
  }
  throw std::logic_error("a schedule without a formula");
}

}  // namespace lockstep::sim::split
