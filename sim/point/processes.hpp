#pragma once
// One process per simulation: SimGrid's engine lives once per process, and a crash loses one point, not the run.
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace lockstep::sim {

struct ForkedProcess {
  pid_t pid;
  int fd;  ///< what the child writes is read here
};

/// Runs `body(fd)` in a forked child, which then ends without destructors and atexit handlers. Throws
/// std::runtime_error where no process can be had.
ForkedProcess start_process(const std::function<void(int fd)>& body);

/// In a child: the whole text, or the end of the process where nobody reads any more.
void write_all(int fd, const std::string& text);

/// Runs `work(i)` for i in [0, count) in a forked child each, at most `jobs` at a time, and returns what each gave, in
/// order. `progress(done)` is called in this process as they finish. A child that throws or dies makes this throw
/// std::runtime_error with its message, after the others running have ended.
std::vector<std::string> in_processes(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                                      const std::function<void(std::size_t)>& progress = {});

}  // namespace lockstep::sim
