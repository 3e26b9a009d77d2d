#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "sim/plan/workers.hpp"
#include "sim/point/processes.hpp"

namespace lockstep::sim {
namespace {

// A child writes one line per task that it has done: the outcome. It ends early where it cannot run the next.
struct Child {
  pid_t pid;
  int fd;
  int chunk;
  std::size_t done;
  std::string partial;  // of a line
};

void run_child(int fd, const Chunk& chunk, const RunTask& run) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a run that is killed leaves no simulation behind
  for (std::size_t i = 0; i < chunk.tasks.size(); ++i) {
    std::string outcome;
    if (!run(chunk.tasks[i], i == 0, outcome)) break;
    write_all(fd, outcome + "\n");
  }
}

class LocalWorkers : public Workers {
 public:
  LocalWorkers(int jobs, RunTask run) : jobs_(jobs), run_(std::move(run)) {}
  ~LocalWorkers() override {
    for (const Child& child : children_) {
      kill(child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
      close(child.fd);
    }
  }
  int slots() const override { return jobs_; }
  int free_slots() const override { return jobs_ - static_cast<int>(children_.size()); }

  void start(const Chunk& chunk) override {
    const ForkedProcess process = start_process([&](int fd) { run_child(fd, chunk, run_); });
    children_.push_back({process.pid, process.fd, chunk.id, 0, {}});
  }

  std::vector<WorkerEvent> wait(int timeout_ms) override {
    std::vector<WorkerEvent> events;
    std::vector<pollfd> waiting;
    for (const Child& child : children_) waiting.push_back({child.fd, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), timeout_ms) <= 0) return events;
    for (std::size_t i = waiting.size(); i-- > 0;) {
      if (waiting[i].revents == 0 || !drain(children_[i], events)) continue;
      events.push_back(reap(children_[i]));
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return events;
  }

 private:
  // Reads what is there, an event per whole line; true when the child has closed its end.
  static bool drain(Child& child, std::vector<WorkerEvent>& events) {
    char buffer[1 << 16];
    const ssize_t n = read(child.fd, buffer, sizeof buffer);
    if (n < 0) return errno != EINTR;
    if (n == 0) return true;
    child.partial.append(buffer, static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end = child.partial.find('\n'); end != std::string::npos; end = child.partial.find('\n', begin)) {
      events.push_back({child.chunk, child.done++, false, child.partial.substr(begin, end - begin)});
      begin = end + 1;
    }
    child.partial.erase(0, begin);
    return false;
  }

  static WorkerEvent reap(const Child& child) {
    close(child.fd);
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    WorkerEvent event{child.chunk, child.done, true, {}};
    if (WIFSIGNALED(status))
      event.outcome = "its process was ended by signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
      event.outcome = "its process ended with status " + std::to_string(WEXITSTATUS(status));
    return event;
  }

  int jobs_;
  RunTask run_;
  std::vector<Child> children_;
};

}  // namespace

std::unique_ptr<Workers> local_workers(int jobs, RunTask run) {
  return std::make_unique<LocalWorkers>(std::max(1, jobs), std::move(run));
}

}  // namespace lockstep::sim
