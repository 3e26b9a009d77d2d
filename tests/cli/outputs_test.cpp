// Outputs of simulate for other programs: JSON on standard output, times of layers.
#include <sstream>

#include "engine/base/json.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

namespace lockstep::tests {

TEST_CASE("simulate --json - writes the result to standard output, and nothing else") {
  const TemporaryFolder folder;
  folder.write("scenario.json", kScenario);
  folder.write("cluster.json", small_cluster(2));
  const Outcome piped = run_program(folder.path(""), "simulate", "scenario.json --json -");
  CHECK(piped.code == 0);
  Json json = Json::parse(piped.out);
  CHECK(run_program(folder.path(""), "simulate", "scenario.json --json out.json").code == 0);
  Json file = Json::parse(slurp(folder.path("out.json")));
  REQUIRE(json["points"].size() == 2);
  CHECK(json["points"][1]["iteration_s"] == file["points"][1]["iteration_s"]);
}

TEST_CASE("simulate --layers has a row for every layer, which add up to what a GPU computes") {
  const TemporaryFolder folder;
  folder.write("scenario.json", kScenario);
  folder.write("cluster.json", small_cluster(2));
  const Outcome done =
      run_program(folder.path(""), "simulate", "scenario.json --gpus 1 --layers layers.csv --json out.json");
  INFO(done.err);
  REQUIRE(done.code == 0);
  std::istringstream lines(slurp(folder.path("layers.csv")));
  std::string line;
  std::getline(lines, line);
  CHECK(line == "layer,forward_s,backward_s,update_s,parameters,gradient_bytes");
  double sum_s = 0, parameters = 0, bytes = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line.substr(line.find(',') + 1));
    double forward_s = 0, backward_s = 0, update_s = 0, of_layer = 0, sent = 0;
    char comma = 0;
    fields >> forward_s >> comma >> backward_s >> comma >> update_s >> comma >> of_layer >> comma >> sent;
    sum_s += forward_s + backward_s + update_s;
    parameters += of_layer;
    bytes += sent;
  }
  const Json out = Json::parse(slurp(folder.path("out.json")));
  CHECK(sum_s == Approx(out["points"][0]["compute_s"].get<double>()).epsilon(1e-6));
  CHECK(parameters > 0);
  CHECK(bytes == 4 * parameters);
  CHECK(run_program(folder.path(""), "simulate", "--list-models --layers layers.csv").code == 2);
}

TEST_CASE("two outputs on standard output are refused, as two in one file are") {
  const TemporaryFolder folder;
  const std::string job = "job --model resnet50 --gpu H100 --gpus 8 --batch 32 ";
  const Outcome both = run_program(folder.path(""), "simulate", job + "--json - --scenario -");
  CHECK(both.code == 2);
  CHECK(Json::parse(both.out)["status"] == "refused");  // one document, the error
  CHECK_THAT(both.err, Contains("-: two outputs on standard output"));
  CHECK(run_program(folder.path(""), "simulate", job + "--json a --scenario a").code == 2);
  const Outcome one = run_program(folder.path(""), "simulate", job + "--scenario -");
  CHECK(one.code == 0);
  CHECK(Json::parse(one.out).contains("schema"));  // no table behind it
  const Outcome plan = run_program(folder.path(""), "plan", job + "--json - --plan -");
  INFO(plan.err);
  CHECK(plan.code == 2);
}

}  // namespace lockstep::tests
