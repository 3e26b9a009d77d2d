// Bad usage of simulate: one line on stderr and exit code 2.
#include <array>
#include <vector>

#include "engine/base/json.hpp"
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
       "simulate: no scenario; allowed: a scenario file, --predict RECORDS, --scenario-template ALGORITHM, "
       "--list-models, --show-model NAME (see "
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

TEST_CASE("every program names the option nearest to one that it does not have") {
  const TemporaryFolder folder;
  struct Usage {
    const char *program, *arguments, *error;
  };
  const std::vector<Usage> usages{
      {"simulate", "job --modle resnet50 --gpu H100",
       "simulate job: --modle: no such option; did you mean --model? (see simulate job --help)"},
      {"simulate", "job --seq=4096",
       "simulate job: --seq: no such option; did you mean --seq-length? (see simulate job --help)"},
      {"simulate", "scenario.json --gpu 8",
       "simulate: --gpu: no such option; did you mean --gpus? (see simulate --help)"},
      {"simulate", "job resnet50",
       "simulate job: \"resnet50\": unexpected argument; write it as the value of an option, --OPTION VALUE (see "
       "simulate job --help)"},
      {"plan", "job --deadlin 3d",
       "plan job: --deadlin: no such option; did you mean --deadline? (see plan job --help)"},
      {"calibrate", "--modles lenet",
       "calibrate: --modles: no such option; did you mean --models? (see calibrate --help)"},
      {"train", "--modle lenet", "train: --modle: no such option; did you mean --model? (see train --help)"},
      {"validate", "--suites x", "validate: --suites: no such option; did you mean --suite? (see validate --help)"},
  };
  for (const Usage& usage : usages) {
    INFO(usage.program << ' ' << usage.arguments);
    const Outcome outcome = run_program(folder.path(""), usage.program, usage.arguments);
    CHECK(outcome.err == std::string(usage.error) + "\n");
    CHECK(outcome.out.empty());
    CHECK(outcome.code == 2);
  }
}

TEST_CASE("with --json - errors are JSON on standard output, with a status that scripts tell apart") {
  const TemporaryFolder folder;
  const auto error_of = [&](const char* program, const char* arguments) {
    const Outcome outcome = run_program(folder.path(""), program, arguments);
    CHECK(outcome.code == 2);
    CHECK(!outcome.err.empty());
    const lockstep::Json error = lockstep::Json::parse(outcome.out);
    CHECK(error.at("schema") == "lockstep/error/1");
    CHECK(error.at("exit_code") == 2);
    return error;
  };
  const lockstep::Json misspelt = error_of("simulate", "job --modle resnet50 --json -");
  CHECK(misspelt.at("status") == "refused");
  CHECK(misspelt.at("program") == "simulate job");
  CHECK(misspelt.at("reason") ==
        "simulate job: --modle: no such option; did you mean --model? (see simulate job --help)");
  CHECK(error_of("simulate", "none.json --json=-").at("reason") == "none.json: cannot read: No such file or directory");
  CHECK(error_of("plan", "job --model resnet50 --gpu nothing --gpus 8 --epochs 1 --json -").at("program") ==
        "plan job");
  CHECK(error_of("simulate", "job --model resnet50 --gpu H100 --gpus 8 --batch 100000 --json -").at("status") ==
        "does-not-fit");
  CHECK(error_of("simulate", "job --model llama3_70b --gpu H100 --gpus 2 --global-batch 8 --json -").at("status") ==
        "does-not-fit");
  // A file named by --json is not changed, and only the line on standard error is printed.
  const Outcome file = run_program(folder.path(""), "simulate", "job --modle resnet50 --json error.json");
  CHECK(file.out.empty());
  CHECK(folder.files() == 0);
  CHECK(run_program(folder.path(""), "simulate", "job --model resnet50 --gpu H100 --gpus 8 --batch 8 --json /dev/null")
            .code == 0);
}

TEST_CASE("an algorithm that a job cannot name is refused with two commands that simulate it") {
  const TemporaryFolder folder;
  const std::string job = "job --model resnet50 --gpu H100 --gpus 8,16 --batch 64";
  REQUIRE(run_program(folder.path(""), "simulate", job + " --scenario job.json").code == 0);
  for (const char* name : {"local-sgd", "backup-workers", "async-sgd", "async-easgd"}) {
    INFO(name);
    const Outcome refused = run_program(folder.path(""), "simulate", job + " --algorithm " + name);
    CHECK(refused.code == 2);
    const std::string then = "then: simulate ";
    const std::size_t at = refused.err.find(then);
    REQUIRE(at != std::string::npos);
    std::string remedy = refused.err.substr(at + then.size());
    remedy.pop_back();  // the line break
    const Outcome simulated = run_program(folder.path(""), "simulate", remedy);
    CHECK(simulated.code == 0);
    CHECK(simulated.out.find("images/s") != std::string::npos);
  }
}

TEST_CASE("a file of another of the project's formats is refused with the command that reads it") {
  const TemporaryFolder folder;
  const std::string scenarios = std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/";
  const std::string plan = scenarios + "plans/imagenet_hour.json", scenario = scenarios + "imagenet_64k.json";
  CHECK(run_program(folder.path(""), "simulate", plan).err == plan + ": this is a plan; allowed: plan " + plan + "\n");
  CHECK(run_program(folder.path(""), "plan", scenario).err ==
        scenario + ": this is a scenario; allowed: simulate " + scenario + "\n");
  const std::string profile = std::string(LOCKSTEP_SOURCE_DIR) + "/results/host_chain/profile.json";
  CHECK(run_program(folder.path(""), "simulate", profile)
            .err.find("this is a profile; allowed: calibrate scenario " + profile) != std::string::npos);
  const std::string network = scenarios + "models/llama3_8b/config.json",
                    script = scenarios + "launch/megatron_llama3_8b.sh";
  for (const auto& [program, arguments, what] : std::vector<std::array<std::string, 3>>{
           {"calibrate", "show " + scenario, "a scenario; allowed: simulate " + scenario},
           {"calibrate", "scenario " + plan + " -o x.json", "a plan; allowed: plan " + plan},
           {"calibrate", "check " + scenario, "a scenario; allowed: simulate " + scenario},
           {"train", "plot " + scenario + " -o x.svg", "a scenario; allowed: simulate " + scenario},
           {"train", "sweep " + plan + " -o x", "a plan; allowed: plan " + plan},
           {"simulate", "--predict " + scenario, "a scenario; allowed: simulate " + scenario},
           {"simulate", "convergence " + scenario + " -o x.json", "a scenario; allowed: simulate " + scenario},
           {"simulate", "job --from " + scenario, "a scenario; allowed: simulate " + scenario},
           {"simulate", "job --gpus 8 --gpu H100 --batch 8 --model " + scenario,
            "a scenario; allowed: simulate " + scenario},
           {"simulate", "job --gpus 8 --model resnet50 --batch 8 --gpu " + plan, "a plan; allowed: plan " + plan},
           {"simulate", "loss --flops 1e22 --loss-law " + plan, "a plan; allowed: plan " + plan},
           {"simulate", network, "a HuggingFace configuration; allowed: simulate job --model " + network},
           {"plan", network, "a HuggingFace configuration; allowed: simulate job --model " + network},
           {"simulate", script, "a script; allowed: simulate job --from " + script}}) {
    INFO(program << " " << arguments);
    const Outcome refused = run_program(folder.path(""), program, arguments);
    CHECK(refused.code == 2);
    CHECK(refused.err.find("this is " + what + "\n") != std::string::npos);
  }
}

TEST_CASE("simulate job names the options that contradict each other or the model") {
  const TemporaryFolder folder;
  const std::string job = "job --model llama3_8b --gpu H100 --gpus 16 --global-batch 64 ";
  const auto error = [&](const std::string& options) {
    const Outcome outcome = run_program(folder.path(""), "simulate", job + options);
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK_THAT(error("--tokens 2T --samples 5M"), Contains("--tokens, --samples: the work is given twice"));
  CHECK_THAT(error("--expert-dispatch deepep"), Contains("--expert-dispatch: the model has no experts"));
  CHECK_THAT(error("--expert-imbalance 2"), Contains("--expert-imbalance: the model has no experts"));
  CHECK_THAT(error("--batch-ramp 128:1T --tokens 2T"), Contains("above the job's batch of 64"));
  CHECK(run_program(folder.path(""), "simulate", job + "--expert-dispatch all-to-all --quiet").code == 0);
}
