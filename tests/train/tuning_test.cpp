// When the auto-tuner is called, with which inputs, and what a run does with its answer.
#include "engine/train/tuning.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

/// Threads as processes: sum() waits for all of them.
class Meeting {
 public:
  explicit Meeting(int count) : count_(count) {}
  int count() const { return count_; }
  int sums() const { return round_; }

  void sum(std::int64_t n, double* x) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (here_ == 0) total_.assign(static_cast<std::size_t>(n), 0);
    for (std::size_t i = 0; i < total_.size(); ++i) total_[i] += x[i];
    if (++here_ == count_) {
      here_ = 0;
      result_ = total_;
      ++round_;
      all_here_.notify_all();
    } else {
      all_here_.wait(lock, [this, round = round_] { return round_ != round; });
    }
    std::copy(result_.begin(), result_.end(), x);  // stays until all have called again
  }

 private:
  int count_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<double> total_, result_;
  int here_ = 0;
  int round_ = 0;
};

class ThreadProcess final : public sync::Processes {
 public:
  ThreadProcess(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int count() const override { return meeting_.count(); }
  int rank() const override { return rank_; }
  void sum(std::int64_t n, double* x) override { meeting_.sum(n, x); }

 private:
  Meeting& meeting_;
  int rank_;
};

bool has_room(int /*gpu*/) {
  return true;
}

/// Learners after each change on a GPU whose batches a second are `throughput[learners - 1]`, as a process decides that
/// sees all times stretched by `stretch`; and the throughput it saw last.
std::pair<std::vector<int>, double> tuned(sync::Processes& processes, const std::vector<double>& throughput,
                                          double stretch, int most = 100) {
  Tuning tuning(2, processes);
  std::vector<int> learners;
  double train_s = 0;
  for (std::int64_t iteration = 1; iteration <= 4000; ++iteration) {
    const int now = tuning.state_of(0).learners;
    train_s += stretch * now / throughput.at(static_cast<std::size_t>(now - 1));
    for (const int gpu :
         tuning.decide(iteration, train_s, [&](int of) { return tuning.state_of(of).learners < most; })) {
      if (gpu == 0) learners.push_back(tuning.state_of(0).learners);
    }
  }
  return {learners, tuning.state_of(1).throughput};
}

}  // namespace

TEST_CASE("A decision rests on enough iterations and seconds, counted from the last one") {
  sync::Processes alone;
  Tuning tuning(1, alone);
  tuning.observe_from(7, 100);
  CHECK(tuning.decide(7, 100, has_room).empty());     // no iteration yet
  CHECK(tuning.decide(26, 103, has_room).empty());    // 19 iterations
  CHECK(tuning.decide(27, 101.9, has_room).empty());  // 20 in 1.9 s
  CHECK(tuning.decide(46, 104, has_room).empty());    // 39: not asked
  // 40 iterations of one learner took 5 s: 8 batches per second.
  CHECK(tuning.decide(47, 105, has_room) == std::vector<int>{0});
  CHECK(tuning.state_of(0).throughput == Approx(8));
  CHECK(tuning.state_of(0).learners == 2);
  CHECK(tuning.decide(66, 111, has_room).empty());
  // 20 iterations of two learners took 10 s: 4 per second.
  CHECK(tuning.decide(67, 115, has_room) == std::vector<int>{0});
  CHECK(tuning.state_of(0).throughput == Approx(4));
  CHECK(tuning.state_of(0).learners == 1);
}

// 3 processes run. One of them measures all times 10 % longer: 210 / 1.1 for all.
TEST_CASE("Processes that measure differently decide alike, by the longest time") {
  const std::vector<double> throughput{100, 180, 240, 210, 100};
  Meeting meeting(3);
  std::vector<std::pair<std::vector<int>, double>> results(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadProcess process(meeting, rank);
      results[static_cast<std::size_t>(rank)] = tuned(process, throughput, rank == 1 ? 1.1 : 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& [learners, seen] : results) {
    CHECK(learners == std::vector<int>{2, 3, 4, 3});
    CHECK(seen == results.front().second);
    CHECK(seen == Approx(240 / 1.1));
  }
  CHECK(meeting.sums() <= 3 * 4000 / 20);  // not in every iteration: a time, and of each of two GPUs whether it is full
}

TEST_CASE("No process adds a learner that does not fit on the GPU of one of them") {
  const std::vector<double> throughput{100, 180, 240, 300, 360};
  sync::Processes alone;
  CHECK(tuned(alone, throughput, 1, 3).first == std::vector<int>{2, 3});
  Meeting meeting(2);
  std::vector<std::pair<std::vector<int>, double>> results(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadProcess process(meeting, rank);
      results[static_cast<std::size_t>(rank)] = tuned(process, throughput, 1, rank == 1 ? 2 : 4);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) CHECK(result.first == std::vector<int>{2});
}

TEST_CASE("The number of learners of a checkpoint is that of its tuner") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "sma");
  r.of_algorithm["--auto-tune"] = "";
  r.epochs = 1'000'000;
  r.train_images = 10'000;
  r.max_minutes = 3.0 / 60;  // beyond the first decision, which always adds a learner
  r.checkpoint = folder.path("state");
  run(r);
  const Json state = Checkpoint(r.checkpoint).facts().at("numbers");
  CHECK(state.at("tuner/0/learners").get<int>() >= 2);
  CHECK(state.at("learners") == state.at("tuner/0/learners"));
  r.resume = true;
  r.max_minutes = 1e-6;
  const Json resumed = run(r);
  CHECK(resumed.at("resumed") == 1);
  CHECK(Checkpoint(r.checkpoint).facts().at("numbers").at("learners") == state.at("learners"));
}

TEST_CASE("Decisions of a record are made again after the same iterations, once each") {
  sync::Processes alone;
  Tuning tuning(2, alone, {{3, 0, 2}, {3, 1, 2}, {5, 0, 1}});
  tuning.observe_from(0, 0);
  CHECK(tuning.decide(2, 100, has_room).empty());
  CHECK(tuning.decide(3, 100, has_room) == std::vector<int>{0, 1});
  CHECK(tuning.state_of(0).change == 1);
  CHECK(tuning.decide(3, 100, has_room).empty());  // for a dropped iteration
  CHECK(tuning.decide(5, 100, has_room) == std::vector<int>{0});
  CHECK(tuning.state_of(0).learners == 1);
  CHECK(tuning.state_of(0).change == -1);
  CHECK(tuning.state_of(1).learners == 2);
}

TEST_CASE("A run tuned as a record says trains the same bits, also after a pause, and is what it says again") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "sma");
  r.epochs = 3;
  const std::string record =
      folder.write("tuned.json", R"({"schema": "lockstep/run/1", "options": {"gpus": 1}, "tuned": [
        {"iteration": 20, "gpu": 0, "learners": 2}, {"iteration": 40, "gpu": 0, "learners": 3},
        {"iteration": 60, "gpu": 0, "learners": 2}]})");
  r.of_algorithm["--auto-tune-from"] = record;
  const Json whole = run(r);
  CHECK(whole.at("tuned") == Json::parse(tests::slurp(record)).at("tuned"));
  CHECK(whole.at("epochs").back().at("learners") == 2);
  r.threads = 3;
  CHECK(numbers(run(r)) == numbers(whole));
  const std::string again = folder.write("again.json", whole.dump());
  r.of_algorithm["--auto-tune-from"] = again;
  CHECK(numbers(run(r)) == numbers(whole));
  r.checkpoint = folder.path("state");
  r.resume = true;
  for (const double minutes : {1e-6, 1e-3, 10.0}) {
    r.max_minutes = minutes;
    const Json part = run(r);
    if (part.at("status") == "epochs done") CHECK(numbers(part) == numbers(whole));
  }
}

TEST_CASE("A record without the auto-tuner's decisions, or of other GPUs, is refused") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& options, const std::string& tuned) {
    const std::string path = folder.write("r.json", R"({"schema": "lockstep/run/1", "options": )" + options +
                                                        (tuned.empty() ? "" : ", \"tuned\": " + tuned) + "}");
    try {
      decisions_of_record(path, 1);
    } catch (const InputError& error) {
      return std::string(error.what()).substr(path.size());
    }
    return std::string();
  };
  const std::string one = R"({"gpus": 1})";
  CHECK(refusal(one, "[]").empty());
  CHECK(refusal(one, "").find("missing key \"tuned\"") != std::string::npos);
  CHECK(refusal(R"({"gpus": 2})", "[]").find(": /options/gpus: is not --gpus 1") == 0);
  CHECK(refusal(one, R"([{"iteration": 20, "gpu": 1, "learners": 2}])").find(": /tuned/0/gpu: ") == 0);
  CHECK(refusal(one, R"([{"iteration": 20, "gpu": 0, "learners": 3}])") ==
        ": /tuned/0/learners: follows 1 learners; allowed: one more or one less");
  CHECK(refusal(one, R"([{"iteration": 20, "gpu": 0, "learners": 2}, {"iteration": 10, "gpu": 0, "learners": 3}])") ==
        ": /tuned/1/iteration: comes before the one above it");
}

}  // namespace lockstep::train
