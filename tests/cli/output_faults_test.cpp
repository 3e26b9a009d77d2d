// Failures of outputs: full disks, limits, pipes, folders, simple terminals, invalid names. Existing files must stay
// unchanged, no temporary file may be left, and the user must get one line.
#include <sys/stat.h>

#include <algorithm>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

namespace lockstep::tests {
namespace {

void write_small_inputs(const TemporaryFolder& folder) {
  folder.write("scenario.json", kScenario);
  folder.write("cluster.json", small_cluster(4));
}

Outcome run_small_inputs(const TemporaryFolder& folder, const std::string& arguments) {
  write_small_inputs(folder);
  return run_program(folder.path(""), "simulate", arguments);
}

int files_in(const TemporaryFolder& folder) {
  return static_cast<int>(folder.files());
}

}  // namespace

TEST_CASE("a file beyond the shell's limit is an error, and leaves neither a part nor a core") {
  const TemporaryFolder folder;
  write_small_inputs(folder);
  const std::string command = "cd '" + folder.path("") +
                              "' && ulimit -f 4 && '" LOCKSTEP_BUILD_DIR
                              "/simulate' scenario.json --json out.json >/dev/null 2>err.txt </dev/null";
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(slurp(folder.path("err.txt")) == "simulate: out.json: cannot write: File too large\n");
  CHECK(files_in(folder) == 3);  // the inputs and the error
}

TEST_CASE("a full disk under standard output is an error") {
  const TemporaryFolder folder;
  write_small_inputs(folder);
  const std::string start = "cd '" + folder.path("") + "' && '" LOCKSTEP_BUILD_DIR "/simulate' scenario.json ";
  CHECK(WEXITSTATUS(std::system((start + ">/dev/full 2>err.txt").c_str())) == 1);
  CHECK(slurp(folder.path("err.txt")) == "simulate: standard output: cannot write: No space left on device\n");
  CHECK(WEXITSTATUS(std::system((start + ">&- 2>err.txt").c_str())) == 1);
  CHECK(slurp(folder.path("err.txt")).find("simulate: standard output: cannot write") == 0);
}

TEST_CASE("devices, pipes and read-only files are refused as outputs") {
  const TemporaryFolder folder;
  write_small_inputs(folder);
  REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  REQUIRE(chmod(folder.write("kept.json", "precious").c_str(), 0444) == 0);
  for (const auto& [path, why] : {std::pair<std::string, std::string>{"/dev/full", "not a regular file"},
                                  {"pipe", "not a regular file"},
                                  {"kept.json", "the file is read-only"},
                                  {".", "Is a directory"},
                                  {std::string(250, 'n'), "File name too long"}}) {
    const Outcome outcome = run_program(folder.path(""), "simulate", "scenario.json --json " + path);
    CHECK(outcome.code == 2);
    CHECK(outcome.err == path + ": cannot be written: " + why + "\n");
  }
  CHECK(slurp(folder.path("kept.json")) == "precious");
}

TEST_CASE("two processes on one output leave the whole result of one of them") {
  const TemporaryFolder folder;
  write_small_inputs(folder);
  const std::string start = "'" LOCKSTEP_BUILD_DIR "/simulate' scenario.json --quiet --csv out.csv >/dev/null";
  const std::string command = "cd '" + folder.path("") + "' && (" + start + " & " + start + " --gpus 2 & wait)";
  CHECK(std::system(command.c_str()) == 0);
  const std::string csv = slurp(folder.path("out.csv"));
  const auto rows = std::count(csv.begin(), csv.end(), '\n') - 1;
  CHECK((rows == 1 || rows == 2));
  CHECK(csv.back() == '\n');
  CHECK(files_in(folder) == 3);
}

TEST_CASE("a truncated input of each kind is refused in one line with its name") {
  const TemporaryFolder folder;
  write_small_inputs(folder);
  const std::string scenario = kScenario, cluster = small_cluster(4);
  for (const double share : {0.0, 0.3, 0.99}) {
    folder.write("scenario.json", scenario.substr(0, static_cast<std::size_t>(share * double(scenario.size()))));
    const Outcome of_scenario = run_program(folder.path(""), "simulate", "scenario.json");
    CHECK(of_scenario.code == 2);
    CHECK(of_scenario.err.find("scenario.json: line ") == 0);
    write_small_inputs(folder);
    folder.write("cluster.json", cluster.substr(0, static_cast<std::size_t>(share * double(cluster.size()))));
    const Outcome of_cluster = run_program(folder.path(""), "simulate", "scenario.json");
    CHECK(of_cluster.code == 2);
    CHECK(of_cluster.err.find("cluster.json: line ") == 0);
    for (const std::string format : {"nccl-tests", "nvbandwidth", "torch-trace", "torch-probe", "csv", "osu"}) {
      folder.write("a.log", cluster.substr(0, static_cast<std::size_t>(share * double(cluster.size()))));
      const Outcome outcome = run_program(folder.path(""), "calibrate", "import " + format + " a.log -o p.json");
      INFO(format << ": " << outcome.err);
      CHECK(outcome.code == 2);
      CHECK(outcome.err.find("a.log") == 0);
      CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
    write_small_inputs(folder);
  }
}

TEST_CASE("a number of GPUs twice, and GPUs of a trace that nobody asked for, are refused") {
  const TemporaryFolder folder;
  const Outcome twice = run_small_inputs(folder, "scenario.json --gpus 2,2");
  CHECK(twice.code == 2);
  CHECK(twice.err == "--gpus: /gpus/1: is there twice; allowed: each count once\n");
  const Outcome trace = run_small_inputs(folder, "scenario.json --trace-gpus 1");
  CHECK(trace.code == 2);
  CHECK(trace.err == "--trace-gpus: no trace is asked for; allowed: beside --trace FILE\n");
}

TEST_CASE("an all-reduce in more slices than a machine holds is refused at once") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_program(folder.path(""), "simulate",
                  LOCKSTEP_SOURCE_DIR
                  "/scenarios/imagenet_64k.json --gpus 1024 --fidelity analytic "
                  "--set /communication/chain_slices=65536 --set '/communication/fusion_threshold=0 B'");
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, Contains("an all-reduce in 65536 slices has about 1.34218e+08 messages, more than 1e+08; "
                                   "allowed: fewer slices (/communication/chain_slices)"));
}

TEST_CASE("a name with control characters is refused, and reaches no terminal") {
  const TemporaryFolder folder;
  write_small_inputs(folder);
  std::string scenario = kScenario;
  scenario.replace(scenario.find("\"small\""), 7, "\"a\\u001b[2J\\u0007\"");
  folder.write("scenario.json", scenario);
  const Outcome outcome = run_program(folder.path(""), "simulate", "scenario.json");
  CHECK(outcome.code == 2);
  CHECK(outcome.err == "scenario.json: /name: \"a\\x1b[2J\\x07\" has control characters; allowed: text on one line\n");
  const Outcome log =
      run_program(folder.path(""), "calibrate", "import csv '" + folder.write("a\x1b[2J.csv", "x") + "' -o p.json");
  CHECK(log.err.find('\x1b') == std::string::npos);
}

}  // namespace lockstep::tests
