// Bad usage of simulate: one line on stderr and exit code 2.
#include <vector>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

using lockstep::TemporaryFolder;
using lockstep::tests::kScenario;
using lockstep::tests::Outcome;
using lockstep::tests::run_program;
using lockstep::tests::small_cluster;

TEST_CASE("bad usage is one line and exit code 2") {
  const TemporaryFolder folder;
  folder.write("scenario.json", kScenario);
  folder.write("cluster.json", small_cluster(4));
  struct Usage {
    const char* arguments;
    const char* error;
  };
  const std::vector<Usage> usages{
      {"",
       "simulate: no scenario; allowed: a scenario file, --predict RECORDS, --list-models, --show-model NAME (see "
       "--help)"},
      {"none.json", "none.json: cannot read: No such file or directory"},
      {"scenario.json --set /iterations", "--set /iterations: not a setting; allowed: /json/pointer=value"},
      {"scenario.json --set /iterations=none",
       "--set: /iterations: expected a whole number, got a string; allowed: 1 to 100000"},
      {"scenario.json --set /nowhere/deep=1", "--set: /nowhere/deep: no such place; \"/nowhere\" does not exist"},
      {"scenario.json --gpus 3", "--gpus: /gpus/0: 3 GPUs do not fill whole nodes; allowed: multiples of 2"},
      {"scenario.json --json nowhere/out.json", "nowhere/out.json: cannot be written: No such file or directory"},
      {"scenario.json --trace t.json --trace-gpus 9", "--trace-gpus 9: no such GPU; allowed: 0 to 3"},
  };
  for (const Usage& usage : usages) {
    INFO(usage.arguments);
    const Outcome outcome = run_program(folder.path(""), "simulate", usage.arguments);
    CHECK(outcome.err == std::string(usage.error) + "\n");
    CHECK(outcome.code == 2);
  }
  for (const char* arguments : {"scenario.json --fidelity exact", "scenario.json --gpus 0", "scenario.json --nonsense",
                                "scenario.json --jobs 0"}) {
    INFO(arguments);
    CHECK(run_program(folder.path(""), "simulate", arguments).code == 2);
  }
}
