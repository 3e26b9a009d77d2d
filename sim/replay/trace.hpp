#pragma once
// Writes timelines as Chrome trace events (the format that Perfetto and chrome://tracing load). A GPU is a process; a
// stream, or a link to or from a peer, is a thread. Times are in microseconds, as the format requires.
#include <functional>
#include <string>

#include "engine/base/json.hpp"
#include "sim/replay/replay.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// Receives a trace's text in pieces.
using TraceSink = std::function<void(const std::string& piece)>;

/// Collects events and passes them on as pieces of text.
class TraceText {
 public:
  explicit TraceText(const TraceSink& sink) : sink_(sink) {}
  void add(const Json& event);
  void pass_on();  ///< passes the rest on; call it once at the end

 private:
  const TraceSink& sink_;
  std::string text_;
  bool has_events_ = false;
};

/// Writes the events of the replay's timelines: comma-separated JSON objects without the enclosing array, in pieces of
/// some kilobytes.
void write_trace_events(const Program& program, const Replay& replay, int gpus_per_node, const TraceSink& sink);

}  // namespace lockstep::sim::replay
