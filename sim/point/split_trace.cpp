#include "sim/point/split_trace.hpp"

#include <string>

#include "sim/split/ranks.hpp"

namespace lockstep::sim::point {
namespace {

std::string name_of_span(const SplitSpan& span, bool has_chunks) {
  const std::string which =
      " " + std::to_string(span.micro_batch) + (has_chunks ? ", chunk " + std::to_string(span.chunk) : "");
  switch (span.kind) {
    case SplitSpan::Kind::forward:
      return "forward" + which;
    case SplitSpan::Kind::backward:
      return "backward" + which;
    case SplitSpan::Kind::weight_gradient:
      return "weight gradients" + which;
    case SplitSpan::Kind::exchange:
      return "exchange of gradients";
    case SplitSpan::Kind::update:
      break;
  }
  return "update";
}

void name_rows(TraceText& trace, int gpu, int stage) {
  const std::string process = "GPU " + std::to_string(gpu) + " (stage " + std::to_string(stage) + ")";
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
      trace.add({{"name", name_of_span(span, model.job().spec.virtual_stages > 1)},
                 {"cat", is_exchange ? "collective" : "compute"},
                 {"ph", "X"},
                 {"ts", span.start_s * 1e6},
                 {"dur", (span.end_s - span.start_s) * 1e6},
                 {"pid", gpu},
                 {"tid", is_exchange ? 1 : 0},
                 {"args", {{"iteration", 0}}}});
    }
  }
  trace.pass_on();
}

}  // namespace lockstep::sim::point
