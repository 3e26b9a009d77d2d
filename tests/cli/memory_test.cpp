// Jobs that exceed a GPU's memory give one line, exit code 2 and no output, unless --ignore-memory is given.
#include <algorithm>

#include "engine/base/json.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

namespace lockstep::tests {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

/// Writes a scenario of a network at a batch size, on GPUs with this memory.
class Files {
 public:
  Files(const std::string& model, int batch, const std::string& memory, const std::string& precision) {
    std::string scenario = replaced(kScenario, "lenet_crossbow", model);
    scenario = replaced(scenario, "\"batch_per_gpu\": 16", "\"batch_per_gpu\": " + std::to_string(batch));
    scenario =
        replaced(scenario, "\"precision\": \"fp32\"", "\"precision\": \"" + precision + "\", \"optimizer\": \"adam\"");
    folder_.write("scenario.json", scenario);
    const std::string cluster = replaced(small_cluster(2), "16 GB", memory);
    folder_.write("cluster.json",
                  replaced(cluster, "\"fp32\": \"10 TFLOP/s\"", "\"fp32\": \"10 TFLOP/s\", \"fp16\": \"100 TFLOP/s\""));
  }
  Outcome simulate(const std::string& arguments) const { return run_program(folder_.path(""), "simulate", arguments); }
  bool has(const std::string& name) const { return std::filesystem::exists(folder_.path(name)); }
  Json json(const std::string& name) const { return Json::parse(slurp(folder_.path(name))); }

 private:
  TemporaryFolder folder_;
};

void check_refused(const Outcome& outcome, const std::vector<std::string>& parts) {
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  for (const std::string& part : parts) CHECK_THAT(outcome.err, Contains(part));
}

}  // namespace

TEST_CASE("simulate refuses GPT-3 13B at batch 512 on 80 GB, and predicts it where that is asked for") {
  // Without dropout, each of the 40 layers keeps s b h (32 + 4 a s / h) bytes (Korthikanti et al. 2022): 20,615 GB. The
  // rest is for embeddings, logits and back-propagation.
  const Files files("gpt3_13b", 512, "80 GB", "mixed");
  check_refused(files.simulate("scenario.json --json out.json"),
                {"scenario.json: /batch_per_gpu: memory: batch 512 needs ", " GiB a GPU, ",
                 "the largest part activations of 19656 GiB", "(no batch fits); allowed: GPUs of more memory"});
  CHECK_FALSE(files.has("out.json"));
  const Outcome asked = files.simulate("scenario.json --ignore-memory --fidelity analytic --json out.json");
  CHECK(asked.code == 0);
  CHECK_THAT(asked.out, Contains("Memory per GPU: 19850 of 74.5 GiB"));
  const Json memory = files.json("out.json").at("points").at(0).at("memory");
  CHECK(memory.at("capacity_bytes") == 80e9);
  CHECK(memory.at("parts").at("optimizer_state").get<double>() ==
        Approx(2 * memory.at("parts").at("master_weights").get<double>()));
  double sum = 0;
  for (const auto& [name, bytes] : memory.at("parts").items()) sum += bytes.get<double>();
  CHECK(memory.at("bytes").get<double>() == Approx(sum).epsilon(1e-12));
}

TEST_CASE("simulate refuses ResNet-50 at batch 65,536 on 16 GB and names the largest batch, which runs") {
  const Files files("resnet50", 65536, "16 GB", "fp32");
  const Outcome refused = files.simulate("scenario.json");
  check_refused(refused, {"memory: batch 65536 needs 4963 of 14.9 GiB a GPU", "activations of 4962 GiB"});
  const std::string before = "allowed: a batch of at most ";
  const std::string largest = std::to_string(std::stoi(refused.err.substr(refused.err.find(before) + before.size())));
  const std::string settings = "scenario.json --fidelity analytic --set /batch_per_gpu=";
  CHECK(files.simulate(settings + largest).code == 0);
  CHECK(files.simulate(settings + std::to_string(std::stoi(largest) + 1)).code == 2);
  CHECK_THAT(files.simulate(settings + "64").out, Contains("Memory per GPU: 6.5 of 14.9 GiB."));
}

TEST_CASE("simulate job says its memory, and refuses what does not fit") {
  const TemporaryFolder folder;
  const auto job = [&](const std::string& arguments) {
    return run_program(folder.path(""), "simulate", "job " + arguments);
  };
  check_refused(
      job("--model gpt3_175b --gpu H100 --gpus 8 --json out.json"),
      {"no split over 8 GPUs fits into the GPUs' memory (2048 tokens per sample are assumed", "; allowed: ", " GPUs"});
  check_refused(job("--model resnet50 --gpu V100 --gpus 8 --batch 65536 --scenario out.json"),
                {"memory: batch 65536 needs ", "the largest part activations", "allowed: a batch of at most "});
  CHECK(folder.files() == 0);
  const Outcome fits = job("--model resnet50 --gpu H100 --gpus 8,16 --batch 64 --json out.json");
  CHECK(fits.code == 0);
  CHECK_THAT(fits.out, Contains("Memory per GPU: ") && Contains(" of 79.6 GiB.\n"));
  const Json json = Json::parse(slurp(folder.path("out.json")));
  CHECK(json.at("predictions").at(0).at("memory").at("capacity_bytes") == 81559.0 * 1024 * 1024);
  const Outcome asked =
      job("--model resnet50 --gpu V100 --gpus 8 --batch 65536 --ignore-memory --scenario scenario.json");
  CHECK(asked.code == 0);
  CHECK(Json::parse(slurp(folder.path("scenario.json"))).at("ignore_memory") == true);
  CHECK(run_program(folder.path(""), "simulate", "scenario.json").code == 0);
}

}  // namespace lockstep::tests
