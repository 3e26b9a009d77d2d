// Several processes under mpirun against one process with as many logical devices.
#include <cstdlib>
#include <iostream>

#include "engine/train/launch.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

using tests::run_program;

#ifdef LOCKSTEP_MPIEXEC
const char* const kMpiexec = LOCKSTEP_MPIEXEC;
#else
const char* const kMpiexec = nullptr;
#endif

/// Prints the line that ctest looks for where there is no mpirun.
bool has_mpi() {
  if (kMpiexec != nullptr) return true;
  std::cout << "skipped (mpi): this build has no MPI, or no mpirun was found" << std::endl;
  return false;
}

tests::Outcome run_processes(const TemporaryFolder& folder, int count, const std::string& arguments) {
  // Open MPI's run as root and with more processes than cores; other launchers do not know these variables.
  const std::string launcher =
      "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
      "OMPI_MCA_btl=self,tcp,vader OMPI_MCA_btl_base_warn_component_unused=0 '";
  const std::string out = folder.path("out.txt"), err = folder.path("err.txt");
  const std::string command = "cd '" + folder.path("") + "' && " + launcher + kMpiexec + "' -n " +
                              std::to_string(count) + " '" LOCKSTEP_BUILD_DIR "/train' " + arguments + " >'" + out +
                              "' 2>'" + err + "' </dev/null";
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), tests::slurp(out), tests::slurp(err)};
}

Json read(const std::string& path) {
  return Json::parse(tests::slurp(path));
}

const std::string kSmall =
    "--model small.json --data synthetic --train-images 120 --test-images 50 --batch 4 --epochs 2 --threads 1 --quiet ";

}  // namespace

TEST_CASE("Processes with a GPU each train what one process with all the GPUs trains, to the bit") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const auto same = [&](int count, const std::string& arguments) {
    INFO(count << " processes, " << arguments);
    const tests::Outcome one =
        run_program(folder.path(""), "train", kSmall + arguments + " --gpus " + std::to_string(count) + " -o one.json");
    REQUIRE(one.code == 0);
    const tests::Outcome several = run_processes(folder, count, kSmall + arguments + " -o several.json");
    INFO(several.err);
    REQUIRE(several.code == 0);
    CHECK(std::count(several.out.begin(), several.out.end(), '\n') == 4);  // one process's table
    const Json record = read(folder.path("several.json"));
    CHECK(numbers(record) == numbers(read(folder.path("one.json"))));
    CHECK(record.at("options").at("processes") == count);
  };
  same(2, "--algorithm ssgd");
  same(3, "--algorithm ssgd --lars 0.01");
  same(2, "--algorithm sma");
}

// Within a process first, then over the processes: another order of the same sums.
TEST_CASE("Processes with two learners each train the same model to rounding") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const std::string arguments = kSmall + "--algorithm sma --learners 2 --precision bf16 ";
  REQUIRE(run_program(folder.path(""), "train", arguments + "--gpus 2 -o one.json").code == 0);
  const tests::Outcome several = run_processes(folder, 2, arguments + "-o several.json");
  INFO(several.err);
  REQUIRE(several.code == 0);
  const Json expected = read(folder.path("one.json")).at("epochs").back();
  const Json result = read(folder.path("several.json")).at("epochs").back();
  CHECK(result.at("iterations") == expected.at("iterations"));
  CHECK(result.at("images") == expected.at("images"));
  CHECK(result.at("train_loss").get<double>() == Approx(expected.at("train_loss").get<double>()).epsilon(0.01));
}

TEST_CASE("What only one process can do is refused once, by the first") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  for (const auto& [arguments, error] : std::vector<std::pair<std::string, std::string>>{
           {"--algorithm easgd", "--algorithm easgd: runs in one process, not in 2 processes; allowed: ssgd, sma\n"},
           {"--checkpoint c", "--checkpoint: is kept by one process, not by 2 processes; allowed: none\n"},
           {"--precision fp16",
            "--precision fp16: drops iterations in one process, not in 2 processes; allowed: fp32, tf32, bf16\n"}}) {
    const tests::Outcome outcome = run_processes(folder, 2, "--data synthetic --quiet " + arguments);
    CHECK(outcome.code == 2);
    const std::size_t first = outcome.err.find(error);
    CHECK(first != std::string::npos);
    CHECK(outcome.err.find(error, first + 1) == std::string::npos);
  }
}

TEST_CASE("The launcher is known by what it sets") {
  forget_launcher();
  ::unsetenv("SLURM_NTASKS");
  CHECK(launched_processes() == 1);
  ::setenv("SLURM_NTASKS", "8", 1);  // a job's script has it too
  CHECK(launched_processes() == 1);
  ::setenv("PMIX_RANK", "3", 1);
  CHECK(launched_processes() == 8);
  ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  CHECK(launched_processes() == 4);
  forget_launcher();
  ::setenv("PMI_SIZE", "2", 1);
  CHECK(launched_processes() == 2);
  forget_launcher();
  ::unsetenv("SLURM_NTASKS");
  CHECK(launched_processes() == 1);
}

}  // namespace lockstep::train
