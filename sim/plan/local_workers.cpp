#include <map>

#include "engine/base/process_pool.hpp"
#include "sim/plan/workers.hpp"

namespace lockstep::sim::plan {
namespace {

// A child process sends the outcome of each finished task. If it cannot run the next task, it ends early.
class LocalWorkers : public Workers {
 public:
  LocalWorkers(int jobs, RunTask run) : pool_(jobs), run_(std::move(run)) {}
  int slots() const override { return pool_.jobs(); }
  int free_slots() const override { return pool_.free(); }

  void start(const Chunk& chunk) override {
    const int process = pool_.start([&](const ToParent& parent) {
      for (std::size_t i = 0; i < chunk.tasks.size(); ++i) {
        std::string outcome;
        if (!run_(chunk.tasks[i], i == 0, outcome)) break;
        parent.send(outcome);
      }
    });
    running_[process] = {chunk.id, 0};
  }

  std::vector<WorkerEvent> wait(int timeout_ms) override {
    std::vector<WorkerEvent> events;
    for (const ProcessEvent& event : pool_.wait(timeout_ms)) {
      Running& running = running_.at(event.process);
      events.push_back({running.chunk, running.done, event.is_end, event.text});
      if (event.is_end)
        running_.erase(event.process);
      else
        ++running.done;
    }
    return events;
  }

 private:
  struct Running {
    int chunk;
    std::size_t done;  // number of finished tasks
  };

  ProcessPool pool_;
  RunTask run_;
  std::map<int, Running> running_;
};

}  // namespace

std::unique_ptr<Workers> local_workers(int jobs, RunTask run) {
  return std::make_unique<LocalWorkers>(jobs, std::move(run));
}

}  // namespace lockstep::sim::plan
