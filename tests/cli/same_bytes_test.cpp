// Results have the same bytes with any number of processes, in any language and time zone, except for provenance and
// wall_s. For MPI ranks see tests/plan.
#include "engine/base/json.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

namespace lockstep::tests {
namespace {

void drop(Json& json) {
  if (json.is_object()) {
    json.erase("provenance");
    json.erase("wall_s");
  }
  for (Json& inner : json)
    if (inner.is_structured()) drop(inner);
}

// Returns the result of `arguments`, run with `environment` set.
std::string result_of(const TemporaryFolder& folder, const std::string& environment, const std::string& arguments) {
  const std::string command = "cd '" + folder.path("") + "' && env " + environment +
                              " '" LOCKSTEP_BUILD_DIR "/simulate' " + arguments + " --json out.json >/dev/null 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  Json json = Json::parse(slurp(folder.path("out.json")));
  drop(json);
  return json.dump();
}

}  // namespace

TEST_CASE("a result is the same bytes for every number of processes, language and time zone") {
  const TemporaryFolder folder;
  folder.write("cluster.json", small_cluster(4));
  Json scenario = Json::parse(kScenario);
  scenario["gpus"] = {1, 2, 4, 8};
  scenario["compute"]["jitter"] = {{"distribution", "normal"}, {"coefficient_of_variation", 0.05}};
  folder.write("scenario.json", scenario.dump());
  for (const std::string fidelity : {"fast", "message", "analytic"}) {
    const std::string arguments = "scenario.json --fidelity " + fidelity;
    const std::string once = result_of(folder, "LC_ALL=C TZ=UTC", arguments + " --jobs 1");
    CHECK(result_of(folder, "LC_ALL=C TZ=UTC", arguments + " --jobs 1") == once);
    CHECK(result_of(folder, "LC_ALL=C TZ=UTC", arguments + " --jobs 4") == once);
    CHECK(result_of(folder, "LC_ALL=de_DE.UTF-8 LANGUAGE=de TZ=Asia/Kathmandu", arguments + " --jobs 2") == once);
  }
  const std::string job = "job --model resnet50 --gpu V100 --gpus 8,16 --network '100 GbE'";
  CHECK(result_of(folder, "LC_ALL=C TZ=UTC", job) == result_of(folder, "LC_ALL=tr_TR.UTF-8 TZ=America/New_York", job));
}

}  // namespace lockstep::tests
