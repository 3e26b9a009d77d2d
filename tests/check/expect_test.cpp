#include "sim/report/expectation.hpp"

#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {

TEST_CASE("an expectation and its opposite never both hold, and one of them does") {
  const std::vector<sim::ExpectedRow> rows{{"8 GPUs", {{"rate", 5.0}, {"iteration_s", {{"mean", 2.0}}}}}};
  const auto holds = [&](const std::string& text) {
    return sim::check_expectations({sim::read_expectation(text)}, rows).holds;
  };
  for (const std::string value : {"4", "5", "6"}) {
    INFO(value);
    CHECK(holds("rate>=" + value) != holds("rate<" + value));
    CHECK(holds("rate > " + value) != holds("rate <= " + value));
  }
  CHECK(holds("iteration_s/mean<=2e0"));
  CHECK(sim::check_expectations({}, rows).exit_code() == 0);
}

TEST_CASE("an expectation holds in every row or not at all, and the first row that fails is named") {
  const std::vector<sim::ExpectedRow> rows{{"8 GPUs", {{"rate", 5}}}, {"16 GPUs", {{"rate", 3}}}};
  const sim::ExpectationResult result = sim::check_expectations(sim::read_expectations({"rate>=2", "rate>=4"}), rows);
  CHECK(result.text == "--expect rate>=2: holds.\n--expect rate>=4: fails, 3 at 16 GPUs.\n");
  CHECK(result.exit_code() == 1);
}

TEST_CASE("expectations without comparison, number or metric are refused, unknown metrics with those that there are") {
  CHECK_THAT(error_of([] { sim::read_expectation("rate"); }), Contains("no comparison; allowed: METRIC>=VALUE"));
  CHECK_THAT(error_of([] { sim::read_expectation("rate>=fast"); }), Contains("\"fast\" is no number"));
  CHECK_THAT(error_of([] { sim::read_expectation(">=3"); }), Contains("no comparison"));
  const std::vector<sim::ExpectedRow> rows{{"8 GPUs", {{"rate", 5}, {"name", "x"}}}};
  CHECK(error_of([&] { sim::check_expectations({sim::read_expectation("speed>1")}, rows); }) ==
        "--expect speed>1: no metric \"speed\"; allowed: rate");
}

TEST_CASE("simulate exits with 1 where an expectation fails, of a job, a scenario and an all-reduce") {
  const TemporaryFolder folder;
  const std::string scenario = std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/imagenet_64k.json --gpus 8";
  for (const auto& [command, metric] : std::vector<std::pair<std::string, std::string>>{
           {"job --model resnet50 --gpu H100 --gpus 8 --batch 128", "samples_per_s"},
           {"job --model llama3-8b --gpu H100 --gpus 16 --global-batch 64", "tokens_per_s"},
           {"all-reduce --gpu H100 --gpus 8 --bytes 1GB", "bus_bandwidth"},
           {scenario, "samples_per_s"}}) {
    INFO(command);
    const auto run = [&](const std::string& expectation) {
      return run_program(folder.path(""), "simulate", command + " --expect '" + metric + expectation + "'");
    };
    const Outcome holds = run(">=1");
    CHECK(holds.code == 0);
    CHECK_THAT(holds.out, Contains("--expect " + metric + ">=1: holds."));
    CHECK(run(">=1e15").code == 1);
    const Outcome as_json = run(">=1e15' --json - --expect '" + metric + ">=0");
    CHECK(as_json.code == 1);
    CHECK_THAT(as_json.err, Contains("--expect " + metric + ">=1e15: fails"));
    CHECK(run("!=1").code == 2);
  }
  CHECK(run_program(folder.path(""), "simulate", "--list-models --expect x>1").code == 2);
}

}  // namespace lockstep::tests
