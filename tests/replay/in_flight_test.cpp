// Compute that is slowed by overlapping collectives.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "sim/point/point.hpp"
#include "sim/replay/in_flight.hpp"
#include "sim/schedule/program.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"
#include "tests/scenario/small_files.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;
using lockstep::tests::SmallFiles;

namespace {

const std::vector<std::string> kMethods{"messages", "fair flows", "max-plus", "closed form"};

// Both GPUs send each other what takes 3 ms: 2 us of links and 119.92 MB at 40 GB/s.
Plan three_ms() {
  return {"both ways", 2, 119'920'000, {{Transfers({{0, 1, 119'920'000}, {1, 0, 119'920'000}}), 1}}};
}

// Two iterations: forward 10 ms, backward 4 ms, a collective overlapped with `beside_s` of backward, a second one,
// update 2 ms. A collective has 1 ms of launch.
Program two_iterations(double beside_s, double slows) {
  Enqueue gpu(2, {"compute", "all-reduce"});
  const int plan = gpu.add_plan(three_ms());
  for (int i = 0; i < 2; ++i) {
    gpu.begin_iteration();
    gpu.compute(0, "forward", 10e-3, {});
    const int upper = gpu.compute(0, "backward", 4e-3, {});
    gpu.collective(1, "upper", plan, 1e-3, {upper});
    const int lower = gpu.compute(0, "backward", beside_s, {});
    const int reduced = gpu.collective(1, "lower", plan, 1e-3, {lower});
    gpu.end_iteration(gpu.compute(0, "update", 2e-3, {reduced}));
  }
  Program program = gpu.finish();
  for (Work& work : program.work)
    if (work.kind == Work::Kind::collective) work.slows = slows;
  return program;
}

// Ends of the first and the last iteration, compute and slowed time of the last.
std::vector<double> replay_by(const std::string& method, const Program& program) {
  return in_child([&] {
    Cluster cluster(tests::nvswitch_cluster(1, 2), 2);
    const Jitter even = [](int, int) { return 1.0; };
    Replay replay;
    ReplayOptions options;
    if (method == "closed form") replay = replay_analytic(program, cluster, 1);
    if (method == "messages") replay = replay_messages(program, cluster, even, options);
    if (method == "fair flows") replay = replay_flows(program, cluster, even, options);
    if (method == "max-plus" && !replay_max_plus(program, cluster, even, options, replay))
      throw std::runtime_error("max-plus: two flows share a link");
    if (name_of(replay.method) != method) throw std::runtime_error("replayed by " + name_of(replay.method));
    return std::vector<double>{replay.iteration_end_s.front(), replay.iteration_end_s.back(), replay.compute_s.back(),
                               replay.slowed_s.back()};
  });
}

Json overlapping_scenario() {
  Json scenario = tests::small_scenario();
  scenario["gpus"] = {1, 4};
  scenario["compute"]["rates"] = Json::parse(R"([{"batch": 16, "rate": "8000 images/s"}])");
  scenario["communication"] = Json::parse(R"({"all_reduce": "ring", "fusion_threshold": "0 B"})");
  return scenario;
}

double iteration_s(const SmallFiles& files, const std::string& fidelity, const tests::Settings& settings,
                   int gpus = 4) {
  const Scenario scenario = files.one(settings);
  PointRequest request;
  request.gpus = gpus;
  request.batch_per_gpu = 16;
  request.fidelity = choice_named<Fidelity>(fidelity, "fidelity");
  request.iterations = 4;
  return predict_points({{&scenario, request}}, 1).at(0).mean_iteration_s();
}

}  // namespace

TEST_CASE("compute of many GPUs at once takes the seconds of the law on each of them") {
  // A GPU that spends d of its seconds in the collective ends at start + (t - d / s) + d. 1,043 GPUs
  // fill blocks and groups, and leave a rest.
  constexpr int kGpus = 1043;
  constexpr double kSlows = 1.25;
  std::vector<double> starts_s, ends_s, factors, begins_s;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    starts_s.push_back(1 + 0.001 * (gpu % 700));
    ends_s.push_back(1.9);
    factors.push_back(1 + 0.01 * (gpu % 90));
    begins_s.push_back(0.5 + 0.0017 * (gpu % 1000));
  }
  InFlight in_flight;
  in_flight.add(starts_s, ends_s, kSlows);
  std::vector<double> times_s = begins_s;
  in_flight.advance(1, kGpus, 0.6, factors, times_s);
  CHECK(times_s[0] == begins_s[0]);
  for (int gpu = 1; gpu < kGpus; ++gpu) {
    const std::size_t i = static_cast<std::size_t>(gpu);
    const double overlap_s = std::max(0.0, std::min(times_s[i], ends_s[i]) - std::max(begins_s[i], starts_s[i]));
    CHECK(times_s[i] - begins_s[i] == Approx(0.6 * factors[i] - overlap_s / kSlows + overlap_s).epsilon(1e-12));
    CHECK(in_flight.end_s(gpu, begins_s[i], 0.6 * factors[i]) == Approx(times_s[i]).epsilon(1e-12));
  }
}

TEST_CASE("compute beside a collective takes longer by its slowdown, the rest of it does not") {
  // The upper layers are done at 14 ms. Their collective is launched until 15 ms and in flight until 18 ms. The lower
  // layers, 8 ms alone, get 1 ms done until 15 ms, 3 / 1.25 = 2.4 ms until 18 ms, and the other 4.6 ms alone: until
  // 22.6 ms. Launch, collective and update: 22.6 + 1 + 3 + 2 = 28.6 ms. Without slowdown: 14 + 8 + 6 = 28 ms.
  // Compute: 10 + 4 + 8.6 + 2 = 24.6 ms, 0.6 ms of it slowed.
  for (const std::string& method : kMethods) {
    INFO(method);
    const std::vector<double> slowed = replay_by(method, two_iterations(8e-3, 1.25));
    CHECK(slowed[0] == Approx(28.6e-3).epsilon(1e-9));
    CHECK(slowed[1] == Approx(57.2e-3).epsilon(1e-9));
    CHECK(slowed[2] == Approx(24.6e-3).epsilon(1e-9));
    CHECK(slowed[3] == Approx(0.6e-3).epsilon(1e-9));
    CHECK(replay_by(method, two_iterations(8e-3, 1))[1] == Approx(56e-3).epsilon(1e-9));
  }
}

TEST_CASE("compute that ends inside a collective takes longer by what it does there") {
  // 1.5 ms from 14 ms: 1 ms until 15 ms, then 0.5 x 1.25 = 0.625 ms: until 15.625 ms. The collective ends at 18 ms, the
  // next one, launched after it, at 22 ms, the iteration at 24 ms, as without slowdown.
  for (const std::string& method : kMethods) {
    INFO(method);
    const std::vector<double> slowed = replay_by(method, two_iterations(1.5e-3, 1.25));
    CHECK(slowed[0] == Approx(24e-3).epsilon(1e-9));
    CHECK(slowed[3] == Approx(0.125e-3).epsilon(1e-9));
  }
}

TEST_CASE("compute beside several collectives one after the other") {
  // In flight 1 to 2 s (2 times slower) and 2 to 4 s (4 times); 3 s of work from 0.5 s: 0.5 s alone, 0.5 s in the
  // first, 0.5 s in the second, 1.5 s after them: until 5.5 s.
  InFlight in_flight;
  in_flight.add({1, 1}, {2, 1}, 2);
  in_flight.add({2, 1}, {4, 1}, 4);
  CHECK(in_flight.end_s(0, 0.5, 3) == Approx(5.5));
  CHECK(in_flight.end_s(1, 0.5, 3) == 3.5);  // another GPU's
  CHECK(in_flight.end_s(0, 5.5, 1) == 6.5);  // over
  in_flight.forget_until(3.5);
  CHECK(in_flight.end_s(0, 3.5, 1) == Approx(4.875));  // 0.125 s in the second one, which is not over
  in_flight.forget_until(4);
  CHECK(in_flight.is_empty());
  in_flight.add({7, 7}, {8, 8}, 1);
  CHECK(in_flight.end_s(0, 6.5, 1) == 7.5);
}

TEST_CASE("the recurrence is exact only where what is in flight is known beforehand") {
  CHECK(knows_what_is_in_flight(two_iterations(8e-3, 1.25)));
  // A collective that may begin while compute enqueued before it goes on.
  Enqueue gpu(2, {"compute", "all-reduce"});
  const int plan = gpu.add_plan(three_ms());
  gpu.begin_iteration();
  const int last = gpu.compute(0, "compute", 10e-3, {});
  gpu.collective(1, "early", plan, 1e-3, {});
  gpu.end_iteration(last);
  Program program = gpu.finish();
  for (Work& work : program.work)
    if (work.kind == Work::Kind::collective) work.slows = 1.5;
  CHECK_FALSE(knows_what_is_in_flight(program));
  const bool is_replayed =
      in_child([&] {
        Cluster cluster(tests::nvswitch_cluster(1, 2), 2);
        Replay replay;
        const Jitter even = [](int, int) { return 1.0; };
        return std::vector<double>{replay_max_plus(program, cluster, even, {}, replay) ? 1.0 : 0.0};
      })[0] > 0;
  CHECK_FALSE(is_replayed);
  // 1 ms alone, 3 ms in which 2 ms get done, 7 ms alone.
  CHECK(replay_by("messages", program)[0] == Approx(11e-3).epsilon(1e-9));
}

TEST_CASE("law: overlapped collectives cost something, but no more than if all compute were slowed") {
  for (const std::string algorithm : {"s-sgd", "sharded"}) {
    SmallFiles files(overlapping_scenario());
    files.scenario["algorithm"] = algorithm;
    std::map<std::string, double> slowed_s;
    for (const std::string fidelity : {"message", "fast", "analytic"}) {
      INFO(algorithm << ", " << fidelity);
      const double without_s = iteration_s(files, fidelity, {});
      slowed_s[fidelity] = iteration_s(files, fidelity, {{"/compute/overlap_slowdown", "1.5"}});
      CHECK(slowed_s[fidelity] > without_s * 1.001);
      // 8000 images/s / 1.5
      CHECK(slowed_s[fidelity] < iteration_s(files, fidelity, {{"/compute/rates/0/rate", "5333.333 images/s"}}));
      CHECK(iteration_s(files, fidelity, {{"/compute/overlap_slowdown", "2"}}) > slowed_s[fidelity]);
      CHECK(iteration_s(files, fidelity, {{"/compute/overlap_slowdown", "1"}}) == without_s);
      if (algorithm == "s-sgd")
        CHECK(iteration_s(files, fidelity, {{"/compute/overlap_slowdown", "2"}}, 1) ==
              iteration_s(files, fidelity, {}, 1));  // one GPU has nobody to reduce with
    }
    CHECK(slowed_s["fast"] == Approx(slowed_s["message"]).epsilon(1e-6));
    CHECK(slowed_s["analytic"] == Approx(slowed_s["message"]).epsilon(0.02));
  }
}

TEST_CASE("what is reduced after the computation slows nothing") {
  SmallFiles files(overlapping_scenario());
  files.scenario["communication"]["overlap"] = false;
  for (const std::string fidelity : {"message", "fast", "analytic"})
    CHECK(iteration_s(files, fidelity, {{"/compute/overlap_slowdown", "1.5"}}) ==
          Approx(iteration_s(files, fidelity, {})).epsilon(1e-9));
}
