#include "sim/plan/evaluation.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <stdexcept>

#include "engine/base/progress_line.hpp"
#include "sim/plan/evaluate.hpp"
#include "sim/point/point_cache.hpp"

namespace lockstep::sim::plan {
namespace {

// A process caches work that its tasks share, so neighbouring tasks go to one process if all slots have enough. Chunks
// become smaller towards the end, so that no slot waits long for the last one.
constexpr std::size_t kSmallestChunk = 8, kLargestChunk = 8192;
constexpr std::size_t kChunksPerSlot = 3;  // number into which the remaining tasks are divided
constexpr int kAttempts = 2;               // a process may die for another reason than its task

// Divides the tasks of one run into chunks. A task that simulates messages is a chunk of its own.
class Queue {
 public:
  Queue(std::vector<Task> tasks, int slots) : tasks_(std::move(tasks)) {
    attempts_.assign(tasks_.size(), 0);
    std::vector<std::size_t> together;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (needs_own_process(tasks_[i]))
        chunks_.push_back({i});
      else
        together.push_back(i);
    }
    add_chunks(together, slots);
  }

  const Task& task(std::size_t i) const { return tasks_[i]; }
  bool is_empty() const { return chunks_.empty(); }
  std::vector<std::size_t> next() {
    std::vector<std::size_t> chunk = std::move(chunks_.front());
    chunks_.pop_front();
    return chunk;
  }
  // Puts back unfinished tasks of a process. The first one may have killed the process, so it runs alone. Returns true
  // if it was tried often enough.
  bool put_back(const std::vector<std::size_t>& left, bool has_died) {
    const bool gives_up = has_died && ++attempts_[left.front()] >= kAttempts;
    if (left.size() > 1) chunks_.emplace_front(left.begin() + 1, left.end());
    if (!gives_up) chunks_.push_front({left.front()});
    return gives_up;
  }

 private:
  void add_chunks(const std::vector<std::size_t>& batch, int slots) {
    const std::size_t parts = static_cast<std::size_t>(std::max(1, slots)) * kChunksPerSlot;
    for (std::size_t from = 0; from < batch.size();) {
      const std::size_t left = batch.size() - from;
      const std::size_t until = from + std::min(left, std::clamp(left / parts, kSmallestChunk, kLargestChunk));
      chunks_.emplace_back(batch.begin() + static_cast<std::ptrdiff_t>(from),
                           batch.begin() + static_cast<std::ptrdiff_t>(until));
      from = until;
    }
  }

  std::vector<Task> tasks_;
  std::vector<int> attempts_;
  std::deque<std::vector<std::size_t>> chunks_;
};

Outcome death(const std::string& why) {
  Outcome outcome;
  outcome.status = "failed";
  outcome.why = why;
  return outcome;
}

}  // namespace

Evaluation::Evaluation(const PlanSpec& plan, Workers& workers, Journal& journal)
    : plan_(plan), workers_(workers), journal_(journal), outcomes_(std::make_shared<Outcomes>(journal.folder())) {}

void Evaluation::run(const std::vector<Task>& tasks, const std::string& what,
                     const std::function<void(const Task&, const Outcome&)>& finished) {
  std::vector<Task> left;
  std::set<std::string> waiting;  // so that a task that is requested twice runs once
  for (const Task& task : tasks) {
    const std::string key = task.key();
    if (outcomes_->count(key) > 0) continue;
    if (journal_.kept().count(key) > 0) {
      outcomes_->set(key, journal_.kept().at(key));
      ++resumed_;
    } else if (waiting.insert(key).second) {
      left.push_back(task);
    }
  }
  ProgressLine progress(what, left.size());
  Queue queue(std::move(left), workers_.slots());
  std::map<int, std::vector<std::size_t>> running;
  const auto finish = [&](std::size_t task, const Outcome& outcome) {
    const std::string key = queue.task(task).key();
    journal_.add(key, outcome);
    outcomes_->set(key, outcome);
    ++simulated_;
    progress.advance();
    if (finished) finished(queue.task(task), outcome);
  };
  while (!queue.is_empty() || !running.empty()) {
    while (!queue.is_empty() && workers_.free_slots() > 0) {
      const std::vector<std::size_t> chunk = queue.next();
      Chunk sent{next_chunk_++, {}};
      for (std::size_t task : chunk) sent.tasks.push_back(queue.task(task).bytes());
      workers_.start(sent);
      running[sent.id] = chunk;
    }
    if (running.empty()) throw std::runtime_error("no worker process is left");
    for (const WorkerEvent& event : workers_.wait(1000)) {
      const auto chunk = running.find(event.chunk);
      if (chunk == running.end()) continue;
      if (!event.is_end) {
        finish(chunk->second.at(event.task), Outcome::from_bytes(event.outcome));
        continue;
      }
      const std::vector<std::size_t> rest(chunk->second.begin() + static_cast<std::ptrdiff_t>(event.task),
                                          chunk->second.end());
      running.erase(chunk);
      if (!rest.empty() && queue.put_back(rest, !event.outcome.empty())) finish(rest.front(), death(event.outcome));
    }
  }
  journal_.flush();
}

RunTask plan_runner(const PlanSpec& plan) {
  return [&plan, series = std::make_shared<ScenarioSeries>(*plan.scenario), cache = std::make_shared<PointCache>()](
             const std::string& bytes, bool is_first, std::string& outcome) {
    const Task task = Task::from_bytes(bytes);
    if (needs_own_process(task) && !is_first) return false;
    outcome = evaluate(plan, task, *series, cache.get()).bytes();
    return true;
  };
}

}  // namespace lockstep::sim::plan
