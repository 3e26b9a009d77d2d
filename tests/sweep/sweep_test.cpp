// Sweeps of short runs, on a small network and small synthetic images.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "engine/base/study.hpp"
#include "engine/sweep/outcome.hpp"
#include "engine/sweep/runner.hpp"
#include "tests/base/ended_process.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::sweep {
namespace {

using tests::Outcome;
using tests::run_program;
using tests::slurp;

/// Two cells of two seeds with a search over two rates: 8 runs. `train_images` sets how long a run takes.
std::string sweep_text(const TemporaryFolder& folder, int train_images = 512) {
  folder.write("small.json", train::small_model(""));
  return R"({"schema": "lockstep/sweep/1", "name": "small", "targets": [0.6, 1], "seeds": [1, 2],
    "options": {"model": ")" +
         folder.path("small.json") + R"(", "data": "synthetic", "train_images": )" + std::to_string(train_images) +
         R"(, "test_images": 100, "epochs": 2, "evaluations_per_epoch": 4},
    "search": {"factors": [0.5, 1], "seed": 100, "options": {"train_images": 128, "epochs": 1}},
    "groups": [{"name": "ssgd", "options": {"algorithm": "ssgd", "learning_rate": 0.02}, "over": {"batch": [8, 16]}}]})";
}

const std::vector<std::string> kRuns = {"ssgd-8/seed-1", "ssgd-8/seed-2", "ssgd-16/seed-1", "ssgd-16/seed-2"};

/// Returns the results, without times, of each of the sweep's runs.
std::map<std::string, std::string> digests(const TemporaryFolder& folder, const std::string& out) {
  std::map<std::string, std::string> result;
  for (const std::string& run : kRuns) {
    const std::string text = slurp(folder.path(out + "/" + run + ".json"));
    result[run] = text.empty() ? "missing" : train::digest(Json::parse(text));
  }
  return result;
}

TEST_CASE("A sweep runs its search and every cell and seed once") {
  const TemporaryFolder folder;
  folder.write("sweep.json", sweep_text(folder));
  const Outcome outcome = run_program(folder.path(""), "train", "sweep sweep.json -o out --jobs 2");
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Json summary = Json::parse(slurp(folder.path("out/sweep.json")));
  CHECK(summary.at("schema") == "lockstep/sweep-result/1");
  REQUIRE(summary.at("cells").size() == 2);
  for (const Json& cell : summary.at("cells")) {
    REQUIRE(cell.at("search").size() == 2);
    // The chosen rate is that of the better of the two, found here from the search's own records.
    const double low = cell.at("search")[0].at("test_accuracy"), high = cell.at("search")[1].at("test_accuracy");
    CHECK(cell.at("learning_rate") == (high > low ? 0.02 : 0.01));
    REQUIRE(cell.at("runs").size() == 2);
    for (const Json& run : cell.at("runs")) {
      const Json record = Json::parse(slurp(folder.path("out/" + run.at("file").get<std::string>())));
      CHECK(record.at("options").at("learning_rate") == cell.at("learning_rate"));
      CHECK(record.at("status") == run.at("status"));
      CHECK_FALSE(std::filesystem::exists(folder.path("out/" + run.at("file").get<std::string>() + ".checkpoint")));
    }
  }
  CHECK(outcome.out.find("ssgd-16") != std::string::npos);

  SECTION("and repeats none of them") {
    std::map<std::string, std::filesystem::file_time_type> written;
    for (const std::string& run : kRuns)
      written[run] = std::filesystem::last_write_time(folder.path("out/" + run + ".json"));
    const Outcome again = run_program(folder.path(""), "train", "sweep sweep.json -o out");
    CHECK(again.code == 0);
    CHECK(again.err.empty());
    for (const std::string& run : kRuns)
      CHECK(std::filesystem::last_write_time(folder.path("out/" + run + ".json")) == written[run]);
  }
  SECTION("and knows them by the algorithm's older name") {
    const std::string path = folder.path("out/ssgd-8/seed-1.json");
    std::string text = slurp(path);
    const std::string name = "\"algorithm\": \"s-sgd\"";
    REQUIRE(text.find(name) != std::string::npos);
    text.replace(text.find(name), name.size(), "\"algorithm\": \"ssgd\"");
    folder.write("out/ssgd-8/seed-1.json", text);
    const Outcome again = run_program(folder.path(""), "train", "sweep sweep.json -o out");
    CHECK(again.code == 0);
    CHECK(again.err.empty());
    CHECK(slurp(path) == text);
  }
  SECTION("and says as much in one file, from which it goes on as from the folder") {
    const Outcome collected = run_program(folder.path(""), "train", "sweep sweep.json -o out --collect");
    CHECK(collected.code == 0);
    CHECK(collected.out == outcome.out);
    std::vector<StudyLine> lines = load_study(folder.path("out.jsonl"));
    REQUIRE(lines.size() == 1 + 4 + 4);
    for (std::size_t i = 1; i < lines.size(); ++i) {
      Json record = lines[i].document.json();
      record.erase("name");
      CHECK(record.dump() == Json::parse(slurp(lines[i].file)).dump());
    }
    std::filesystem::remove_all(folder.path("out"));
    const Outcome shown = run_program(folder.path(""), "train", "sweep sweep.json -o out/ --show");
    CHECK(shown.out == outcome.out);
    const Outcome again = run_program(folder.path(""), "train", "sweep sweep.json -o out");
    CHECK(again.err.empty());
    CHECK(again.out == outcome.out);
    CHECK_FALSE(std::filesystem::exists(folder.path("out/ssgd-8")));
  }
  SECTION("but runs what a wider sweep adds, and refuses other settings in the same folder") {
    std::string text = slurp(folder.path("sweep.json"));
    text.replace(text.find("\"seeds\": [1, 2]"), 15, "\"seeds\": [1, 2, 3]");
    folder.write("wider.json", text);
    const Outcome wider = run_program(folder.path(""), "train", "sweep wider.json -o out");
    CHECK(wider.code == 0);
    CHECK(std::count(wider.err.begin(), wider.err.end(), '\n') == 2);
    text.replace(text.find("\"train_images\": 512"), 19, "\"train_images\": 500");
    folder.write("other.json", text);
    const Outcome other = run_program(folder.path(""), "train", "sweep other.json -o out");
    CHECK(other.code == 2);
    CHECK(other.err.find("holds a run with train_images 512, not 500; allowed: a record of the same sweep") !=
          std::string::npos);
  }
}

pid_t start_sweep(const TemporaryFolder& folder, const std::string& out) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const std::string program = LOCKSTEP_BUILD_DIR "/train", file = folder.path("sweep.json"), to = folder.path(out);
  ::execl(program.c_str(), "train", "sweep", file.c_str(), "-o", to.c_str(), "--jobs", "2", "--quiet", nullptr);
  ::_exit(127);
}

TEST_CASE("A sweep killed at any moment, and called again, ends with the same models") {
  const TemporaryFolder folder;
  folder.write("sweep.json", sweep_text(folder, 3000));
  REQUIRE(run_program(folder.path(""), "train", "sweep sweep.json -o whole").code == 0);
  // The state after a kill while a run's record is written.
  const std::string part = folder.write("parts/ssgd-8/seed-1.json.part" + ended_process() + "-0", "half a record");
  for (const int milliseconds : {20, 60, 120, 200}) {
    const pid_t sweep = start_sweep(folder, "parts");
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(sweep, SIGKILL);
    ::waitpid(sweep, nullptr, 0);
  }
  // Two callers divide the remaining runs.
  const pid_t one = start_sweep(folder, "parts"), two = start_sweep(folder, "parts");
  int status_one = -1, status_two = -1;
  ::waitpid(one, &status_one, 0);
  ::waitpid(two, &status_two, 0);
  CHECK(status_one == 0);
  CHECK(status_two == 0);
  CHECK(digests(folder, "parts") == digests(folder, "whole"));
  CHECK_FALSE(std::filesystem::exists(part));
}

TEST_CASE("A sweep's folder and study go on with the sweep that made them, and are drawn") {
  const TemporaryFolder folder;
  folder.write("sweep.json", sweep_text(folder));
  REQUIRE(run_program(folder.path(""), "train", "sweep sweep.json -o out --collect").code == 0);
  const std::map<std::string, std::string> before = digests(folder, "out");
  std::filesystem::remove(folder.path("out/ssgd-8/seed-2.json"));
  std::filesystem::rename(folder.path("out.jsonl"), folder.path("kept.jsonl"));
  const Outcome again = run_program(folder.path(""), "train", "sweep out");
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(digests(folder, "out") == before);
  const Outcome shown = run_program(folder.path(""), "train", "sweep kept.jsonl --show");
  CHECK(shown.code == 0);
  CHECK(shown.out.find("ssgd-16") != std::string::npos);
  CHECK(run_program(folder.path(""), "train", "plot kept.jsonl -o curves.svg").code == 0);
  CHECK(slurp(folder.path("curves.svg")).find("ssgd-16, median of 2 seeds") != std::string::npos);
  const Outcome refused = run_program(folder.path(""), "train", "sweep sweep.json");
  CHECK(refused.code == 2);
  CHECK(refused.err.find("-o is missing") != std::string::npos);
}

TEST_CASE("A sweep without targets trains all epochs, and its losses are drawn") {
  const TemporaryFolder folder;
  std::string text = sweep_text(folder);
  const std::string targets = "\"targets\": [0.6, 1], ";
  text.replace(text.find(targets), targets.size(), "");
  folder.write("sweep.json", text);
  const Outcome outcome = run_program(folder.path(""), "train", "sweep sweep.json -o out --collect");
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(outcome.out.find("test accuracy") != std::string::npos);
  CHECK(outcome.out.find(" to ") == std::string::npos);
  const Json summary = Json::parse(slurp(folder.path("out/sweep.json")));
  for (const Json& cell : summary.at("cells"))
    for (const Json& run : cell.at("runs")) {
      CHECK(run.at("status") == "epochs done");
      CHECK(run.at("epochs") == 2);
      CHECK(run.at("iterations_to_target").empty());
    }
  // Two panels with a band and a median of two points for each of two cells.
  REQUIRE(run_program(folder.path(""), "train", "plot out.jsonl -o curves.svg").code == 0);
  const std::string svg = slurp(folder.path("curves.svg"));
  CHECK(svg.find("no training loss") == std::string::npos);
  std::size_t bands = 0;
  for (std::size_t at = svg.find("<polygon"); at != std::string::npos; at = svg.find("<polygon", at + 1)) ++bands;
  CHECK(bands == 4);
  // Targets may be given afterwards.
  CHECK(run_program(folder.path(""), "train", "sweep out.jsonl --show").code == 0);
}

TEST_CASE("A run that fails or diverges is on record, and the others go on") {
  const TemporaryFolder folder;
  std::string text = sweep_text(folder);
  text.replace(text.find("\"search\""), text.find("\"groups\"") - text.find("\"search\""), "");
  text.replace(text.find("0.02"), 4, "1e30");
  text.replace(text.rfind("}]"), 2, R"(}, {"name": "good", "options": {"learning_rate": 0.02}},
    {"name": "huge", "options": {"train_images": 20000}}])");
  folder.write("sweep.json", text);
  const Outcome outcome = run_program(folder.path(""), "train", "sweep sweep.json -o out");
  CHECK(outcome.code == 1);
  CHECK(outcome.err.find("2 runs failed") != std::string::npos);
  const auto record = [&](const std::string& run) { return Json::parse(slurp(folder.path("out/" + run + ".json"))); };
  CHECK(record("ssgd-8/seed-1").at("status") == "diverged");
  CHECK(record("good/seed-2").at("status") != "failed");
  CHECK(record("huge/seed-1").at("status") == "failed");
  CHECK(record("huge/seed-1").at("error").get<std::string>().find("--train-images: 20000 is more than there are") !=
        std::string::npos);
}

struct Bad {
  const char* was;
  const char* is;
  const char* error;
};

const Bad kBad[] = {
    {"lockstep/sweep/1", "lockstep/sweep/2", "/schema: "},
    {"\"targets\": [0.6, 1]", "\"targets\": [0.6, 0.5]", "/targets/1: does not rise; allowed: rising numbers"},
    {"\"targets\": [0.6, 1]", "\"targets\": [99]", "/targets/0: "},
    {"\"targets\": [0.6, 1]", "\"targets\": []", "/targets: is empty; allowed: at least one number"},
    {"\"seeds\": [1, 2]", "\"seeds\": [1, 1]", "/seeds/1: is there twice; allowed: each seed once"},
    {"\"seeds\": [1, 2]", "\"seeds\": [1, -2]", "/seeds/1: "},
    {"\"seeds\": [1, 2]", "\"seeds\": [1, 100]",
     "/groups/0: cell ssgd-8 has the search's seed; allowed: seeds that the search has not seen"},
    {"\"test_images\": 100", "\"seed\": 3",
     "/options/seed: is set by the sweep; allowed: the flags of a run but seed, threads, target, stop and files"},
    {"\"test_images\": 100", "\"test_imagse\": 100", "/groups/0: run search/ssgd-8/rate-0.01: "},
    {"\"test_images\": 100", "\"test_images\": -1",
     "/groups/0: run search/ssgd-8/rate-0.01: --test-images: -1 is out of range; allowed: 1 to 4294967296"},
    {"\"test_images\": 100", "\"test_images\": null",
     "/options/test_images: is no value of a flag; allowed: a number, a text, true, false, or a list of numbers"},
    {"\"epochs\": 1}", "\"augment\": false}",
     "/search/options: has no epochs; allowed: train_images and epochs: the budget of every cell"},
    {"\"factors\": [0.5, 1]", "\"factors\": [0]", "/search/factors/0: "},
    {"\"factors\": [0.5, 1]", "\"factor\": [1]", "/search: unknown key \"factor\""},
    {", \"learning_rate\": 0.02", "", "/groups/0: cell ssgd-8 has no learning_rate for the search"},
    {"\"over\": {\"batch\": [8, 16]}", "\"over\": {\"batch\": []}", "/groups/0/over/batch: is empty"},
    {"\"over\": {\"batch\": [8, 16]}", "\"over\": {\"batch\": [8, 8]}", "/groups/0: cell \"ssgd-8\" is there twice"},
    {"\"over\": {\"batch\": [8, 16]}", "\"over\": {\"tau\": [2]}",
     "/groups/0: run search/ssgd-2/rate-0.01: --tau: has no meaning with --algorithm s-sgd"},
    {"\"name\": \"ssgd\"", "\"name\": \"../ssgd\"", "/groups/0/name: \"../ssgd\" is no name of files"},
};

TEST_CASE("A sweep file that is wrong is refused before any run, in one line") {
  for (const Bad& bad : kBad) {
    const TemporaryFolder folder;
    std::string text = sweep_text(folder);
    const std::size_t at = text.find(bad.was);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string(bad.was).size(), bad.is);
    const std::string path = folder.write("sweep.json", text);
    std::string error = "accepted";
    try {
      load_sweep(path, {});
    } catch (const InputError& refused) {
      error = refused.what();
    }
    INFO(bad.is);
    CHECK(error.rfind(path + ": " + bad.error, 0) == 0);
    CHECK(error.find('\n') == std::string::npos);
    if (error.rfind(path + ": " + bad.error, 0) != 0) WARN(error);
  }
}

TEST_CASE("The search gives every cell as many rates, and enough iterations where the batch is large") {
  const TemporaryFolder folder;
  std::string text = sweep_text(folder);
  text.replace(text.find("\"seed\": 100"), 11, "\"seed\": 100, \"least_iterations\": 20");
  const Sweep sweep = load_sweep(folder.write("sweep.json", text), {"", 1});
  REQUIRE(sweep.cells.size() == 2);
  // 128 images: 16 iterations an epoch at batch 8, 8 at batch 16; 20 need 2 and 3 epochs.
  CHECK(sweep.cells[0].rates == std::vector<double>{0.01, 0.02});
  CHECK(sweep.cells[0].search[0].settings.request.epochs == 2);
  CHECK(sweep.cells[1].search[1].settings.request.epochs == 3);
  CHECK(sweep.cells[1].search[1].settings.request.seed == 100);
  CHECK(runs_of(sweep, sweep.cells[1], 0.01)[1].settings.request.target == 1);
}

TEST_CASE("A checkpoint that a killed sweep left beside a finished record goes with the next call") {
  const TemporaryFolder folder;
  folder.write("sweep.json", sweep_text(folder));
  REQUIRE(run_program(folder.path(""), "train", "sweep sweep.json -o out --quiet").code == 0);
  folder.write("out/ssgd-8/seed-1.checkpoint", "left");
  REQUIRE(run_program(folder.path(""), "train", "sweep sweep.json -o out --quiet").code == 0);
  CHECK_FALSE(std::filesystem::exists(folder.path("out/ssgd-8/seed-1.checkpoint")));
  // A run that failed is not finished.
  Json record = Json::parse(slurp(folder.path("out/ssgd-8/seed-1.json")));
  record["status"] = "failed";
  folder.write("out/ssgd-8/seed-1.json", record.dump());
  const Outcome shown = run_program(folder.path(""), "train", "sweep sweep.json -o out --show");
  CHECK(shown.out.find("    1/2") != std::string::npos);
}

TEST_CASE("A sweep's folder that cannot be is bad input, in one line with its path") {
  const TemporaryFolder folder;
  folder.write("sweep.json", sweep_text(folder));
  folder.write("file", "");
  for (const char* path : {"file", "file/out", "/proc/out"}) {
    const Outcome outcome = run_program(folder.path(""), "train", std::string("sweep sweep.json -o ") + path);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find(std::string(path) + ": cannot be made a folder: ") == 0);
  }
}

TEST_CASE("The table says which runs ended at chance or diverged, and nothing of runs that learned") {
  const TemporaryFolder folder;
  folder.write("small.json", train::small_model(""));
  const auto table_of = [&](const std::string& name, const std::string& rate) {
    folder.write(name + ".json", R"({"schema": "lockstep/sweep/1", "name": "small", "seeds": [1, 2],
      "options": {"model": ")" + folder.path("small.json") +
                                     R"(", "data": "synthetic", "train_images": 256, "test_images": 200, "epochs": 4,
      "algorithm": "s-sgd", "batch": 8}, "groups": [{"name": "ssgd", "over": {"learning_rate": [)" +
                                     rate + "]}}]}");
    return run_program(folder.path(""), "train", "sweep " + name + ".json -o " + name + "_out --jobs 2").out;
  };
  const std::string good = table_of("good", "0.02"), frozen = table_of("frozen", "1e-9");
  CHECK_THAT(good, !Contains("at chance") && !Contains("diverged"));
  CHECK_THAT(frozen, Contains("2 of 2 ended at chance") && Contains("try a lower learning rate"));
  CHECK_THAT(table_of("wild", "1e4"), Contains("2 of 2 diverged") || Contains("2 of 2 ended at chance"));
}

}  // namespace
}  // namespace lockstep::sweep
