#include <utility>

#include "sim/plan/workers.hpp"

namespace lockstep::sim::plan {
namespace {

// Runs each chunk when it is started. wait() then returns its outcomes.
class InProcessWorkers : public Workers {
 public:
  explicit InProcessWorkers(RunTask run) : run_(std::move(run)) {}
  int slots() const override { return 1; }
  int free_slots() const override { return events_.empty() ? 1 : 0; }

  void start(const Chunk& chunk) override {
    std::size_t done = 0;
    for (const std::string& task : chunk.tasks) {
      std::string outcome;
      if (!run_(task, done == 0, outcome)) break;
      events_.push_back({chunk.id, done++, false, outcome});
    }
    events_.push_back({chunk.id, done, true, ""});
  }

  std::vector<WorkerEvent> wait(int) override { return std::exchange(events_, {}); }

 private:
  RunTask run_;
  std::vector<WorkerEvent> events_;
};

}  // namespace

std::unique_ptr<Workers> in_process_workers(RunTask run) {
  return std::make_unique<InProcessWorkers>(std::move(run));
}

}  // namespace lockstep::sim::plan
