// Memory of each stage of a pipeline: which one is the fullest, and its parts.
#include "sim/program/gpu_memory.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

using namespace lockstep;
using namespace lockstep::tests;

TEST_CASE("a job's memory is that of its fullest stage, which has the most micro-batches in flight") {
  const sim::Scenario scenario = split_of({{"pipeline", 4}, {"micro_batches", 8}}, 4);
  const std::vector<sim::GpuMemory> stages = sim::stage_memories(scenario, 4);
  REQUIRE(stages.size() == 4);
  CHECK(stages[0].total_bytes() == sim::gpu_memory(scenario, 4, 1).total_bytes());
  // 1F1B: stage s of p holds p - s micro-batches.
  for (std::size_t stage = 1; stage < 3; ++stage)
    CHECK(stages[stage].activations_bytes == Approx(stages[1].activations_bytes * static_cast<double>(4 - stage) / 3));
  const Json json = sim::stages_json(stages);
  CHECK(json.at("fullest") == 0);
  CHECK(json.at("each").size() == 4);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    double sum = 0;
    for (const auto& part : json.at("each").at(stage).at("parts").items()) sum += part.value().get<double>();
    CHECK(sum == Approx(stages[stage].total_bytes()));
  }
  CHECK_THAT(sim::fullest_stage_line(stages), Contains("Fullest of 4 stages: stage 0, with ") &&
                                                  Contains("activations ") && Contains("; the others need "));
}

TEST_CASE("one stage has no line of its own") {
  const std::vector<sim::GpuMemory> stages = sim::stage_memories(split_of({{"micro_batches", 8}}, 4), 4);
  CHECK(stages.empty());
  CHECK(sim::stages_json(stages).is_null());
  CHECK(sim::fullest_stage_line(stages).empty());
}
