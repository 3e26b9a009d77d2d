// The object "parallel": written as it was read, checked for products and divisibility, refused with what is allowed.
#include "sim/scenario/parallel_spec.hpp"
#include "sim/scenario/check.hpp"
#include "sim/split/transformer_shape.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

ParallelSpec read(const std::string& text) {
  JsonDocument document = JsonDocument::parse("{\"parallel\": " + text + "}", "a.json");
  parallel_format().complete(document, "/parallel");
  return parallel_format().read(document.root().at("parallel"));
}

std::string problem_on(const ParallelSpec& spec, int gpus) {
  const std::optional<ScenarioProblem> problem = find_problem(spec, gpus);
  return problem ? problem->pointer + ": " + problem->wrong + "; " + problem->allowed : "";
}

}  // namespace

TEST_CASE("a split is read with Megatron's defaults and written as it reads") {
  const ParallelSpec plain = read("{}");
  CHECK(plain.gpus_of_replica() == 1);
  CHECK(plain.order.front() == ParallelDimension::tensor);
  CHECK(plain.order.back() == ParallelDimension::pipeline);

  const ParallelSpec spec = read(R"({"tensor": 8, "sequence": true, "pipeline": 4, "virtual_stages": 2, "context": 2,
    "expert": 2, "data": 4, "sharding": "fsdp", "sharding_group": 8, "schedule": "interleaved", "recompute": "selective",
    "order": ["tensor", "context", "pipeline", "expert", "data"], "micro_batch": 2, "offload_optimizer": true})");
  CHECK(spec.sharding == ShardingStage::zero3);
  CHECK(spec.order[2] == ParallelDimension::pipeline);
  const Json written = parallel_format().write(spec);
  CHECK(parallel_format().write(read(written.dump())) == written);
  CHECK(written["sharding"] == "zero3");
  CHECK(!parallel_format().write(plain).contains("data"));
  CHECK(!parallel_format().write(plain).contains("slice_overhead"));
  const ParallelSpec calls = read(R"({"sharding": "zero3", "sharding_calls": "tensors"})");
  CHECK(calls.slice_overhead_s == Approx(12e-6));
  CHECK(parallel_format().write(read(parallel_format().write(calls).dump())) == parallel_format().write(calls));
}

TEST_CASE("what a split's parts do not keep together is refused at its key") {
  CHECK_THROWS_WITH(read(R"({"virtual_stages": 2})"),
                    Contains("a.json: /parallel/virtual_stages: schedule \"1f1b\" has one chunk") &&
                        Contains("\"schedule\": \"interleaved\""));
  CHECK_THROWS_WITH(read(R"({"schedule": "interleaved", "pipeline": 2})"), Contains("\"virtual_stages\" of 2 or more"));
  CHECK_THROWS_WITH(read(R"({"schedule": "interleaved", "virtual_stages": 2})"), Contains("\"pipeline\" of 2 or more"));
  CHECK_THROWS_WITH(read(R"({"sharding_group": 4})"), Contains("allowed: with \"sharding\" of zero1"));
  CHECK_THROWS_WITH(read(R"({"sharding_calls": "tensors", "sharding": "zero2"})"),
                    Contains("/parallel/sharding_calls: weights are not sharded") && Contains("\"zero3\""));
  CHECK_THROWS_WITH(read(R"({"sharding_calls": "tensors", "sharding": "zero3", "lora_rank": 8})"),
                    Contains("beside adapters, or where the schedule splits"));
  CHECK_THROWS_WITH(read(R"({"order": ["tensor", "tensor", "data", "expert", "pipeline"]})"),
                    Contains("\"tensor\" must stand in it once"));
  CHECK_THROWS_WITH(read(R"({"tenser": 4})"), Contains("unknown key \"tenser\""));
  CHECK_THROWS_WITH(read(R"({"schedule": "pipedream"})"),
                    Contains("allowed: gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe, dualpipe-v"));
}

TEST_CASE("data parallelism is what the GPUs leave") {
  ParallelSpec spec;
  spec.tensor = 8;
  spec.pipeline = 4;
  spec.context = 2;
  CHECK(on_gpus(spec, 256).data == 4);
  CHECK(problem_on(spec, 100) ==
        "/parallel: tensor 8 x context 2 x pipeline 4 do not divide 100 GPUs; allowed: multiples of 64 GPUs");
  spec.data = 3;
  CHECK(problem_on(spec, 256) == "/parallel/data: 3 replicas of 64 GPUs are not 256 GPUs; allowed: 4, or none");
  spec.data = 4;
  spec.expert = 3;
  CHECK_THAT(problem_on(spec, 256), Contains("/parallel/expert") && Contains("divisors of 4"));
  spec.expert = 2;
  CHECK(problem_on(spec, 256).empty());
  CHECK(on_gpus(spec, 256).gradient_ranks() == 8);
  CHECK(on_gpus(spec, 256).expert_gradient_ranks() == 4);
  spec.sharding = ShardingStage::zero1;
  spec.sharding_group = 4;
  CHECK_THAT(problem_on(spec, 256), Contains("beside groups of experts"));
  spec.expert = 1;
  CHECK(problem_on(spec, 256).empty());
  spec.sharding_group = 3;
  CHECK_THAT(problem_on(spec, 256), Contains("groups of 3 do not divide the 8 data and context ranks"));
}

TEST_CASE("whole experts on tensor ranks: groups reach over fewer replicas, and over all tensor ranks") {
  ParallelSpec spec;
  spec.tensor = 4;
  spec.sequence = true;
  spec.expert = 16;
  CHECK(problem_on(spec, 32) ==
        "/parallel/expert: 8 data-parallel ranks do not divide into expert groups of 16; allowed: divisors of 8, or "
        "\"expert_tensor\": 1, with whole experts on tensor ranks");
  spec.expert_tensor = 1;
  CHECK(problem_on(spec, 32).empty());
  CHECK(on_gpus(spec, 32).expert_replicas() == 4);
  CHECK(on_gpus(spec, 32).expert_gradient_ranks() == 2);
  spec.expert = 64;
  CHECK_THAT(problem_on(spec, 32), Contains("groups of 16") && Contains("divisors of 32"));
  spec.expert = 2;
  CHECK_THAT(problem_on(spec, 32),
             Contains("2 ranks with whole experts are not divided by 4") && Contains("multiples of 4"));
  spec.expert = 8;
  spec.expert_tensor = 2;
  CHECK_THAT(problem_on(spec, 32), Contains("/parallel/expert_tensor: 2 of 4 tensor ranks; allowed: 1, or 4"));
  spec.expert_tensor = 4;
  CHECK(on_gpus(spec, 32).expert_replicas() == 8);
}

TEST_CASE("micro-batches divide the batch, and the stages divide interleaved ones") {
  ParallelSpec spec;
  spec.data = 4;
  spec.micro_batch = 2;
  CHECK(micro_batches(spec, 64) == 8);
  CHECK_THROWS_WITH(micro_batches(spec, 60), Contains("multiples of 8"));
  spec.pipeline = 3;
  spec.schedule = PipelineSchedule::interleaved;
  spec.virtual_stages = 2;
  CHECK_THROWS_WITH(micro_batches(spec, 64), Contains("8 micro-batches cannot be interleaved over 3 stages"));
  CHECK(micro_batches(spec, 72) == 9);
  spec.schedule = PipelineSchedule::zb_v;
  CHECK(micro_batches(spec, 8) == 1);
  spec.schedule = PipelineSchedule::dual_pipe_v;
  CHECK_THROWS_WITH(micro_batches(spec, 40),
                    Contains("5 micro-batches of a dualpipe-v with 3 stages") && Contains("6 or more"));
  CHECK(micro_batches(spec, 56) == 7);
  spec.pipeline = 2;
  spec.schedule = PipelineSchedule::dual_pipe;
  CHECK_THROWS_WITH(micro_batches(spec, 40), Contains("even numbers from 4 on"));
  CHECK(micro_batches(spec, 32) == 4);
}

TEST_CASE("recomputed layers are those of full recomputation") {
  ParallelSpec spec;
  spec.recompute_layers = 2;
  CHECK_THAT(find_problem(spec)->allowed, Contains("\"recompute\": \"full\""));
  spec.recompute = Recomputation::full;
  CHECK_FALSE(find_problem(spec));
  const ModelPart part{4, 4, false, false};
  CHECK(spec_of_layer(spec, part, 5).recompute == Recomputation::full);
  CHECK(spec_of_layer(spec, part, 6).recompute == Recomputation::none);
}

TEST_CASE("activations are offloaded without stages only") {
  ParallelSpec spec;
  spec.offload_layers = 2;
  CHECK_FALSE(find_problem(spec));
  spec.pipeline = 2;
  CHECK_THAT(find_problem(spec)->allowed, Contains("\"pipeline\": 1"));
}

TEST_CASE("schedules with two chunks per stage have them without virtual stages, and on one stage none") {
  ParallelSpec spec;
  spec.schedule = PipelineSchedule::zb_v;
  CHECK(spec.chunks() == 1);
  CHECK_FALSE(spec.splits_backward());
  spec.pipeline = 3;
  CHECK(spec.chunks() == 2);
  CHECK_FALSE(find_problem(spec));
  spec.virtual_stages = 3;
  CHECK_THAT(find_problem(spec)->wrong, Contains("has two chunks of layers per stage"));
  spec.virtual_stages = 2;
  spec.schedule = PipelineSchedule::dual_pipe;
  CHECK_THAT(find_problem(spec)->allowed, Contains("even numbers"));
}
