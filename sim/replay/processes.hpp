#pragma once
// One process per simulation: SimGrid's engine lives once per process, and a crash loses one point, not the run.
#include <functional>
#include <string>
#include <vector>

namespace lockstep::sim {

/// Runs `work(i)` for i in [0, count) in a forked child each, at most `jobs` at a time, and returns what each gave, in
/// order. `progress(done)` is called in this process as they finish. A child that throws or dies makes this throw
/// std::runtime_error with its message, after the others running have ended.
std::vector<std::string> in_processes(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                                      const std::function<void(std::size_t)>& progress = {});

}  // namespace lockstep::sim
