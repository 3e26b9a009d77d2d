#pragma once
// Timelines as Chrome trace events (the format that Perfetto and chrome://tracing load): a process per GPU, a thread
// per stream and per link to or from a peer. Times in microseconds, as the format wants.
#include <functional>
#include <string>

#include "engine/base/json.hpp"
#include "sim/replay/replay.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// Takes a trace's text piece by piece.
using TraceSink = std::function<void(const std::string& piece)>;

/// Events, which become pieces of text.
class TraceText {
 public:
  explicit TraceText(const TraceSink& sink) : sink_(sink) {}
  void add(const Json& event);
  void pass_on();  ///< what is left; once, at the end

 private:
  const TraceSink& sink_;
  std::string text_;
  bool has_events_ = false;
};

/// The events of the replay's timelines, comma-separated JSON objects without the enclosing array; pieces of some kilobytes.
void write_trace_events(const Program& program, const Replay& replay, int gpus_per_node, const TraceSink& sink);

}  // namespace lockstep::sim::replay
