// If one of several processes dies, the launcher ends the others, and the run continues from its checkpoint.
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/catch.hpp"
#include "tests/cli/mpi_launcher.hpp"
#include "tests/cli/process.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

#ifdef LOCKSTEP_MPIEXEC
const std::string kLauncher = LOCKSTEP_MPIEXEC;
#else
const std::string kLauncher;
#endif

constexpr int kProcesses = 2;

/// Runs a shell script in the folder, and returns its exit code. Its output is in script.out.
int shell(const TemporaryFolder& folder, const std::string& script) {
  const std::string path = folder.write("script.sh", script);
  const std::string command = "cd '" + folder.path("") + "' && sh '" + path + "' >script.out 2>&1 </dev/null";
  return WEXITSTATUS(std::system(command.c_str()));
}

/// Returns the command that launches all processes, which run `script`.
std::string launched(const TemporaryFolder& folder, const std::string& script) {
  folder.write("rank.sh", script + "\n");
  return tests::mpi_environment() + "timeout -k 5 120 '" + kLauncher + "' -n " + std::to_string(kProcesses) +
         " sh rank.sh";
}

}  // namespace

TEST_CASE("Whichever process is killed, the others end, and the run is resumed to the same bits") {
  if (kLauncher.empty()) {
    std::cout << "skipped (mpi): this build has no MPI, or no mpirun was found" << std::endl;
    return;
  }
  const int victim = GENERATE(0, 1);
  const TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const std::string train = "'" LOCKSTEP_BUILD_DIR
                            "/train' --model small.json --data synthetic --train-images 1500 --test-images 50 "
                            "--batch 4 --epochs 2 --threads 1 --quiet ";
  const std::string kept = train + "--checkpoint state --checkpoint-minutes 0.002 --resume -o run.json";
  REQUIRE(shell(folder, launched(folder, "exec " + train + "-o whole.json")) == 0);
  // 124: the others did not end, and `timeout` had to.
  const int code = shell(folder, launched(folder, tests::exec_with_victim(victim) + kept) + " &\njob=$!\n" +
                                     "while kill -0 $job 2>/dev/null && [ ! -f state ]; do :; done\n"
                                     "kill -9 $(cat victim)\nwait $job\n");
  INFO(tests::slurp(folder.path("script.out")));
  CHECK(code != 0);
  CHECK(code != 124);
  CHECK_FALSE(std::filesystem::exists(folder.path("run.json")));
  REQUIRE(shell(folder, launched(folder, "exec " + kept)) == 0);
  const Json run = Json::parse(tests::slurp(folder.path("run.json")));
  CHECK(run.at("resumed").get<int>() == 1);
  CHECK(numbers(run) == numbers(Json::parse(tests::slurp(folder.path("whole.json")))));
}

}  // namespace lockstep::train
