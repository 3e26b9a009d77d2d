#include "sim/point/split_trace.hpp"

#include <string>

#include "sim/split/ranks.hpp"

namespace lockstep::sim::point {
namespace {

const char* name_of(SplitSpan::Kind kind) {
  switch (kind) {
    case SplitSpan::Kind::forward:
      return "forward";
    case SplitSpan::Kind::backward:
      return "backward";
    case SplitSpan::Kind::weight_gradient:
      return "gradients of weights";
    case SplitSpan::Kind::exchange:
      return "exchange of gradients";
    case SplitSpan::Kind::update:
      break;
  }
  return "update";
}

bool is_pass(SplitSpan::Kind kind) {
  return kind != SplitSpan::Kind::exchange && kind != SplitSpan::Kind::update;
}

void name_rows(TraceText& trace, int gpu, int stage) {
  const std::string process = "stage " + std::to_string(stage) + " (GPU " + std::to_string(gpu) + ")";
  trace.add({{"name", "process_name"}, {"ph", "M"}, {"pid", gpu}, {"tid", 0}, {"args", {{"name", process}}}});
  trace.add({{"name", "process_sort_index"}, {"ph", "M"}, {"pid", gpu}, {"tid", 0}, {"args", {{"sort_index", gpu}}}});
  for (const auto& [thread, name] : {std::pair(0, "compute"), std::pair(1, "exchange")})
    trace.add({{"name", "thread_name"}, {"ph", "M"}, {"pid", gpu}, {"tid", thread}, {"args", {{"name", name}}}});
}

}  // namespace

void write_split_trace(const SplitModel& model, double slowest, const std::vector<int>& gpus, const TraceSink& sink) {
  const RankOrder order(model.job().spec);
  const std::vector<SplitSpan> spans = model.spans(slowest);
  TraceText trace(sink);
  for (int gpu : gpus) {
    const int stage = order.coordinates(gpu)[ParallelDimension::pipeline];
    name_rows(trace, gpu, stage);
    for (const SplitSpan& span : spans) {
      if (span.stage != stage) continue;
      const bool is_exchange = span.kind == SplitSpan::Kind::exchange;
      Json args{{"iteration", 0}};
      if (is_pass(span.kind)) args.update({{"micro_batch", span.micro_batch}, {"chunk", span.chunk}});
      trace.add({{"name", name_of(span.kind)},
                 {"cat", is_exchange ? "collective" : "compute"},
                 {"ph", "X"},
                 {"ts", span.start_s * 1e6},
                 {"dur", (span.end_s - span.start_s) * 1e6},
                 {"pid", gpu},
                 {"tid", is_exchange ? 1 : 0},
                 {"args", args}});
    }
  }
  trace.pass_on();
}

}  // namespace lockstep::sim::point
