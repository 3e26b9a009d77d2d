// Measures whole predictions: platform, costs, schedule and replay, each in a process of its own as in simulate. Peak
// memory (peak_MB) is that of the largest process so far, so read it from runs of a single benchmark:
//   build/bench_simulate --benchmark_filter=resnet50_iteration_2048_message
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "engine/base/process_pool.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/replay/simgrid_module.hpp"
#include "sim/report/result.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::sim;

const std::string kScenarios = LOCKSTEP_SOURCE_DIR "/scenarios/";

double peak_mb(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Runs `work` in a child process per benchmark iteration.
void in_children(benchmark::State& state, const std::function<void()>& work) {
  for (auto _ : state) {
    in_processes(1, 1, [&](std::size_t) {
      work();
      return std::string("done");
    });
  }
  state.counters["peak_MB"] = peak_mb(RUSAGE_CHILDREN);
}

// Chooses as predict_point() does for messages: in both benchmarks, every GPU sends one message at a time.
void choose_flow_updates(bool by_messages) {
  if (by_messages) set_flow_updates(FlowUpdates::changed);
}

Scenario imagenet(const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  return load_scenario(kScenarios + "imagenet_64k.json", settings).variants.front();
}

// Runs the scenario file as `simulate` does: 8 to 2048 GPUs, 10 iterations each, two processes at a time.
void whole_scenario(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(predict(load_scenario(kScenarios + "imagenet_64k.json", {}), 2, {}));
  state.counters["peak_MB"] = peak_mb(RUSAGE_CHILDREN);
}
BENCHMARK(whole_scenario)->Unit(benchmark::kMillisecond)->UseRealTime();

// Simulates one iteration of ResNet-50 on 2048 GPUs: hierarchical, fused, overlapped, 5 % jitter.
void resnet50_iteration(benchmark::State& state, bool by_messages) {
  const Scenario scenario = imagenet({{"/compute/jitter/coefficient_of_variation", "0.05"}});
  in_children(state, [&] {
    choose_flow_updates(by_messages);
    Cluster cluster(scenario.cluster, 2048);
    apply_overheads(scenario, cluster);
    const Program program = build_program(scenario, 2048, 32, 1);
    Replay replay;
    if (by_messages)
      replay = replay_messages(program, cluster, jitter_of(scenario, 1));
    else if (!replay_max_plus(program, cluster, jitter_of(scenario, 1), {}, replay))
      throw std::runtime_error("max-plus declined");
  });
}
BENCHMARK_CAPTURE(resnet50_iteration, 2048_fast, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(resnet50_iteration, 2048_message, true)->Unit(benchmark::kMillisecond)->UseRealTime();

// Simulates one flat ring all-reduce of 100 MB.
void flat_ring(benchmark::State& state, bool by_messages) {
  const int gpus = static_cast<int>(state.range(0));
  const Scenario scenario = imagenet();
  in_children(state, [&] {
    choose_flow_updates(by_messages);
    Cluster cluster(scenario.cluster, gpus);
    apply_overheads(scenario, cluster);
    const Plan plan = ring_all_reduce(gpus, 100'000'000);
    std::vector<double> times(static_cast<std::size_t>(gpus), 0.0);
    if (by_messages)
      plan_by_messages(plan, cluster, times);
    else if (!plan_by_max_plus(plan, cluster, times))
      throw std::runtime_error("max-plus declined");
  });
}
BENCHMARK_CAPTURE(flat_ring, fast, false)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(2048)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(flat_ring, message, true)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(2048)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Simulates one iteration of ResNet-50 on 1024 GPUs, with a flat ring for each of its 161 tensors and 0.2 %
// jitter.
void unfused_ring_1024_fast(benchmark::State& state) {
  const Scenario scenario = load_scenario(kScenarios + "imagenet_64k_ring.json", {}).variants.front();
  in_children(state, [&] {
    Cluster cluster(scenario.cluster, 1024);
    apply_overheads(scenario, cluster);
    Replay replay;
    if (!replay_max_plus(build_program(scenario, 1024, 64, 1), cluster, jitter_of(scenario, 1), {}, replay))
      throw std::runtime_error("max-plus declined");
  });
}
BENCHMARK(unfused_ring_1024_fast)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
