// The program as a user runs it: exit codes, equal bytes from any number of processes and ranks, and continued runs
// after a kill.
#include <algorithm>

#include "tests/base/ended_process.hpp"
#include "tests/catch.hpp"
#include "tests/cli/mpi_launcher.hpp"
#include "tests/cli/process.hpp"
#include "tests/plan/small_plans.hpp"

namespace lockstep::tests {
namespace {

Outcome plan(const SmallPlan& files, const std::string& arguments) {
  files.write();
  return run_program(files.folder.path("."), "plan", arguments);
}

Json document(const SmallPlan& files, const std::string& name) {
  Json json = Json::parse(slurp(files.folder.path(name)));
  json.erase("provenance");
  return json;
}

std::size_t lines_of(const std::string& path) {
  const std::string text = slurp(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Runs a shell script in the folder; $PLAN is the program.
int shell(const SmallPlan& files, const std::string& script) {
  files.write();
  const std::string path = files.folder.write("script.sh", "export PLAN='" LOCKSTEP_BUILD_DIR "/plan'\n" + script);
  return std::system(("cd '" + files.folder.path(".") + "' && sh '" + path + "' >script.out 2>&1").c_str());
}

bool has_mpirun() {
  const bool has = std::system("command -v mpirun >/dev/null 2>&1") == 0;
  if (!has) WARN("skipped: no mpirun");
  return has;
}

// Ranks share the machine, and its root user if that user runs the tests.
const std::string kMpirun =
    "mpirun --oversubscribe $([ $(id -u) = 0 ] && echo --allow-run-as-root) --mca btl_vader_single_copy_mechanism "
    "none ";

}  // namespace

TEST_CASE("plan prints the answer and writes what it is asked for") {
  const SmallPlan files;
  const Outcome done = plan(files, "plan.json -o out.html --json out.json --csv out.csv --markdown out.md");
  CHECK(done.code == 0);
  CHECK(done.err.empty());
  CHECK_THAT(done.out, Contains("Frontier of time and cost") && Contains("recommended") && Contains("what if"));
  CHECK_THAT(done.out, Contains("memory/GPU") && Contains(" of 14.9 GiB "));
  CHECK(document(files, "out.json")["points"].size() == 12);
  CHECK(lines_of(files.folder.path("out.csv")) == 13);
  CHECK_THAT(slurp(files.folder.path("out.md")), Contains("**Answer.**"));
  CHECK_THAT(slurp(files.folder.path("out.html")), Contains("<!DOCTYPE html>") || Contains("<!doctype html>"));
}

TEST_CASE("plan --ignore-memory predicts what does not fit") {
  SmallPlan files;
  files.plan["axes"][1]["values"] = Json::array({100000});
  const Outcome refused = plan(files, "plan.json");
  CHECK(refused.code == 1);
  CHECK_THAT(refused.out, Contains("refused: memory: batch 100000 needs "));
  const Outcome asked = plan(files, "plan.json --ignore-memory");
  CHECK(asked.code == 0);
  CHECK_THAT(asked.out, Contains("6 points: 6 predicted"));
}

TEST_CASE("plan: bad usage and bad input end with 2 and touch no file") {
  SmallPlan files;
  CHECK(plan(files, "").code == 2);
  CHECK(plan(files, "plan.json --jobs 0").code == 2);
  CHECK(plan(files, "none.json --json out.json").code == 2);
  CHECK(plan(files, "plan.json --resume").code == 2);
  CHECK(plan(files, "plan.json --json none/out.json").code == 2);
  files.plan["axes"][1]["values"][0] = "many";
  const Outcome bad = plan(files, "plan.json --json out.json --csv out.csv");
  CHECK(bad.code == 2);
  CHECK(bad.out.empty());
  CHECK_THAT(bad.err, Contains("plan.json: /axes/1/values/0: "));
  CHECK(std::count(bad.err.begin(), bad.err.end(), '\n') == 1);
  CHECK(files.folder.files() == 2);
}

TEST_CASE("plan: a page that is watched ends as one that is not") {
  const SmallPlan files;
  CHECK(plan(files, "plan.json --watch").code == 2);
  CHECK_THAT(plan(files, "plan.json --watch").err,
             Contains("--watch: there is no page to draw again; allowed: with -o"));
  CHECK(plan(files, "plan.json --watch -o watched.html --json watched.json").code == 0);
  CHECK(plan(files, "plan.json --json plain.json").code == 0);
  CHECK(document(files, "watched.json").dump() == document(files, "plain.json").dump());
  CHECK(slurp(files.folder.path("watched.html")).find("\"so_far\"") == std::string::npos);
}

TEST_CASE("plan: the same bytes with one process and with four") {
  const SmallPlan files;
  CHECK(plan(files, "plan.json --jobs 1 --json one.json --csv one.csv").code == 0);
  CHECK(plan(files, "plan.json --jobs 4 --json four.json --csv four.csv").code == 0);
  CHECK(document(files, "one.json").dump() == document(files, "four.json").dump());
  CHECK(slurp(files.folder.path("one.csv")) == slurp(files.folder.path("four.csv")));
}

TEST_CASE("plan: the same bytes over MPI ranks") {
  if (!has_mpirun()) return;
  const SmallPlan files;
  CHECK(plan(files, "plan.json --jobs 1 --json one.json --csv one.csv").code == 0);
  for (const char* ranks : {"2", "3"}) {
    CHECK(shell(files, kMpirun + "-n " + ranks + " $PLAN plan.json --json ranks.json --csv ranks.csv") == 0);
    INFO(slurp(files.folder.path("script.out")));
    CHECK(document(files, "one.json").dump() == document(files, "ranks.json").dump());
    CHECK(slurp(files.folder.path("one.csv")) == slurp(files.folder.path("ranks.csv")));
    CHECK_THAT(slurp(files.folder.path("script.out")), Contains("Frontier of time and cost"));
  }
}

// The launcher may end the job with the rank. Then another run continues from the journal.
TEST_CASE("plan: if a rank is killed, no point is lost") {
  if (!has_mpirun()) return;
  SmallPlan files;
  files.plan["refine"] = {{"coarse", "message"}, {"refined", "message"}};
  files.plan["scenario"]["iterations"] = 40;
  CHECK(plan(files, "plan.json --jobs 2 --json whole.json").code == 0);
  const std::string rank = "$PLAN plan.json --json out.json --patience 3";
  CHECK(
      shell(files, kMpirun + "--enable-recovery -n 3 sh -c '" + exec_with_victim(1) + rank +
                       "' &\n"
                       "job=$!\n"
                       "while kill -0 $job 2>/dev/null && [ $(cat out.points.jsonl 2>/dev/null | wc -l) -lt 3 ]; do :; "
                       "done\n"
                       "kill -9 $(cat victim)\n"
                       "wait $job\n"
                       "[ -f out.json ] || $PLAN plan.json --json out.json --resume\n") == 0);
  INFO(slurp(files.folder.path("script.out")));
  CHECK(document(files, "out.json").dump() == document(files, "whole.json").dump());
}

// The launcher lets the ranks live, so they would wait for rank 0 forever. `timeout` ends a hanging job with 124.
TEST_CASE("plan: if rank 0 is killed, the other ranks exit, and a new run continues the journal") {
  if (!has_mpirun()) return;
  SmallPlan files;
  files.plan["refine"] = {{"coarse", "message"}, {"refined", "message"}};
  files.plan["scenario"]["iterations"] = 40;
  CHECK(plan(files, "plan.json --jobs 2 --json whole.json").code == 0);
  const std::string rank = "$PLAN plan.json --json out.json --patience 2";
  CHECK(
      shell(files,
            "timeout -k 5 90 " + kMpirun + "--enable-recovery -n 3 sh -c '" + exec_with_victim(0) + rank +
                "' &\n"
                "job=$!\n"
                "while kill -0 $job 2>/dev/null && [ $(cat out.points.jsonl 2>/dev/null | wc -l) -lt 3 ]; do :; done\n"
                "kill -9 $(cat victim)\n"
                "wait $job\n"
                "[ $? -ne 124 ] || exit 1\n"
                "[ -f out.json ] && exit 0\n"  // it was done before it was killed
                "grep -q 'rank 0 is silent' script.out || exit 2\n"
                "exec $PLAN plan.json --json out.json --resume\n") == 0);
  INFO(slurp(files.folder.path("script.out")));
  CHECK(document(files, "out.json").dump() == document(files, "whole.json").dump());
}

TEST_CASE("plan: what a journal has is not done again") {
  const SmallPlan files;
  CHECK(plan(files, "plan.json --json out.json").code == 0);
  const Json expected = document(files, "out.json");
  const std::string journal = files.folder.path("out.points.jsonl");
  const std::size_t all = lines_of(journal) - 1;
  const std::string part = files.folder.write("out.json.part" + ended_process() + "-0", "half a result");
  const std::string other = files.folder.write("out.csv.part" + ended_process() + "-0", "of another plan's output");
  const Outcome resumed = plan(files, "plan.json --json out.json --resume");
  CHECK_FALSE(std::filesystem::exists(part));
  CHECK(std::filesystem::exists(other));
  CHECK(resumed.err == std::to_string(all) + " simulations taken up, 0 done\n");
  CHECK(document(files, "out.json") == expected);

  const std::string whole = slurp(journal);
  std::size_t end = 0;
  for (int line = 0; line < 6; ++line) end = whole.find('\n', end) + 1;
  files.folder.write("out.points.jsonl", whole.substr(0, end + 40));  // five tasks, and a torn one
  const Outcome torn = plan(files, "plan.json --json out.json --resume");
  CHECK_THAT(torn.err, Contains("5 simulations taken up, " + std::to_string(all - 5) + " done"));
  CHECK(document(files, "out.json") == expected);
}

TEST_CASE("plan: another plan does not take a journal up") {
  SmallPlan files;
  CHECK(plan(files, "plan.json --json out.json").code == 0);
  files.plan["prices"]["gpu"] = "3 USD/h";
  const Outcome other = plan(files, "plan.json --json out.json --resume");
  CHECK_THAT(other.err, Contains("made by another plan") && Contains("0 simulations taken up"));
}

TEST_CASE("plan: killed or asked to end at any moment, it goes on to the same result") {
  const std::string signal = GENERATE("KILL", "TERM");
  SmallPlan files;
  files.plan["refine"] = {{"coarse", "message"}, {"refined", "message"}};
  files.plan["scenario"]["iterations"] = 20;
  CHECK(plan(files, "plan.json --jobs 2 --json whole.json").code == 0);
  // Killed as soon as there are four lines, the header and three tasks.
  CHECK(shell(files,
              "$PLAN plan.json --jobs 1 --json out.json &\n"
              "pid=$!\n"
              "while kill -0 $pid 2>/dev/null && [ $(cat out.points.jsonl 2>/dev/null | wc -l) -lt 4 ]; do :; done\n"
              "kill -" +
                  signal +
                  " $pid\n"
                  "wait $pid\n"
                  "cp out.points.jsonl killed.jsonl\n"
                  "$PLAN plan.json --jobs 2 --json out.json --resume\n") == 0);
  const std::string said = slurp(files.folder.path("script.out"));
  INFO(said);
  CHECK(lines_of(files.folder.path("killed.jsonl")) >= 4);
  CHECK(said.find("\n0 simulations taken up") == std::string::npos);
  CHECK(document(files, "out.json").dump() == document(files, "whole.json").dump());
}

TEST_CASE("plan: a full standard output is reported, and the files are written") {
  const SmallPlan files;
  CHECK(WEXITSTATUS(shell(files, "$PLAN plan.json --json out.json >/dev/full")) == 1);
  CHECK_THAT(slurp(files.folder.path("script.out")), Contains("plan: standard output: cannot write: No space left"));
  CHECK(document(files, "out.json")["points"].size() == 12);
}

TEST_CASE("plan: the plan, or what is no journal, as the journal is refused, and stays what it was") {
  const SmallPlan files;
  const Outcome own = plan(files, "plan.json --journal plan.json");
  CHECK(own.code == 2);
  CHECK_THAT(own.err, Contains("plan.json: is read and would be replaced; allowed: "));
  CHECK(slurp(files.folder.path("plan.json")) == files.plan.dump());
  files.folder.write("notes.txt", "precious");
  const Outcome other = plan(files, "plan.json --journal notes.txt");
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Contains("notes.txt: is no journal of a plan; allowed: "));
  CHECK(slurp(files.folder.path("notes.txt")) == "precious");
}

}  // namespace lockstep::tests
