// A run that is killed and resumed, any number of times, ends with the same bits.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "engine/base/atomic_file.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

/// Starts build/train with `arguments`.
pid_t start(const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (int stream = 0; stream < 3; ++stream) ::dup2(nowhere, stream);
    std::string program = LOCKSTEP_BUILD_DIR "/train";
    std::vector<char*> argv{program.data()};
    std::vector<std::string> copies = arguments;
    for (std::string& argument : copies) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  return child;
}

/// Returns true if the child exited normally with success.
bool ended_well(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Runs until there is a checkpoint, then for `milliseconds`. Returns true if the run ended before it was killed.
bool run_and_kill(const std::vector<std::string>& arguments, const std::string& checkpoint, int milliseconds) {
  const pid_t child = start(arguments);
  while (!std::filesystem::exists(checkpoint)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  ::kill(child, SIGKILL);
  return ended_well(child);
}

std::vector<std::string> arguments_of(const TemporaryFolder& folder, const std::string& algorithm) {
  return {"--model",        folder.path("small.json"),
          "--data",         "synthetic",
          "--train-images", "6000",
          "--test-images",  "200",
          "--batch",        "8",
          "--epochs",       "3",
          "--threads",      "1",
          "--quiet",        "--augment",
          "--algorithm",    algorithm};
}

Json read_json(const std::string& path) {
  return Json::parse(read_file(path));
}

// Network and data are so large that no machine ends the run before the signal comes.
TEST_CASE(
    "A signal ends a run in order: the checkpoint is written, the exit code says which, the rest gives the same bits") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  const TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  std::vector<std::string> arguments = arguments_of(folder, "ssgd");
  std::vector<std::string> whole = arguments;
  whole.insert(whole.end(), {"-o", folder.path("whole.json")});
  REQUIRE(ended_well(start(whole)));
  // There are only the first save, at the start, and those of signals, so the run resumes from the signal's save.
  arguments.insert(arguments.end(), {"--checkpoint", folder.path("state"), "--checkpoint-minutes", "1000", "--resume",
                                     "-o", folder.path("run.json")});
  const pid_t child = start(arguments);
  while (!std::filesystem::exists(folder.path("state"))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::string at_start = read_file(folder.path("state"));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 128 + signal);
  CHECK(read_file(folder.path("state")) != at_start);
  REQUIRE(ended_well(start(arguments)));
  CHECK(read_json(folder.path("run.json")).at("parameters_sha256") ==
        read_json(folder.path("whole.json")).at("parameters_sha256"));
}

TEST_CASE("Killed at random moments and resumed: the same bits") {
  const std::string algorithm = GENERATE("ssgd", "sma", "easgd", "backup", "stale");
  const std::uint64_t seed = GENERATE(1U, 2U);
  INFO(algorithm << ", seed " << seed);
  const TemporaryFolder folder;
  folder.write("small.json", small_model(kNormAndDropout));
  std::vector<std::string> arguments = arguments_of(folder, algorithm);
  arguments.insert(arguments.end(), {"--seed", std::to_string(seed)});
  if (algorithm == "sma") arguments.insert(arguments.end(), {"--learners", "2", "--gpus", "2", "--tau", "2"});
  if (algorithm == "stale")
    arguments.insert(arguments.end(), {"--staleness", "3", "--staleness-drawn", "--moving-average", "0.99"});
  if (algorithm == "ssgd") arguments.insert(arguments.end(), {"--precision", "fp16"});
  if (algorithm == "backup") arguments.insert(arguments.end(), {"--optimizer", "adam"});

  std::vector<std::string> whole = arguments;
  whole.insert(whole.end(), {"-o", folder.path("whole.json")});
  REQUIRE(ended_well(start(whole)));

  arguments.insert(arguments.end(), {"--checkpoint", folder.path("state"), "--checkpoint-minutes", "0.0003", "--resume",
                                     "-o", folder.path("parts.json")});
  int killed = 0;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const int milliseconds = 1 + static_cast<int>(60 * random_uniform(seed, 1, i));
    if (!run_and_kill(arguments, folder.path("state"), milliseconds)) ++killed;
  }
  CHECK(killed > 0);
  REQUIRE(ended_well(start(arguments)));
  const Json parts = read_json(folder.path("parts.json"));
  CHECK(parts.at("resumed").get<int>() > 0);
  CHECK(numbers(parts) == numbers(read_json(folder.path("whole.json"))));
}

// The state is saved after every iteration, also after an epoch's last one, before the epoch's entry.
TEST_CASE("Ended between an epoch's last iteration and its entry, and resumed: the same record") {
  struct Ending : Observer {
    void epoch(const Json& epoch) override {
      if (epoch.at("epoch") == 2) throw std::runtime_error("ended here");
    }
  };
  const TemporaryFolder folder;
  Request r = small_request(folder, "sma");
  r.schedule = "linear";
  r.epochs = 3;
  const Json whole = run(r);
  r.checkpoint = folder.path("state");
  r.checkpoint_minutes = 1e-9;
  Ending ending;
  Trainer trainer(resolve(r), {"train"});
  CHECK_THROWS_WITH(trainer.run(ending), "ended here");
  r.resume = true;
  const Json rest = run(r);
  CHECK(rest.at("resumed") == 1);
  CHECK(numbers(rest) == numbers(whole));
}

TEST_CASE("A run that has ended is not trained again") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "ssgd");
  r.checkpoint = folder.path("state");
  const Json first = run(r);
  r.resume = true;
  const Json again = run(r);
  CHECK(numbers(again) == numbers(first));
  CHECK(again.at("resumed") == 1);
  r.epochs = 3;  // more epochs are more of the same run
  const Json longer = run(r);
  r.resume = false;
  CHECK(numbers(longer) == numbers(run(r)));
}

std::string refusal(const Request& request) {
  try {
    run(request);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// A checkpoint's first line has the length of its header and the digest of the rest.
void rename_algorithm(const std::string& path, const std::string& from, const std::string& to) {
  const std::string bytes = read_file(path);
  const std::size_t line_end = bytes.find('\n');
  std::istringstream line(bytes.substr(0, line_end));
  std::string magic;
  std::size_t header_bytes = 0;
  line >> magic >> header_bytes;
  std::string header = bytes.substr(line_end + 1, header_bytes);
  const std::string was = "\"algorithm\":\"" + from + "\"";
  header.replace(header.find(was), was.size(), "\"algorithm\":\"" + to + "\"");
  const std::string body = header + bytes.substr(line_end + 1 + header_bytes);
  write_file_atomically(path, magic + " " + std::to_string(header.size()) + " " + sha256_hex(body) + "\n" + body);
}

TEST_CASE("A checkpoint that names its algorithm as it was called before goes on") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "s-sgd");
  r.epochs = 1;
  r.checkpoint = folder.path("state");
  run(r);
  rename_algorithm(r.checkpoint, "s-sgd", "ssgd");
  r.resume = true;
  r.epochs = 2;
  const Json rest = run(r);
  CHECK(rest.at("resumed") == 1);
  r.resume = false;
  CHECK(numbers(rest) == numbers(run(r)));

  rename_algorithm(r.checkpoint, "s-sgd", "easgd");
  r.resume = true;
  CHECK(refusal(r) ==
        r.checkpoint + ": was written with algorithm \"easgd\", not \"s-sgd\"; allowed: the same settings");
}

TEST_CASE("A checkpoint of another run, or a damaged one, is refused") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "ssgd");
  r.epochs = 1;
  r.checkpoint = folder.path("state");
  run(r);
  r.resume = true;
  Request other = r;
  other.learning_rate = 0.5;
  CHECK(refusal(other) == r.checkpoint + ": was written with learning_rate 0.005, not 0.5; allowed: the same settings");
  other = r;
  other.model = folder.write("other.json", small_model(""));
  CHECK(refusal(other).find("was written with model") != std::string::npos);

  std::string bytes = read_file(r.checkpoint);
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);
  write_file_atomically(r.checkpoint, bytes);
  CHECK(refusal(r) == r.checkpoint + ": is damaged; allowed: a checkpoint of the same run");
  write_file_atomically(r.checkpoint, bytes.substr(0, bytes.size() / 2));
  CHECK(refusal(r) == r.checkpoint + ": is damaged; allowed: a checkpoint of the same run");
  write_file_atomically(r.checkpoint, "something else\n");
  CHECK(refusal(r) == r.checkpoint + ": is no checkpoint; allowed: a checkpoint of the same run");
}

}  // namespace
}  // namespace lockstep::train
