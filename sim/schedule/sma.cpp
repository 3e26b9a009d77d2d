#include "sim/schedule/sma.hpp"

namespace lockstep::sim::schedule {

double SmaCost::learning_s() const {
  double sum = 0;
  for (const LearningStep& step : learning) sum += step.seconds;
  return sum;
}

double SmaCost::fill() const {
  double filled_s = 0;
  for (const LearningStep& step : learning) filled_s += step.seconds * step.fill;
  return learning_s() > 0 ? filled_s / learning_s() : 1;
}

namespace {

enum SmaStream { kSynchronisation = kCompute, kScheduler, kFirstLearner };  // learners compute on their own streams

std::vector<std::string> streams_of(int learners) {
  std::vector<std::string> streams{"input", "copy", "synchronisation", "scheduler"};
  for (int j = 0; j < learners; ++j) streams.push_back("learner " + std::to_string(j));
  return streams;
}

class SmaProgram {
 public:
  SmaProgram(const SmaCost& cost, const SmaOptions& options, const AllReduce& all_reduce)
      : cost_(cost),
        options_(without_overlap_by_host(options)),
        gpu_(options.gpus, streams_of(options.learners)),
        learned_(static_cast<std::size_t>(options.learners)),
        local_(static_cast<std::size_t>(options.learners), -1) {
    gpu_.share_gpu(options.learners);
    if (options.gpus == 1 || options.tau == 0) return;
    plan_ = gpu_.add_plan(all_reduce(options.gpus, cost.wire_bytes));
    if (options.by_host) turns_ = gpu_.add_plan(turns_of_all_gpus());
  }

  Program run() {
    for (int t = 0; t < options_.iterations; ++t) {
      gpu_.begin_iteration();
      for (int j = 0; j < options_.learners; ++j) learn(t, j);
      for (int j = 0; j < options_.learners; ++j) synchronise_locally(t, j);
      gpu_.end_iteration(gpu_.host(kScheduler, "iteration", 0, local_));
      if (!options_.synchronises(t)) continue;
      if (options_.by_host) form_differences();
      synchronise_globally();
      if (options_.by_host) average_ = gpu_.host(kScheduler, "host waits", options_.host_wait_s, {average_});
    }
    return gpu_.finish();
  }

 private:
  static int stream_of(int learner) { return kFirstLearner + learner; }

  void learn(int t, int j) {
    if (options_.round_robin) {
      std::vector<int> turn;
      if (issued_ >= 0) turn.push_back(issued_);
      issued_ = gpu_.host(stream_of(j), "issue", 0, turn);
    }
    std::vector<int> after = input(t, j);
    if (!options_.overlap && average_ >= 0) after.push_back(average_);
    int last = -1;
    for (const LearningStep& step : cost_.learning) {
      last = gpu_.share(stream_of(j), step.name, step.seconds, step.fill, j, after);
      after.clear();
    }
    learned_[static_cast<std::size_t>(j)].push_back(last);
  }

  // Enqueues the learner's input batch. Loading starts when the buffer of the batch `prefetch` tasks ago is free.
  std::vector<int> input(int t, int j) {
    if (options_.is_free()) return {};
    const std::vector<int>& learned = learned_[static_cast<std::size_t>(j)];
    std::vector<int> buffer_free;
    if (t >= options_.prefetch) buffer_free.push_back(learned[static_cast<std::size_t>(t - options_.prefetch)]);
    return {enqueue_batch(gpu_, options_, "pre-process", kInput, kCopy, buffer_free)};
  }

  void synchronise_locally(int t, int j) {
    int& local = local_[static_cast<std::size_t>(j)];
    if (!options_.synchronises(t) || options_.by_host) {
      local = gpu_.share(stream_of(j), "update", cost_.update.seconds, cost_.update.fill, j, {});
      return;
    }
    std::vector<int> after;
    if (average_ >= 0) after.push_back(average_);
    local = gpu_.share(stream_of(j), "local synchronisation", cost_.local.seconds, cost_.local.fill, j, after);
  }

  void synchronise_globally() {
    const int all = options_.learners;  // draw of the synchronisation stream
    if (!options_.by_host)
      average_ = gpu_.share(kSynchronisation, "aggregate", cost_.aggregate.seconds, cost_.aggregate.fill, all, local_);
    if (plan_ >= 0)
      average_ = gpu_.collective(kSynchronisation, "all-reduce differences", plan_, options_.launch_s, {});
    average_ = gpu_.share(kSynchronisation, "average model", cost_.average.seconds, cost_.average.fill, all, {});
  }

  // Returns the time from the end of all learning to the last GPU's turn. All GPUs have the same program, so each waits
  // as long as the last one.
  double until_last_turn_s() const {
    return options_.host_wait_s + (options_.gpus - 1) * (cost_.differences.seconds + options_.host_wait_s);
  }
  Plan turns_of_all_gpus() const {
    Plan plan{"host", options_.gpus, 0, {ring_phase(0, 1, options_.gpus, 1, 1, false)}};
    plan.call = CallTime{until_last_turn_s(), 1e-9};
    return plan;
  }
  void form_differences() {
    const int turn = turns_ >= 0 ? gpu_.collective(kScheduler, "host: GPUs in turn", turns_, 0, local_)
                                 : gpu_.host(kScheduler, "host waits", until_last_turn_s(), local_);
    const int formed = gpu_.share(kSynchronisation, "differences", cost_.differences.seconds, cost_.differences.fill,
                                  options_.learners, {turn});
    gpu_.host(kSynchronisation, "host waits", options_.host_wait_s, {formed});
  }

  static SmaOptions without_overlap_by_host(SmaOptions options) {
    options.overlap = options.overlap && !options.by_host;
    return options;
  }

  const SmaCost& cost_;
  const SmaOptions options_;
  Enqueue gpu_;
  int plan_ = -1;
  int turns_ = -1;                         // index of the plan in which all GPUs wait for the host
  int average_ = -1;                       // last update of the average model
  int issued_ = -1;                        // last task that was handed out in turn
  std::vector<std::vector<int>> learned_;  // by learner, then by iteration
  std::vector<int> local_;                 // last local synchronisation or update, by learner
};

}  // namespace

Program sma(const SmaCost& cost, const SmaOptions& options, const AllReduce& all_reduce) {
  return SmaProgram(cost, options, all_reduce).run();
}

}  // namespace lockstep::sim::schedule
