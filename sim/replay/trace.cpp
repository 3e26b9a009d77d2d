#include "sim/replay/trace.hpp"

#include <algorithm>
#include <map>

#include "engine/base/json.hpp"

namespace lockstep::sim::replay {
namespace {

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

// Threads of the link to or from a peer. Spans of a thread must not overlap, so concurrent exchanges get threads of
// their own.
class LinkThreads {
 public:
  explicit LinkThreads(std::size_t first) : next_(first) {}
  /// Returns the thread of an exchange; if the thread is new, sets its name. Call it in the order of the exchanges'
  /// starts.
  std::size_t thread_of(const Exchange& exchange, std::string& new_name) {
    std::vector<Lane>& lanes = lanes_[{exchange.is_send, exchange.peer}];
    for (Lane& lane : lanes) {
      if (exchange.start_s < lane.end_s) continue;
      lane.end_s = exchange.end_s;
      return lane.thread;
    }
    lanes.push_back({next_++, exchange.end_s});
    new_name = (exchange.is_send ? "to GPU " : "from GPU ") + std::to_string(exchange.peer);
    if (lanes.size() > 1) new_name += " (" + std::to_string(lanes.size()) + ")";
    return lanes.back().thread;
  }

 private:
  struct Lane {
    std::size_t thread;
    double end_s;
  };
  std::map<std::pair<bool, int>, std::vector<Lane>> lanes_;
  std::size_t next_;
};

// Adds exchanges below the streams' threads.
void add_exchanges(TraceText& trace, const Program& program, const GpuTimeline& timeline) {
  std::vector<Exchange> exchanges = timeline.exchanges;
  std::stable_sort(exchanges.begin(), exchanges.end(),
                   [](const Exchange& a, const Exchange& b) { return a.start_s < b.start_s; });
  LinkThreads threads(program.streams.size());
  for (const Exchange& exchange : exchanges) {
    if (exchange.end_s <= exchange.start_s) continue;
    std::string new_name;
    const std::size_t thread = threads.thread_of(exchange, new_name);
    if (!new_name.empty())
      trace.add({{"name", "thread_name"},
                 {"ph", "M"},
                 {"pid", timeline.gpu},
                 {"tid", thread},
                 {"args", {{"name", new_name}}}});
    const Work& work = program.work[static_cast<std::size_t>(exchange.work)];
    trace.add({{"name", work.name},
               {"cat", "link"},
               {"ph", "X"},
               {"ts", exchange.start_s * 1e6},
               {"dur", (exchange.end_s - exchange.start_s) * 1e6},
               {"pid", timeline.gpu},
               {"tid", thread},
               {"args", {{"iteration", work.iteration}, {"bytes", exchange.bytes}, {"messages", exchange.messages}}}});
  }
}

// Shows compute work layer by layer, each in proportion to its share of the nominal time.
void add_parts(TraceText& trace, const Work& work, int gpu, double start_s, double end_s) {
  const double stretch = (end_s - start_s) / work.seconds;
  double at_s = start_s;
  for (const Part& part : *work.parts) {
    const double until_s = at_s + part.seconds * stretch;
    trace.add(span(work, gpu, part.name, at_s, until_s));
    at_s = until_s;
  }
}

}  // namespace

void TraceText::add(const Json& event) {
  if (has_events_) text_ += ",\n";
  has_events_ = true;
  text_ += event.dump();
  constexpr std::size_t kPiece = 1 << 16;  // smallest number of bytes passed on at once
  if (text_.size() >= kPiece) pass_on();
}

void TraceText::pass_on() {
  sink_(text_);
  text_.clear();
}

void write_trace_events(const Program& program, const Replay& replay, int gpus_per_node, const TraceSink& sink) {
  TraceText trace(sink);
  for (const GpuTimeline& timeline : replay.timelines) {
    name_rows(trace, program, timeline.gpu, gpus_per_node);
    for (std::size_t w = 0; w < program.work.size(); ++w) {
      const Work& work = program.work[w];
      const double start_s = timeline.start_s[w], end_s = timeline.end_s[w];
      if (end_s <= start_s) continue;
      trace.add(span(work, timeline.gpu, work.name, start_s, end_s));
      if (work.parts && work.seconds > 0) add_parts(trace, work, timeline.gpu, start_s, end_s);
    }
    add_exchanges(trace, program, timeline);
  }
  trace.pass_on();
}

}  // namespace lockstep::sim::replay
