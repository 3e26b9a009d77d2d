#pragma once
// Timelines as Chrome trace events (the format that Perfetto and chrome://tracing load): a process per GPU, a thread
// per stream and per link to or from a peer. Times in microseconds, as the format wants.
#include <string>

#include "sim/replay/replay.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim {
inline namespace replay {

/// The events of the replay's timelines, comma-separated JSON objects without the enclosing array.
std::string trace_events(const Program& program, const Replay& replay, int gpus_per_node);

}  // namespace replay
}  // namespace lockstep::sim
