// Compares several processes under mpirun with one process that has as many logical devices.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>

#include "engine/train/launch.hpp"
#include "tests/catch.hpp"
#include "tests/cli/mpi_launcher.hpp"
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

/// Without mpirun, prints the line that ctest looks for.
bool has_mpi() {
  if (kMpiexec != nullptr) return true;
  std::cout << "skipped (mpi): this build has no MPI, or no mpirun was found" << std::endl;
  return false;
}

tests::Outcome run_processes(const TemporaryFolder& folder, int count, const std::string& arguments) {
  const std::string launcher = tests::mpi_environment() + "'";
  const std::string out = folder.path("out.txt"), err = folder.path("err.txt");
  const std::string command = "cd '" + folder.path("") + "' && " + launcher + kMpiexec + "' -n " +
                              std::to_string(count) + " '" LOCKSTEP_BUILD_DIR "/train' " + arguments + " >'" + out +
                              "' 2>'" + err + "' </dev/null";
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), tests::slurp(out), tests::slurp(err)};
}

Json read_json(const std::string& path) {
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
    const Json record = read_json(folder.path("several.json"));
    CHECK(numbers(record) == numbers(read_json(folder.path("one.json"))));
    CHECK(record.at("options").at("processes") == count);
  };
  same(2, "--algorithm ssgd");
  same(2, "--algorithm local-sgd --tau 3 --lars 0.01");
  same(3, "--algorithm ssgd --lars 0.01");
  same(2, "--algorithm sma");
  same(3, "--algorithm sma --averaging reference");
  same(2, "--algorithm sma --averaging reference --learners 2");
  same(2, "--algorithm sma --averaging reference --tau 3 --precision fp16");
  same(2, "--algorithm sma --averaging reference --schedule steps --step-epochs 1");  // restarts
  same(3, "--algorithm easgd --learners 1 --tau 2");
  same(2, "--algorithm ssgd --precision fp16");
  same(3, "--algorithm ssgd --optimizer nesterov");
  same(3, "--algorithm sharded");
  same(2, "--algorithm sharded --optimizer adam --precision fp16");
  same(3, "--algorithm stale --staleness 3");
  same(2, "--algorithm stale --staleness 2 --staleness-drawn --staleness-ramp-epochs 1 --lars 0.01 --precision fp16");
}

TEST_CASE("Processes measure the noise scale that one process with all the GPUs measures, also with buckets") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const std::string arguments = kSmall + "--noise-scale ";
  REQUIRE(run_program(folder.path(""), "train", arguments + "--gpus 2 -o one.json").code == 0);
  const Json one = read_json(folder.path("one.json"));
  for (const char* bytes : {"", "--bucket-bytes 200 "}) {
    REQUIRE(run_processes(folder, 2, arguments + bytes + "-o several.json").code == 0);
    CHECK(read_json(folder.path("several.json")).at("noise_scale") == one.at("noise_scale"));
  }
}

TEST_CASE("Gradients that are sent while others are computed train the same bits, in whatever buckets") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  for (const int count : {2, 3}) {
    REQUIRE(run_processes(folder, count, kSmall + "-o after.json").code == 0);
    for (const char* bytes : {"0", "200", "1000000"}) {
      INFO(count << " processes, buckets of " << bytes);
      const tests::Outcome outcome =
          run_processes(folder, count, kSmall + "--bucket-bytes " + bytes + " -o during.json");
      INFO(outcome.err);
      REQUIRE(outcome.code == 0);
      CHECK(numbers(read_json(folder.path("during.json"))) == numbers(read_json(folder.path("after.json"))));
    }
  }
  REQUIRE(run_processes(folder, 2, kSmall + "--precision fp16 -o after.json").code == 0);
  REQUIRE(run_processes(folder, 2, kSmall + "--precision fp16 --bucket-bytes 0 -o during.json").code == 0);
  CHECK(numbers(read_json(folder.path("during.json"))) == numbers(read_json(folder.path("after.json"))));
}

// The reduction has the same order, and the arithmetic is the same element by element.
TEST_CASE(
    "A sharded optimizer over processes trains the bits of S-SGD, and each process keeps its share of the state") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const std::string arguments = kSmall + "--optimizer adam ";
  const auto kept_bytes = [](const Json& record) { return record.at("memory").at("plan").at("optimizer_bytes"); };
  REQUIRE(run_processes(folder, 3, arguments + "-o whole.json").code == 0);
  const tests::Outcome outcome = run_processes(folder, 3, arguments + "--algorithm sharded -o sharded.json");
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Json whole = read_json(folder.path("whole.json")), sharded = read_json(folder.path("sharded.json"));
  CHECK(numbers(sharded) == numbers(whole));
  const std::int64_t parameters = whole.at("model").at("parameters");
  CHECK(kept_bytes(whole) == 2 * 4 * parameters);
  CHECK(kept_bytes(sharded) == 2 * 4 * ((parameters + 2) / 3));
}

// Each process has its own pace: models differ between runs, but counts obey their laws.
TEST_CASE("Asynchronous processes learn, and say how stale what they brought was") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const std::string arguments =
      "--model small.json --data synthetic --train-images 512 --test-images 200 --batch 8 --epochs 8 --threads 1 "
      "--quiet --target 0.9 --stop never --evaluations-per-epoch 2 ";
  for (const std::string algorithm :
       {"async-sgd --own-pace --momentum 0 --learning-rate 0.02", "async-easgd --tau 2 --learning-rate 0.02"}) {
    INFO(algorithm);
    const tests::Outcome outcome = run_processes(folder, 3, arguments + "--algorithm " + algorithm + " -o run.json");
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json record = read_json(folder.path("run.json"));
    CHECK(record.at("best_test_accuracy").get<double>() >= 0.9);
    CHECK(record.at("evaluations").size() == 16);
    std::int64_t iterations = 0;
    for (const Json& epoch : record.at("epochs")) {
      const std::int64_t of_epoch = epoch.at("iterations").get<std::int64_t>() - iterations;
      iterations += of_epoch;
      CHECK(epoch.at("images").get<std::int64_t>() == 8 * iterations);
      std::int64_t of_all = 0, meetings = 0;
      for (const Json& of_process : epoch.at("iterations_of_processes")) {
        CHECK(of_process.get<std::int64_t>() > 0);
        of_all += of_process.get<std::int64_t>();
      }
      CHECK(of_all == of_epoch);
      for (const Json& entry : epoch.at("staleness").at("histogram")) meetings += entry.at(1).get<std::int64_t>();
      CHECK(meetings == of_epoch / (algorithm.rfind("async-easgd", 0) == 0 ? 2 : 1));
      const double mean = epoch.at("staleness").at("mean");
      CHECK(mean <= 2);
      CHECK(mean >= 2 - 2 * 3 / static_cast<double>(meetings) - 1e-9);  // two stretches
    }
    CHECK(iterations >= 8 * 64);
    CHECK(iterations < 8 * 64 + 2 * 3 * 2);  // those under way when the last of the epochs was reached
  }
}

TEST_CASE("Asynchronous processes resume after a time limit, and are refused what they cannot do") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  for (const std::string algorithm : {"async-sgd --own-pace", "async-easgd"}) {
    INFO(algorithm);
    const std::string kept = kSmall + "--checkpoint state --resume -o run.json --algorithm " + algorithm;
    const tests::Outcome part = run_processes(folder, 2, kept + " --max-minutes 0.000001");
    INFO(part.err);
    REQUIRE(part.code == 0);
    CHECK(part.out.find("time is up") != std::string::npos);
    const tests::Outcome rest = run_processes(folder, 2, kept);
    INFO(rest.err);
    REQUIRE(rest.code == 0);
    const Json record = read_json(folder.path("run.json"));
    CHECK(record.at("resumed") == 1);
    CHECK(record.at("epochs").size() == 2);
    std::filesystem::remove(folder.path("state"));
    const std::string what = algorithm == "async-easgd" ? "--algorithm async-easgd" : "--own-pace";
    const tests::Outcome alone = run_program(folder.path(""), "train", kSmall + "--algorithm " + algorithm);
    CHECK(alone.code == 2);
    CHECK(alone.err == what + ": its workers are processes, and this is the only one; allowed: mpirun -n 2 or more\n");
    const tests::Outcome half = run_processes(folder, 2, kSmall + "--precision fp16 --algorithm " + algorithm);
    CHECK(half.code == 2);
    CHECK(half.err.find("--precision fp16: a loss scale is agreed upon in every iteration") != std::string::npos);
  }
}

// The auto-tuner decides by measured time. Runs therefore last until it has decided, on a machine of any speed. The
// checks hold for any decision.
TEST_CASE("Processes tune their learners together, and resume with as many") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const std::string arguments =
      "--model small.json --data synthetic --train-images 400 --test-images 50 --batch 4 --epochs 1000000 --threads 1 "
      "--algorithm sma --auto-tune --checkpoint state --resume -o run.json --max-minutes ";
  const auto run_until = [&](double minutes, const std::function<bool(const tests::Outcome&)>& is_done) {
    tests::Outcome outcome;
    for (int attempt = 0; attempt < 6; ++attempt, minutes *= 2) {
      outcome = run_processes(folder, 2, arguments + std::to_string(minutes));
      INFO(outcome.err);
      REQUIRE(outcome.code == 0);
      if (is_done(outcome)) break;
    }
    return outcome;
  };
  const auto has_tuned = [](const tests::Outcome& outcome) {
    return outcome.err.find("goes on with ") != std::string::npos;
  };
  const auto learners = [&] {
    const Json state = Checkpoint(folder.path("state")).facts();
    const Json numbers = state.at("numbers");
    const Json other = state.at("others").at(0).at("numbers");
    CHECK(other.at("learners") == numbers.at("learners"));
    CHECK(other.at("tuner/0/throughput") == numbers.at("tuner/0/throughput"));
    CHECK(numbers.at("tuner/0/learners") == numbers.at("learners"));
    return numbers.at("learners").get<int>();
  };
  const tests::Outcome first = run_until(0.06, has_tuned);
  INFO(first.err);
  CHECK(first.err.find("train: GPU 0 goes on with 2 learners\n") != std::string::npos);  // the first decision adds one
  const int tuned = learners();
  const std::size_t before = read_json(folder.path("run.json")).at("epochs").size();
  const auto epochs = [&] { return read_json(folder.path("run.json")).at("epochs"); };
  const tests::Outcome rest = run_until(0.03, [&](const tests::Outcome&) { return epochs().size() > before; });
  INFO(rest.err);
  CHECK(read_json(folder.path("run.json")).at("resumed").get<int>() >= 1);
  REQUIRE(epochs().size() > before);
  CHECK(epochs().at(before).at("learners").get<int>() % 2 == 0);  // of both processes, which decide alike
  const int resumed = learners();
  if (!has_tuned(rest)) {
    CHECK(resumed == tuned);
    CHECK(epochs().at(before).at("learners") == 2 * tuned);
  }
}

// As many workers as processes; one of them computes nothing in every iteration.
TEST_CASE("Backup workers spread over processes train what one process trains, to the bit") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const std::string arguments = kSmall + "--algorithm backup --learners 2 --backups 1 --delay pareto --delay-shape 1 ";
  REQUIRE(run_program(folder.path(""), "train", arguments + "-o one.json").code == 0);
  const tests::Outcome several = run_processes(folder, 3, arguments + "-o several.json");
  INFO(several.err);
  REQUIRE(several.code == 0);
  CHECK(numbers(read_json(folder.path("several.json"))) == numbers(read_json(folder.path("one.json"))));
}

// fp16's largest number is 65504. A loss scale of 65536, and a last layer with 1000 times larger values, overflow in
// the gradients of some processes. All must drop the step, or their models would differ.
TEST_CASE("Processes drop the same iterations, whoever's gradient overflows") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  for (const std::string algorithm : {"sma", "easgd --learners 1", "backup --learners 1"}) {
    INFO(algorithm);
    const bool is_backup = algorithm.front() == 'b';
    const std::string arguments = kSmall + "--precision fp16 --algorithm " + algorithm + " ";
    const std::string gpus = is_backup ? "" : "--gpus 2 ";
    REQUIRE(run_program(folder.path(""), "train", arguments + gpus + "-o one.json").code == 0);
    const tests::Outcome several = run_processes(folder, 2, arguments + "-o several.json");
    INFO(several.err);
    REQUIRE(several.code == 0);
    const Json record = read_json(folder.path("several.json"));
    CHECK(record.at("epochs").back().at("dropped_iterations").get<int>() > 0);
    CHECK(numbers(record) == numbers(read_json(folder.path("one.json"))));
  }
}

TEST_CASE("Processes resume from the checkpoint of all of them, to the bit") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  for (const std::string algorithm :
       {"ssgd --precision fp16", "sma --learners 2 --tau 2", "sma --averaging reference --gpus 2", "easgd", "backup",
        "stale --staleness 4 --staleness-drawn", "sharded --gpus 2 --optimizer adamw"}) {
    INFO(algorithm);
    const std::string arguments = kSmall + "--algorithm " + algorithm + " ";
    const tests::Outcome whole = run_processes(folder, 2, arguments + "-o whole.json");
    INFO(whole.err);
    REQUIRE(whole.code == 0);
    // 0 minutes are over after the first iteration of an epoch: the state is that of its middle.
    const std::string kept = arguments + "--checkpoint state --checkpoint-minutes 0.000001 --resume ";
    const tests::Outcome part = run_processes(folder, 2, kept + "--max-minutes 0.000001");
    INFO(part.err);
    REQUIRE(part.code == 0);
    CHECK(part.out.find("time is up") != std::string::npos);
    const tests::Outcome rest = run_processes(folder, 2, kept + "-o rest.json");
    INFO(rest.err);
    REQUIRE(rest.code == 0);
    const Json record = read_json(folder.path("rest.json"));
    CHECK(record.at("resumed") == 1);
    CHECK(numbers(record) == numbers(read_json(folder.path("whole.json"))));

    const tests::Outcome alone = run_program(folder.path(""), "train", kept);
    CHECK(alone.code == 2);
    CHECK(alone.err == "state: was written with processes 2, not none; allowed: the same settings\n");
    std::filesystem::remove(folder.path("state"));
  }
  REQUIRE(run_program(folder.path(""), "train", kSmall + "--checkpoint state").code == 0);
  const tests::Outcome several = run_processes(folder, 2, kSmall + "--checkpoint state --resume");
  CHECK(several.code == 2);
  CHECK(several.err.find("state: was written by one process, not 2; allowed: the same settings") != std::string::npos);
}

// Sums first within a process, then over the processes: another order of the same sums.
TEST_CASE("Processes with two learners each train the same model to rounding") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  const std::string arguments = kSmall + "--algorithm sma --learners 2 --precision bf16 ";
  REQUIRE(run_program(folder.path(""), "train", arguments + "--gpus 2 -o one.json").code == 0);
  const tests::Outcome several = run_processes(folder, 2, arguments + "-o several.json");
  INFO(several.err);
  REQUIRE(several.code == 0);
  const Json expected = read_json(folder.path("one.json")).at("epochs").back();
  const Json result = read_json(folder.path("several.json")).at("epochs").back();
  CHECK(result.at("iterations") == expected.at("iterations"));
  CHECK(result.at("images") == expected.at("images"));
  CHECK(result.at("train_loss").get<double>() == Approx(expected.at("train_loss").get<double>()).epsilon(0.01));
}

TEST_CASE("Fewer workers than processes are refused once, by the first") {
  if (!has_mpi()) return;
  TemporaryFolder folder;
  const std::string error =
      "--algorithm backup-workers: 1 workers are too few for 2 processes; allowed: a worker or more in each "
      "(--learners N "
      "--backups b are of all processes)\n";
  const tests::Outcome outcome =
      run_processes(folder, 2, "--data synthetic --quiet --algorithm backup --learners 1 --backups 0");
  CHECK(outcome.code == 2);
  const std::size_t first = outcome.err.find(error);
  CHECK(first != std::string::npos);
  CHECK(outcome.err.find(error, first + 1) == std::string::npos);
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
