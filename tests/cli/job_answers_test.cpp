// What `simulate job` says of its defaults, its split and its numbers, and where `--json` writes.
#include <string>

#include "engine/base/json.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

Outcome simulate(const std::string& arguments) {
  const TemporaryFolder folder;
  return run_program(folder.path("."), "simulate", arguments);
}

const std::string kLlama = "job --model llama3_8b --gpu H100 --gpus 8 ";

}  // namespace

TEST_CASE("a split says that nothing is recomputed, and which share is whose") {
  const Outcome outcome = simulate(kLlama + "--global-batch 64");
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Contains("no recomputation, micro-batch"));
  CHECK_THAT(outcome.out, Contains("% of an iteration; memory"));
  CHECK_THAT(simulate(kLlama + "--global-batch 64 --recompute full").out, Contains("full recomputation, micro-batch"));
}

TEST_CASE("a plan names the bubble of a pipeline as simulate does, and splits without one have none") {
  const TemporaryFolder folder;
  const auto plan = [&](const std::string& split) {
    return run_program(folder.path("."), "plan", kLlama + "--global-batch 64 --tensor 2 --price 2 --tokens 1B " + split)
        .out;
  };
  CHECK_THAT(plan("--pipeline 4"), Contains("pipeline bubble") && !Contains("idle"));
  CHECK_THAT(plan("--pipeline 1"), !Contains("pipeline bubble"));
}

TEST_CASE("the default batch follows from the task: tokens for a training, sequences for fine-tuning") {
  CHECK_THAT(simulate(kLlama).out, Contains("global_batch 512 (") && Contains("4,194,304 tokens"));
  CHECK_THAT(simulate(kLlama + "--task sft").out, Contains("global_batch 128 (") && Contains("Stanford Alpaca"));
  CHECK_THAT(simulate(kLlama + "--task lora").out, Contains("global_batch 16 (") && Contains("QLoRA"));
  CHECK_THAT(simulate("job --model llama3_8b --gpu H100 --gpus 64 --lora-rank 8").out, Contains("global_batch 64 ("));
  CHECK(simulate(kLlama + "--task dpo").code == 2);
}

TEST_CASE("fine-tuning of all weights has no loss of a training from the beginning") {
  CHECK_THAT(simulate(kLlama + "--tokens 1B").out, Contains("Loss after 1B tokens"));
  CHECK_THAT(simulate(kLlama + "--tokens 1B --task sft").out, !Contains("Loss after"));
}

TEST_CASE("an efficiency names the number of GPUs that it is relative to") {
  const auto efficiency_of = [](const std::string& arguments) {
    const Json answer = Json::parse(simulate(arguments + " --json -").out);
    for (const Json& one : answer.at("predictions"))
      if (one.at("metric") == "scaling_efficiency" && one.at("gpus") == 16) return one;
    return Json();
  };
  const Json whole = efficiency_of("job --model resnet50 --gpu H100 --gpus 8,16 --batch 64");
  CHECK(whole.at("unit") == "over one GPU");
  CHECK(whole.at("baseline_gpus") == 1);
  const Json split = efficiency_of("job --model llama3_8b --gpu H100 --gpus 8,16 --global-batch 64");
  CHECK(split.at("unit") == "over 8 GPUs");
  CHECK(split.at("baseline_gpus") == 8);
}

TEST_CASE("a bare --json at the end of a command line writes to standard output, errors too") {
  const std::string job = "job --model resnet50 --gpu H100 --gpus 8 --batch 64";
  const Outcome bare = simulate(job + " --json");
  CHECK(bare.code == 0);
  CHECK(Json::parse(bare.out).at("predictions") == Json::parse(simulate(job + " --json -").out).at("predictions"));
  const Outcome failed = simulate("job --model resnet50 --gpu H1 --gpus 8 --json");
  CHECK(failed.code == 2);
  CHECK(Json::parse(failed.out).at("status") == "refused");
  CHECK_THAT(failed.err, Contains("H1"));
}

}  // namespace lockstep::tests
