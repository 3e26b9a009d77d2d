#include "sim/replica/stage_events.hpp"

#include <algorithm>

#include "engine/base/index.hpp"
#include "engine/base/json.hpp"

namespace lockstep::sim::replica {
namespace {

enum Row { kComputeRow, kExchangeRow };

const char* name_of_pass(Pass pass) {
  return pass == Pass::forward ? "forward" : pass == Pass::backward ? "backward" : "gradients of weights";
}

Json name_event(const char* kind, int stage, int row, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", stage}, {"tid", row}, {"args", {{"name", name}}}};
}

Json span_event(const char* name, int stage, int row, double start_s, double seconds, const Json& more = {}) {
  Json event{{"name", name},
             {"cat", row == kComputeRow ? "compute" : "collective"},
             {"ph", "X"},
             {"ts", start_s * 1e6},
             {"dur", seconds * 1e6},
             {"pid", stage},
             {"tid", row},
             {"args", {{"iteration", 0}}}};
  if (more.is_object()) event["args"].update(more);
  return event;
}

}  // namespace

void write_stage_events(const SplitModel& model, double slowest, int stages, const TraceSink& sink) {
  const std::vector<StageTimes> all = model.stage_times(slowest);
  double exchanged_s = 0;
  for (const StageTimes& stage : all) exchanged_s = std::max(exchanged_s, stage.exchanged_s);
  std::string text;
  const auto add = [&](const Json& event) { text += (text.empty() ? "" : ",\n") + event.dump(); };
  for (int stage = 0; stage < std::min(stages, static_cast<int>(all.size())); ++stage) {
    const StageTimes& times = all[to_index(stage)];
    add(name_event("process_name", stage, kComputeRow, "stage " + std::to_string(stage)));
    add(name_event("thread_name", stage, kComputeRow, "compute"));
    add(name_event("thread_name", stage, kExchangeRow, "exchange"));
    double end_s = 0;
    for (const StageSpan& span : times.passes) {
      add(span_event(name_of_pass(span.op.pass), stage, kComputeRow, span.start_s, span.seconds,
                     {{"micro_batch", span.op.micro_batch}, {"chunk", span.op.chunk}}));
      end_s = std::max(end_s, span.start_s + span.seconds);
    }
    if (times.exchanged_s > end_s)
      add(span_event("exchange of gradients", stage, kExchangeRow, end_s, times.exchanged_s - end_s));
    add(span_event("update", stage, kComputeRow, exchanged_s, times.update_s));
  }
  sink(text);
}

}  // namespace lockstep::sim::replica
