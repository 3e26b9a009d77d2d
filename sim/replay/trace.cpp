#include "sim/replay/trace.hpp"

#include <map>

#include "engine/base/json.hpp"

namespace lockstep::sim {
namespace {

class TraceText {
 public:
  void add(const Json& event) {
    if (!text_.empty()) text_ += ",\n";
    text_ += event.dump();
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void name_rows(TraceText& trace, const Program& program, int gpu, int gpus_per_node) {
  const std::string process = "GPU " + std::to_string(gpu) + " (node " + std::to_string(gpu / gpus_per_node) + ")";
  trace.add({{"name", "process_name"}, {"ph", "M"}, {"pid", gpu}, {"tid", 0}, {"args", {{"name", process}}}});
  trace.add({{"name", "process_sort_index"}, {"ph", "M"}, {"pid", gpu}, {"tid", 0}, {"args", {{"sort_index", gpu}}}});
  for (std::size_t stream = 0; stream < program.streams.size(); ++stream)
    trace.add({{"name", "thread_name"},
               {"ph", "M"},
               {"pid", gpu},
               {"tid", stream},
               {"args", {{"name", program.streams[stream]}}}});
}

Json span(const Work& work, int gpu, const std::string& name, double start_s, double end_s) {
  return {{"name", name},
          {"cat", work.kind == Work::Kind::compute ? "compute"
                  : work.kind == Work::Kind::copy  ? "copy"
                  : work.kind == Work::Kind::host  ? "host"
                                                   : "collective"},
          {"ph", "X"},
          {"ts", start_s * 1e6},
          {"dur", (end_s - start_s) * 1e6},
          {"pid", gpu},
          {"tid", work.stream},
          {"args", {{"iteration", work.iteration}}}};
}

// A thread per link to and from a peer, below the streams' threads.
void add_exchanges(TraceText& trace, const Program& program, const GpuTimeline& timeline) {
  std::map<std::pair<bool, int>, std::size_t> threads;
  for (const Exchange& exchange : timeline.exchanges) {
    const auto [thread, is_new] =
        threads.try_emplace({exchange.is_send, exchange.peer}, program.streams.size() + threads.size());
    const std::string link = (exchange.is_send ? "to GPU " : "from GPU ") + std::to_string(exchange.peer);
    if (is_new)
      trace.add({{"name", "thread_name"},
                 {"ph", "M"},
                 {"pid", timeline.gpu},
                 {"tid", thread->second},
                 {"args", {{"name", link}}}});
    if (exchange.end_s <= exchange.start_s) continue;
    const Work& work = program.work[static_cast<std::size_t>(exchange.work)];
    trace.add({{"name", work.name},
               {"cat", "link"},
               {"ph", "X"},
               {"ts", exchange.start_s * 1e6},
               {"dur", (exchange.end_s - exchange.start_s) * 1e6},
               {"pid", timeline.gpu},
               {"tid", thread->second},
               {"args", {{"iteration", work.iteration}, {"bytes", exchange.bytes}, {"messages", exchange.messages}}}});
  }
}

// Compute work is shown layer by layer: its parts in proportion to their share of its nominal time.
void add_parts(TraceText& trace, const Work& work, int gpu, double start_s, double end_s) {
  const double stretch = (end_s - start_s) / work.seconds;
  double at_s = start_s;
  for (const Part& part : work.parts) {
    const double until_s = at_s + part.seconds * stretch;
    trace.add(span(work, gpu, part.name, at_s, until_s));
    at_s = until_s;
  }
}

}  // namespace

std::string trace_events(const Program& program, const Replay& replay, int gpus_per_node) {
  TraceText trace;
  for (const GpuTimeline& timeline : replay.timelines) {
    name_rows(trace, program, timeline.gpu, gpus_per_node);
    for (std::size_t w = 0; w < program.work.size(); ++w) {
      const Work& work = program.work[w];
      const double start_s = timeline.start_s[w], end_s = timeline.end_s[w];
      if (end_s <= start_s) continue;
      trace.add(span(work, timeline.gpu, work.name, start_s, end_s));
      if (!work.parts.empty() && work.seconds > 0) add_parts(trace, work, timeline.gpu, start_s, end_s);
    }
    add_exchanges(trace, program, timeline);
  }
  return trace.take();
}

}  // namespace lockstep::sim
