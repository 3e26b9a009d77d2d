#include "engine/base/index.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::replay {

Replay begin_replay(const Program& program, ReplayMethod method, const ReplayOptions& options) {
  Replay replay;
  replay.method = method;
  replay.compute_s.assign(to_index(program.iterations), 0);
  replay.iteration_end_s = replay.slowed_s = replay.input_wait_s = replay.compute_s;
  if (options.keep_ends)
    replay.ends_s.assign(to_index(program.iterations), std::vector<double>(to_index(program.gpus), 0));
  const std::vector<double> times(program.work.size());
  for (int gpu : options.timeline_gpus) replay.timelines.push_back({gpu, times, times, {}});
  return replay;
}

std::vector<int> timelines_by_gpu(const Program& program, const ReplayOptions& options) {
  std::vector<int> timelines(to_index(program.gpus), -1);
  for (std::size_t i = 0; i < options.timeline_gpus.size(); ++i)
    timelines[to_index(options.timeline_gpus[i])] = static_cast<int>(i);
  return timelines;
}

}  // namespace lockstep::sim::replay
