// If a signal ends simulate, its simulations end, too, and no output is left, whole or in part.
#include <fcntl.h>
#include <poll.h>

#include <csignal>
#include <stdexcept>

#include "engine/base/json.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

namespace lockstep::tests {
namespace {

// Returns true if every process that inherited the other end has ended.
bool have_all_ended(int end, int within_ms) {
  pollfd waiting{end, POLLIN, 0};
  return poll(&waiting, 1, within_ms) == 1 && (waiting.revents & POLLHUP) != 0;
}

bool has_child(pid_t process) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string stat = slurp(entry.path() / "stat");
    const std::size_t name_end = stat.rfind(')');  // followed by the state and the parent
    if (name_end != std::string::npos && std::atol(stat.c_str() + name_end + 4) == process) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("simulate: kill -9, Ctrl-C and SIGTERM leave no simulation computing and no output") {
  const int signal = GENERATE(SIGKILL, SIGINT, SIGTERM);
  const TemporaryFolder folder;
  folder.write("scenario.json", kScenario);
  folder.write("cluster.json", small_cluster(10));
  int life[2];
  REQUIRE(pipe(life) == 0);
  const pid_t simulate = fork();
  if (simulate == 0) {
    close(life[0]);
    if (chdir(folder.path("").c_str()) != 0) _exit(126);
    execl(LOCKSTEP_BUILD_DIR "/simulate", "simulate", "scenario.json", "--gpus", "20", "--fidelity", "message", "--set",
          "/iterations=100000", "--jobs", "2", "--quiet", "--json", "out.json", nullptr);
    _exit(127);
  }
  close(life[1]);
  while (!has_child(simulate) && !have_all_ended(life[0], 10)) {
  }
  CHECK_FALSE(have_all_ended(life[0], 100));
  kill(simulate, signal);
  int status = 0;
  waitpid(simulate, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == signal);
  CHECK(have_all_ended(life[0], 5000));
  CHECK(folder.files() == 2);
  close(life[0]);
}

TEST_CASE("plan: Ctrl-C says where finished points are, or that nothing was kept") {
  const bool keeps = GENERATE(true, false);
  const TemporaryFolder folder;
  Json scenario = Json::parse(kScenario);
  scenario["gpus"] = {20};
  scenario["fidelity"] = "message";
  scenario["iterations"] = 100000;
  folder.write("scenario.json", scenario.dump());
  folder.write("cluster.json", small_cluster(10));
  folder.write("plan.json", R"({"schema": "lockstep/plan/1", "name": "slow", "scenario": "scenario.json",
    "axes": [{"name": "GPUs", "pointer": "/gpus", "values": [20]}],
    "work": {"samples": 1e6}, "objective": {"kind": "least-time"}})");
  const std::string said = folder.path("said.txt");
  const pid_t plan = fork();
  if (plan == 0) {
    if (chdir(folder.path("").c_str()) != 0 || freopen(said.c_str(), "w", stderr) == nullptr) _exit(126);
    execl(LOCKSTEP_BUILD_DIR "/plan", "plan", "plan.json", "--quiet", keeps ? "--json" : nullptr, "out.json", nullptr);
    _exit(127);
  }
  for (int wait = 0; wait < 1000 && !has_child(plan); ++wait) usleep(10000);
  usleep(100000);
  kill(plan, SIGINT);
  int status = 0;
  waitpid(plan, &status, 0);
  INFO(slurp(said));
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
  CHECK_THAT(slurp(said), Contains(keeps ? "out.points.jsonl, and the same command with --resume"
                                         : "nothing was kept, because no output is written"));
}

}  // namespace lockstep::tests
