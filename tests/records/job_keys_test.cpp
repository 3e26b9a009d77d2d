// The keys with which a record describes its job: reading is strict, and names must match as a whole.
#include <algorithm>

#include "sim/validation/record.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

std::string error_of_keys(const std::string& keys) {
  return error_of([&] {
    records_from(
        R"([{"id": "a", "metric": "images_per_s", "software": "pytorch", "model": "resnet50", "gpu": "h100-sxm",
      "gpus": 8, "gpus_per_node": 8, "batch_per_gpu": 128)" +
        keys + "}]");
  });
}

std::string why_not_keys(const std::string& keys) {
  const auto records = records_from(R"([{"id": "a", "metric": "images_per_s", "gpus": 8, "gpus_per_node": 8,
      "batch_per_gpu": 128)" + keys +
                                    "}]");
  return predict(records).at(0).task.unmapped;
}

const std::string kJob = R"(, "software": "pytorch", "model": "resnet50", "gpu": "h100-sxm")";

}  // namespace

TEST_CASE("keys are read strictly") {
  CHECK(error_of_keys("") == "");
  CHECK(error_of_keys(R"(, "precisoin": "mixed")").rfind("records.json: /0: unknown key \"precisoin\"", 0) == 0);
  for (const char* precision : {"BF16", "bf16_true", "FP8 (MX)", "NVFP4", "bf16-mixed"}) {
    INFO(precision);
    CHECK(error_of_keys(std::string(R"(, "precision": ")") + precision + "\"") == "");
  }
  CHECK(error_of_keys(R"(, "precision": "half")") ==
        "records.json: /0/precision: \"half\" is unknown; allowed: fp32, tf32, mixed, bf16-true, fp8, fp4");
  CHECK(error_of_keys(R"(, "all_reduce": "foo")")
            .rfind("records.json: /0/all_reduce: \"foo\" is unknown; allowed: ring", 0) == 0);
  CHECK(error_of_keys(R"(, "algorithm": "NCCL rings")")
            .rfind("records.json: /0/algorithm: \"NCCL rings\" is unknown; allowed: algorithms of simulate job --list, "
                   "the nearest ring",
                   0) == 0);
  CHECK(error_of_keys(R"(, "tp": 0)").rfind("records.json: /0/tp: ", 0) == 0);
  CHECK(error_of_keys(R"(, "layers": 2.5)").rfind("records.json: /0/layers: ", 0) == 0);
  CHECK(error_of_keys(R"(, "overlap": "yes")").rfind("records.json: /0/overlap: ", 0) == 0);
  CHECK(
      error_of_keys(R"(, "network": {"id": "ib-ndr", "cuont": 8})").rfind("records.json: /0/network: unknown key", 0) ==
      0);
}

TEST_CASE("a name that the catalogue lacks is said, with the nearest") {
  CHECK(why_not_keys(kJob).empty());
  CHECK(why_not_keys(R"(, "software": "pytorch", "model": "resnet50", "gpu": "H1000")")
            .rfind("gpu \"H1000\" is not in the catalogue; nearest: ", 0) == 0);
  CHECK(why_not_keys(R"(, "software": "pytorch", "model": "resnet5", "gpu": "h100-sxm")").find("resnet50") !=
        std::string::npos);
  CHECK(why_not_keys(R"(, "software": "pytorhc", "model": "resnet50", "gpu": "h100-sxm")").find("pytorch") !=
        std::string::npos);
  CHECK(why_not_keys(kJob + R"(, "link": "nvlink9")")
            .rfind("intra_node_link \"nvlink9\" is not in the catalogue; nearest: nvlink", 0) == 0);
}

TEST_CASE("an algorithm by its name says what keys leave open, and is not taken for another") {
  const auto job = [](const std::string& keys) {
    const auto records = records_from(R"([{"id": "a", "metric": "images_per_s", "gpus": 8)" + kJob + keys + "}]");
    return sim::resolve_record(records.at(0), catalogue());
  };
  CHECK(job(R"(, "algorithm": "NCCL ring")").all_reduce == sim::AllReduceKind::ring);
  CHECK(job(R"(, "algorithm": "FSDP")").algorithm == Algorithm::sharded);
  CHECK(job(R"(, "algorithm": "kvstore")").transport == sim::Transport::kvstore);
  CHECK(job(R"(, "algorithm": "kvstore", "scheme": "best")").scheme == sim::ServerScheme::best);
  CHECK(job(R"(, "algorithm": "theano-mpi")").transport == sim::Transport::mpi_on_host);
  CHECK(job(R"(, "network": "2x 100 GbE")").network.count == 2);
  for (const char* algorithm : {"local-sgd", "backup-workers", "async-sgd"})
    CHECK(why_not_keys(kJob + R"(, "algorithm": ")" + algorithm + "\"") ==
          "algorithm \"" + std::string(algorithm) + "\" is not mapped to a simulated one");
}

TEST_CASE("what is known of a record's memory is among its inputs") {
  const auto records = records_from(R"([{"id": "a", "metric": "images_per_s", "gpus": 8, "gpus_per_node": 8,
      "batch_per_gpu": 128)" + kJob +
                                    "}]");
  const Json inputs = sim::predictions_json(predict(records)).at("predictions").at(0).at("assumptions");
  const auto memory = std::find_if(inputs.begin(), inputs.end(),
                                   [](const Json& input) { return input.at("pointer") == "memory per GPU"; });
  REQUIRE(memory != inputs.end());
  CHECK(memory->at("value").get<std::string>().find(" GiB") != std::string::npos);
}

TEST_CASE("a split is simulated of transformers, with the batch that it needs") {
  const std::string kNoTransformer =
      "a split of ResNet-50 v1 (stride in first 1x1) (224x224), which is not a stack of equal transformer layers, is "
      "not "
      "modelled";
  CHECK(why_not_keys(kJob + R"(, "tp": 1, "pp": 1, "dp": 8, "cp": 1, "ep": 1)").empty());
  CHECK(why_not_keys(kJob + R"(, "tp": 2, "dp": 4)") == kNoTransformer);
  CHECK(why_not_keys(kJob + R"(, "pp": 4)") == kNoTransformer);
  CHECK(why_not_keys(kJob + R"(, "dp": 4)") == kNoTransformer);
  CHECK(why_not_keys(kJob + R"(, "task": "lora")") == kNoTransformer);
  CHECK_THAT(why_not_keys(kJob + R"(, "task": "distillation")"), Contains("known: lora, sft"));
  CHECK(why_not_keys(kJob + R"(, "sharding": "zero1")") == kNoTransformer);
  CHECK(why_not_keys(kJob + R"(, "recompute": "full")") == kNoTransformer);
  CHECK(why_not_keys(kJob + R"(, "precision": "fp8")").empty());
  CHECK(
      why_not_keys(kJob + R"(, "sharding": "zero3", "recompute": "none", "params": 25557032, "vocab": 1000)").empty());
}

TEST_CASE("given results of the experiment count") {
  const auto rate = [](const std::string& precision_of_input) {
    const auto records = records_from(
        R"([{"id": "one", "role": "input", "group": "g", "metric": "images_per_s", "unit": "images/s", "value": 380,
      "software": "pytorch", "model": "resnet50", "gpu": "v100-sxm2", "gpus": 1, "batch_per_gpu": 64, "precision": ")" +
        precision_of_input + R"("},
     {"id": "many", "role": "target", "group": "g", "metric": "images_per_s", "unit": "images/s", "software": "pytorch",
      "model": "resnet50", "gpu": "v100-sxm2", "gpus": 8, "gpus_per_node": 8, "link": "nvlink2", "precision": "fp32",
      "batch_per_gpu": 64}])");
    return predict(records).at(0).predicted;
  };
  const double with_rate = rate("fp32");
  CHECK(with_rate <= 8 * 380 * (1 + 1e-9));
  CHECK(with_rate > 0.9 * 8 * 380);
  CHECK(rate("mixed") != with_rate);  // of other work
}

}  // namespace lockstep::tests
