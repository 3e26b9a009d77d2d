// Splits in scenario files are read as written. A split that does not fit is refused, and one that fits is named.
#include "sim/program/gpu_memory.hpp"
#include "sim/program/split_fits.hpp"
#include "sim/report/result.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {
namespace {

std::string error_of(const Json& scenario) {
  try {
    SmallFiles(scenario, switched_cluster()).load();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string error_of(const Json& parallel, int gpus) {
  return error_of(split_scenario(parallel, {gpus}));
}

}  // namespace

TEST_CASE("a split that is written reads as the same and is predicted alike") {
  const Json parallel{{"tensor", 2},         {"sequence", true},          {"pipeline", 2},
                      {"virtual_stages", 2}, {"schedule", "interleaved"}, {"sharding", "zero1"},
                      {"global_batch", 32},  {"recompute", "selective"},  {"micro_batch", 2}};
  const sim::Scenario scenario = split_of(parallel, 16);
  SmallFiles again(sim::to_json(scenario), switched_cluster());
  const sim::Scenario read = again.one();
  CHECK(sim::to_json(read) == sim::to_json(scenario));
  CHECK(predicted(read).mean_iteration_s() == Approx(predicted(scenario).mean_iteration_s()).epsilon(1e-9));
  CHECK(predicted(read).samples_per_iteration == 32);
}

TEST_CASE("batches of a split: one of two ways, and none beside it") {
  CHECK_THAT(error_of({{"tensor", 2}}, 8), Contains("neither or both of global_batch and micro_batches"));
  CHECK_THAT(error_of({{"tensor", 2}, {"global_batch", 30}}, 16),
             Contains("/parallel/micro_batch") && Contains("allowed: multiples of 8"));
  CHECK_THAT(error_of({{"pipeline", 2}, {"virtual_stages", 2}, {"schedule", "interleaved"}, {"micro_batches", 3}}, 4),
             Contains("allowed: micro-batches in multiples of 2"));
  CHECK_THAT(error_of({{"tensor", 3}, {"micro_batches", 1}}, 8), Contains("allowed: multiples of 3 GPUs"));
  Json beside = split_scenario({{"tensor", 2}, {"micro_batches", 1}}, {8});
  beside["batch_per_gpu"] = 4;
  CHECK_THAT(error_of(beside), Contains("/batch_per_gpu") && Contains("allowed: /parallel/global_batch"));
  Json without = split_scenario({{"tensor", 2}, {"micro_batches", 1}}, {8});
  without.erase("parallel");
  CHECK_THAT(error_of(without), Contains("batch_per_gpu"));
}

TEST_CASE("what a split's prediction leaves out is refused") {
  Json scenario = split_scenario({{"tensor", 2}, {"micro_batches", 1}}, {8});
  const auto with = [&](const char* pointer, const Json& value) {
    Json changed = scenario;
    changed[Json::json_pointer(pointer)] = value;
    return error_of(changed);
  };
  CHECK(error_of(scenario).empty());
  Json heads = split_scenario({{"tensor", 3}, {"micro_batches", 1}}, {12});
  const SmallFiles files(heads, switched_cluster());
  CHECK_THROWS_WITH(sim::check_memory(files.load(), "scenario.json"),
                    "scenario.json: /parallel/tensor: 8 heads are not divided by 3; allowed: divisors of 8");
  CHECK_THAT(with("/algorithm", "local-sgd"), Contains("/algorithm") && Contains("allowed: s-sgd"));
  CHECK_THAT(with("/model", "resnet50"), Contains("/model") && Contains("--list-models"));
  CHECK_THAT(with("/communication/all_reduce", "tree"), Contains("allowed: ring, nccl"));
  CHECK_THAT(with("/communication/accumulation", 2), Contains("allowed: 1"));
  CHECK(with("/parallel/offload_optimizer", true).empty());
}

TEST_CASE("a split that does not fit is refused with changes that make it fit") {
  Json cluster = switched_cluster();
  cluster["gpu"]["memory"] = "3 GB";
  Json scenario = split_scenario({{"tensor", 2}, {"micro_batches", 1}, {"micro_batch", 64}}, {16});
  const SmallFiles files(scenario, cluster);
  const sim::LoadedScenario loaded = files.load();
  const sim::Scenario& large = loaded.variants.front();
  REQUIRE(!sim::gpu_memory(large, 16, 64).fits());
  std::string error;
  try {
    sim::check_memory(loaded, "scenario.json");
  } catch (const InputError& refused) {
    error = refused.what();
  }
  CHECK_THAT(error, Contains("micro-batch 64 needs") && Contains(" of 2.8 GiB a GPU") && Contains("allowed: "));
  const std::string allowed = sim::suggest_fitting_split(large, 16);
  REQUIRE_THAT(allowed, Contains("micro_batch 1"));
  sim::Scenario smaller = large;
  smaller.parallel->micro_batch = 1;
  CHECK(sim::gpu_memory(smaller, 16, 1).fits());
}

}  // namespace lockstep::tests
