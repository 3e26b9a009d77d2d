// simulate as a user runs it: help, models, overrides, output files, progress, exit codes.
#include <fcntl.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/small_inputs.hpp"

using lockstep::TemporaryFolder;
using lockstep::tests::Outcome;
using lockstep::tests::run_program;
using lockstep::tests::slurp;
using lockstep::tests::small_cluster;
using Json = nlohmann::ordered_json;

namespace {

// Its compute times vary with a seed.
const char* const kScenario = R"({
  "schema": "lockstep/scenario/1", "name": "small", "cluster": "cluster.json", "model": "lenet_crossbow",
  "gpus": [2, 4], "batch_per_gpu": 16,
  "compute": {"precision": "fp32", "jitter": {"distribution": "lognormal", "coefficient_of_variation": 0.1}},
  "communication": {"all_reduce": "ring"}, "iterations": 3})";

// Takes far more than a second of processor time, so that `ulimit -t 1` ends the simulation.
const char* const kEndless = "scenario.json --gpus 20 --fidelity message --set /iterations=100000 --jobs 1";

void write_inputs(const TemporaryFolder& folder) {
  folder.write("scenario.json", kScenario);
  folder.write("cluster.json", small_cluster(10));
}

Outcome run_small(const TemporaryFolder& folder, const std::string& arguments) {
  write_inputs(folder);
  return run_program(folder.path(""), "simulate", arguments);
}

// Returns the result of the small scenario with these arguments.
Json result_of(const std::string& arguments) {
  const TemporaryFolder folder;
  const Outcome outcome = run_small(folder, "scenario.json --json out.json " + arguments);
  INFO(arguments << ": " << outcome.err);
  REQUIRE(outcome.code == 0);
  return Json::parse(slurp(folder.path("out.json")));
}

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) names.insert(entry.path().filename());
  return names;
}

// Returns the GPUs in the trace file, in its order.
std::vector<int> traced_gpus(const std::string& arguments) {
  const TemporaryFolder folder;
  const Outcome outcome = run_small(folder, "scenario.json --trace trace.json " + arguments);
  INFO(arguments << ": " << outcome.err);
  REQUIRE(outcome.code == 0);
  std::vector<int> gpus;
  const Json trace = Json::parse(slurp(folder.path("trace.json")));
  for (const Json& event : trace["traceEvents"])
    if (event["name"] == "process_name") gpus.push_back(event["pid"]);
  return gpus;
}

// Runs simulate with one second of processor time for each of its processes.
Outcome run_for_a_second(const TemporaryFolder& folder, const std::string& arguments) {
  const std::string command = "cd '" + folder.path("") + "' && ulimit -t 1 && '" LOCKSTEP_BUILD_DIR "/simulate' " +
                              arguments + " >stdout.txt 2>stderr.txt </dev/null";
  const int status = std::system(command.c_str());
  const Outcome outcome{WEXITSTATUS(status), slurp(folder.path("stdout.txt")), slurp(folder.path("stderr.txt"))};
  std::filesystem::remove(folder.path("stdout.txt"));
  std::filesystem::remove(folder.path("stderr.txt"));
  return outcome;
}

// Runs simulate with its stderr on a terminal. Returns the text written there. Its stdout goes to "stdout.txt".
std::string on_terminal(const TemporaryFolder& folder, const std::string& arguments) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) throw std::runtime_error("no terminal");
  const std::string name = ptsname(terminal);
  const int other_end = open(name.c_str(), O_RDWR | O_NOCTTY);  // kept open, so that written text stays readable
  const std::string command = "cd '" + folder.path("") + "' && '" LOCKSTEP_BUILD_DIR "/simulate' " + arguments +
                              " >stdout.txt 2>'" + name + "' </dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  std::string text;
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  char buffer[4096];
  for (ssize_t n = read(terminal, buffer, sizeof buffer); n > 0; n = read(terminal, buffer, sizeof buffer))
    text.append(buffer, static_cast<std::size_t>(n));
  close(other_end);
  close(terminal);
  return text;
}

}  // namespace

TEST_CASE("simulate: help has an example, version names what is inside") {
  const TemporaryFolder folder;
  const Outcome help = run_program(folder.path(""), "simulate", "--help");
  CHECK(help.code == 0);
  CHECK(help.err == "");
  CHECK(help.out.find("Example:\n  simulate scenarios/imagenet_64k.json") != std::string::npos);
  for (const char* option :
       {"--gpus", "--fidelity", "--seed", "--set", "--json", "--csv", "--html", "--trace", "--trace-gpus"})
    CHECK(help.out.find(option) != std::string::npos);

  const Outcome version = run_program(folder.path(""), "simulate", "--version");
  CHECK(version.code == 0);
  CHECK(version.out.rfind("lockstep ", 0) == 0);
  CHECK((version.out.find("SimGrid 3.") != std::string::npos || version.out.find("SimGrid 4.") != std::string::npos));
  CHECK(std::count(version.out.begin(), version.out.end(), '\n') == 1);
}

TEST_CASE("simulate: the models are listed and shown") {
  const TemporaryFolder folder;
  const Outcome list = run_program(folder.path(""), "simulate", "--list-models");
  CHECK(list.code == 0);
  for (const std::string& name : lockstep::model::zoo_names()) {
    INFO(name);
    CHECK(("\n" + list.out).find("\n" + name + " ") != std::string::npos);
  }
  CHECK(list.out.find("\nbert_large ") != std::string::npos);
  const Outcome costed = run_program(folder.path(""), "simulate", "--show-model bert_large_fused");
  CHECK(costed.code == 0);
  CHECK(costed.out.find("336,226,108") != std::string::npos);
  const Outcome shown = run_program(folder.path(""), "simulate", "--show-model resnet50");
  CHECK(shown.code == 0);
  CHECK(shown.out.find("25,557,032") != std::string::npos);
  const Outcome own =
      run_program(folder.path(""), "simulate", "--show-model " LOCKSTEP_SOURCE_DIR "/scenarios/models/resnet8_28.json");
  CHECK(own.code == 0);
  CHECK(own.out.find("77,754") != std::string::npos);  // convolutions 76,432, normalisation 672, fc 650
  const Outcome unknown = run_program(folder.path(""), "simulate", "--show-model resnet5");
  CHECK(unknown.code == 2);
  CHECK(unknown.out == "");
  CHECK(unknown.err.find("resnet5") != std::string::npos);
}

TEST_CASE("simulate: the GPU list, the seed and the fidelity of the command line are used and told") {
  const Json plain = result_of("");
  CHECK(plain["points"].size() == 2);
  CHECK(plain["scenario"]["seed"] == 1);

  const Json gpus = result_of("--gpus 6,2,8");
  REQUIRE(gpus["points"].size() == 3);
  CHECK(gpus["points"][0]["gpus"] == 6);
  CHECK(gpus["points"][1]["gpus"] == 2);
  CHECK(gpus["points"][2]["gpus"] == 8);
  CHECK(gpus["scenario"]["gpus"] == Json{6, 2, 8});
  CHECK(gpus["points"][1]["iteration_s"] == plain["points"][0]["iteration_s"]);

  const Json seed = result_of("--seed 7");
  CHECK(seed["scenario"]["seed"] == 7);
  CHECK(seed["points"][1]["iteration_s"] != plain["points"][1]["iteration_s"]);
  CHECK(seed["points"] != plain["points"]);

  const Json analytic = result_of("--fidelity analytic");
  CHECK(analytic["scenario"]["fidelity"] == "analytic");
  CHECK(analytic["points"][0]["simulation"]["fidelity"] == "analytic");
  CHECK(analytic["points"][0]["simulation"]["method"] == "closed form");
}

TEST_CASE("simulate: options may stand before the scenario") {
  const TemporaryFolder folder;
  for (const char* arguments : {"--gpus 2 scenario.json", "--set /seed=2 scenario.json",
                                "--set /seed=2 --set "
                                "/iterations=2 scenario.json",
                                "--trace t.json --trace-gpus 0,1 scenario.json"}) {
    const Outcome outcome = run_small(folder, arguments);
    INFO(arguments << ": " << outcome.err);
    CHECK(outcome.code == 0);
  }
}

TEST_CASE("simulate: message by message gives what fast gives, to 1e-6") {
  const Json fast = result_of("--gpus 2,4,20"), message = result_of("--gpus 2,4,20 --fidelity message");
  for (std::size_t i = 0; i < 3; ++i) {
    const Json &f = fast["points"][i], &m = message["points"][i];
    CHECK(f["simulation"]["method"] == "max-plus");
    CHECK(m["simulation"]["method"] == "messages");
    for (const char* key : {"/iteration_s/mean", "/iteration_s/p99", "/samples_per_s", "/scaling_efficiency",
                            "/compute_s", "/exposed_communication_s"}) {
      INFO(key);
      const Json::json_pointer where(key);
      CHECK(f[where].get<double>() == Approx(m[where].get<double>()).epsilon(1e-6));
    }
    CHECK(f["messages"] == m["messages"]);
    CHECK(f["bytes_sent_per_gpu"] == m["bytes_sent_per_gpu"]);
  }
}

TEST_CASE("simulate: files appear whole, nothing else does, stdout has the table alone, stderr nothing") {
  const TemporaryFolder folder;
  write_inputs(folder);
  folder.write("out.csv", "old");
  const Outcome outcome = run_program(folder.path(""), "simulate",
                                      "scenario.json --json out.json --csv out.csv --trace trace.json --gpus 2,4,20");
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "");
  CHECK(outcome.out.rfind("small: LeNet", 0) == 0);
  CHECK(outcome.out.find("points 1/2") == std::string::npos);
  CHECK(outcome.out.find_first_of("\r\033") == std::string::npos);
  CHECK(names_in(folder) ==
        std::set<std::string>{"cluster.json", "out.csv", "out.json", "scenario.json", "trace.json"});
  const Json json = Json::parse(slurp(folder.path("out.json")));
  CHECK(json["schema"] == "lockstep/result/1");
  CHECK(json["provenance"]["argv"].size() == 10);
  CHECK(json["provenance"]["argv"][1] == "scenario.json");
  const std::string csv = slurp(folder.path("out.csv"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK(csv.rfind("gpus,nodes,", 0) == 0);
}

TEST_CASE("simulate: a page is for a simulation alone") {
  const TemporaryFolder folder;
  const Outcome page = run_small(folder, "scenario.json --html out.html");
  CHECK(page.code == 0);
  CHECK(page.err == "");
  const std::string html = slurp(folder.path("out.html"));
  CHECK_THAT(html, Contains("<title>small - Lockstep simulation</title>") && Contains("\"lockstep/result/1\""));
  const Outcome search = run_small(folder, "scenario.json --optimise backups --html other.html");
  CHECK(search.code == 2);
  CHECK_THAT(search.err, Contains("--html other.html: no page of what --predict and --optimise give; allowed:"));
  CHECK_FALSE(names_in(folder).count("other.html"));
}

TEST_CASE("simulate: an output that would not be written is refused") {
  const TemporaryFolder folder;
  for (const char* arguments : {"scenario.json --optimise backups --csv x", "--predict records.json --trace x",
                                "--list-models --json x", "--show-model resnet50 --csv x",
                                "--json x job --model resnet50 --gpu H100 --gpus 8", "scenario.json convergence x"}) {
    INFO(arguments);
    const Outcome refused = run_small(folder, arguments);
    CHECK(refused.code == 2);
    CHECK(refused.out == "");
    CHECK_THAT(refused.err, Contains("; allowed: "));
    CHECK_FALSE(names_in(folder).count("x"));
  }
  CHECK(run_small(folder, "--quiet job --list").code == 0);
}

TEST_CASE("simulate: a seed that is too large is refused, not cut") {
  const TemporaryFolder folder;
  for (const char* seed : {"99999999999999999999", "9223372036854775808", "-1", "1.5", "x"}) {
    const Outcome refused = run_small(folder, std::string("scenario.json --seed ") + seed);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Contains("allowed: a whole number from 0 to 9223372036854775807"));
  }
  CHECK(run_small(folder, "scenario.json --seed 9223372036854775807").code == 0);
}

TEST_CASE("simulate: a file's name that is not UTF-8 does not cost the result") {
  const TemporaryFolder folder;
  const Outcome done = run_small(folder, "scenario.json --gpus 2 --json 'o\xff.json'");
  CHECK(done.err == "");
  CHECK(done.code == 0);
  const Json json = Json::parse(slurp(folder.path("o\xff.json")));
  CHECK(json["provenance"]["argv"].back() == "o\xef\xbf\xbd.json");
}

TEST_CASE("simulate: progress shows on a terminal only, and not when quiet") {
  const TemporaryFolder folder;
  write_inputs(folder);
  const char* const before = getenv("TERM");
  const std::string terminal = before == nullptr ? "" : before;
  setenv("TERM", "xterm", 1);
  CHECK(on_terminal(folder, "scenario.json --jobs 1") == "");  // it takes less than two seconds
  setenv("LOCKSTEP_PROGRESS_AFTER_MS", "0", 1);
  const std::string shown = on_terminal(folder, "scenario.json --jobs 1");
  CHECK(shown.find("points 1/2") != std::string::npos);
  CHECK(shown.find("points 2/2") != std::string::npos);
  CHECK(shown.substr(shown.size() - 4) == "\r\033[K");  // the line is wiped at the end
  CHECK(slurp(folder.path("stdout.txt")).find("points]") == std::string::npos);
  CHECK(slurp(folder.path("stdout.txt")).find_first_of("\r\033") == std::string::npos);
  CHECK(on_terminal(folder, "scenario.json --quiet") == "");
  setenv("TERM", "dumb", 1);  // knows no way back to a line's begin
  CHECK(on_terminal(folder, "scenario.json --jobs 1") == "");
  unsetenv("LOCKSTEP_PROGRESS_AFTER_MS");
  terminal.empty() ? unsetenv("TERM") : setenv("TERM", terminal.c_str(), 1);
}

TEST_CASE("simulate: a trace shows the first 16 GPUs and the last of the largest point, or those asked for") {
  CHECK(traced_gpus("--gpus 4,2") == std::vector<int>{0, 1, 2, 3});
  CHECK(traced_gpus("--gpus 2,16") == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(traced_gpus("--gpus 2,20") == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19});
  CHECK(traced_gpus("--gpus 20 --trace-gpus 3,17") == std::vector<int>{3, 17});
  CHECK(traced_gpus("--gpus 20 --trace-gpus 17,3,17") == std::vector<int>{3, 17});
}

TEST_CASE("simulate: a trace of the closed form is refused, it has no timeline") {
  const TemporaryFolder folder;
  const Outcome outcome = run_small(folder, "scenario.json --trace t.json --fidelity analytic");
  CHECK(outcome.code == 2);
  CHECK(outcome.err == "--trace t.json: fidelity analytic has no timeline; allowed: message, fast\n");
  CHECK(!std::filesystem::exists(folder.path("t.json")));
}

TEST_CASE("simulate: a simulation that dies is one line, exit code 1 and no output") {
  const TemporaryFolder folder;
  write_inputs(folder);
  folder.write("out.json", "precious");
  const Outcome outcome = run_for_a_second(folder, std::string(kEndless) + " --json out.json --csv out.csv");
  CHECK(outcome.code == 1);
  CHECK(outcome.out == "");
  CHECK(outcome.err.rfind("simulate: a child process was ended by signal ", 0) == 0);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(slurp(folder.path("out.json")) == "precious");
  CHECK(names_in(folder) == std::set<std::string>{"cluster.json", "out.json", "scenario.json"});
}

TEST_CASE("simulate: an output that cannot be written is refused before the simulation") {
  const TemporaryFolder folder;
  write_inputs(folder);
  std::filesystem::create_directory(folder.path("folder"));
  struct Refused {
    const char* option;
    const char* error;
  };
  for (const Refused& refused :
       {Refused{" --json nowhere/out.json", "nowhere/out.json: cannot be written: No such file or directory\n"},
        Refused{" --csv folder", "folder: cannot be written: Is a directory\n"},
        Refused{" --html nowhere/p.html", "nowhere/p.html: cannot be written: No such file or directory\n"},
        Refused{" --trace nowhere/t.json", "nowhere/t.json: cannot be written: No such file or directory\n"}}) {
    // The simulation would hit its limit and give exit code 1.
    const Outcome outcome = run_for_a_second(folder, kEndless + std::string(refused.option));
    INFO(refused.option);
    CHECK(outcome.code == 2);
    CHECK(outcome.out == "");
    CHECK(outcome.err == refused.error);
  }
}

TEST_CASE("simulate: an output that would replace an input or another output is refused, and the input stays") {
  const TemporaryFolder folder;
  write_inputs(folder);
  const std::string scenario = slurp(folder.path("scenario.json"));
  std::filesystem::create_symlink("cluster.json", folder.path("link.json"));
  for (const auto& [options, error] : std::vector<std::pair<std::string, std::string>>{
           {"--json scenario.json",
            "scenario.json: is read and would be replaced; allowed: another file for the output\n"},
           {"--optimise backups --json ./scenario.json",
            "./scenario.json: is read and would be replaced; allowed: another file for the output\n"},
           {"--csv link.json", "link.json: is read and would be replaced; allowed: another file for the output\n"},
           {"--json a --html ./a", "./a: two outputs in one file; allowed: a file for each\n"}}) {
    const Outcome outcome = run_for_a_second(folder, kEndless + (" " + options));
    INFO(options);
    CHECK(outcome.code == 2);
    CHECK(outcome.err == error);
  }
  CHECK(slurp(folder.path("scenario.json")) == scenario);
  CHECK(names_in(folder) == std::set<std::string>{"cluster.json", "link.json", "scenario.json"});
}

TEST_CASE("simulate: a job in words is predicted without a file, the same each time") {
  const TemporaryFolder folder;
  const std::string job = "job --model resnet50 --gpu V100 --gpus 8,64 --batch 64 --epochs 90 --json ";
  const Outcome outcome = run_program(folder.path(""), "simulate", job + "a.json");
  CHECK(outcome.err == "");
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Contains("ResNet-50") && Contains("90 epochs") && Contains("Not given, and assumed:"));
  const Json predictions = Json::parse(slurp(folder.path("a.json")));
  CHECK(predictions.at("schema") == "lockstep/predictions/1");
  CHECK(predictions.at("predictions").size() == 6);
  run_program(folder.path(""), "simulate", job + "b.json");
  CHECK(slurp(folder.path("a.json")) == slurp(folder.path("b.json")));
}

TEST_CASE("simulate: a network is what it says however it is written, and a text that is none becomes no other") {
  const TemporaryFolder folder;
  const auto run_with = [&](const std::string& network) {
    return run_program(folder.path(""), "simulate",
                       "job --model resnet50 --gpu H100 --gpus 64 --batch 128 --network '" + network + "'");
  };
  const Outcome one = run_with("100 GbE");
  CHECK(one.code == 0);
  CHECK_THAT(one.out, Contains("Read: ResNet-50 v1") && Contains("1x 100 Gb/s Ethernet (12.5 GB/s by TCP)"));
  for (const char* same : {"100 gbe", "100GbE", "100 Gb/s Ethernet"}) CHECK(run_with(same).out == one.out);
  const Outcome fast = run_with("8x NDR");
  CHECK_THAT(fast.out, Contains("8x 400 Gb/s InfiniBand NDR (47.0 GB/s each by RDMA)"));
  CHECK(fast.out != one.out);
  for (const std::string& none :
       {std::string("0x 100 GbE"), std::string("-1x 100 GbE"), std::string("8x RoCE 100"), std::string("100"),
        std::string("fast network"), std::string(60000, '9') + " GbE", std::string(400, '9') + " GbE"}) {
    const Outcome refused = run_with(none);
    CHECK(refused.code == 2);
    CHECK(refused.out == "");
    CHECK(refused.err.rfind("--network ", 0) == 0);
    CHECK(refused.err.find('\n') == refused.err.size() - 1);
    CHECK_THAT(refused.err, Contains("; allowed: [COUNTx ]RATE[ KIND][ per GPU| per N GPUs| per node] "));
  }
}

TEST_CASE("simulate: a job that cannot be predicted is one line, exit code 2 and no output") {
  struct Refused {
    const char* arguments;
    const char* error;
  };
  const TemporaryFolder nowhere;
  const Outcome unwritable =
      run_program(nowhere.path(""), "simulate", "job --model resnet50 --gpu V100 --gpus 8 --json nowhere/o.json");
  CHECK(unwritable.code == 2);
  CHECK(unwritable.out == "");
  CHECK_THAT(unwritable.err, Contains("nowhere/o.json: cannot be written"));
  for (const Refused& refused :
       {Refused{"--model resnet50 --gpu H900 --gpus 8", "--gpu \"H900\": no GPU of that name is known; allowed: "},
        Refused{"--model vit_b32 --gpu H100 --gpus 8",
                "--model \"vit_b32\": no model of that name is known; allowed: "},
        Refused{"--model resnet50 --gpu V100 --gpus 8 --algorithm foo",
                "--algorithm \"foo\": no algorithm of that name"},
        Refused{"--model resnet50 --gpu V100 --gpus 8 --software foo", "--software \"foo\": no software of that name"},
        Refused{"--model resnet50 --gpu V100 --gpus 64 --network string",
                "--network \"string\": \"string\" is not a kind of"},
        Refused{"--model resnet50 --gpu V100", "simulate job: --gpus is missing"},
        Refused{"--model resnet50 --gpu V100 --gpus 8 --rate 700", "--rate: at which batch it was measured"},
        Refused{"--model resnet50 --gpu V100 --gpus 0", "--gpus: "},
        Refused{"--model resnet50 --gpu V100 --gpus 8 --rate nan --batch 4", "--rate: "},
        Refused{"--list --gpu V100", "--gpu excludes --list"}}) {
    const TemporaryFolder folder;
    folder.write("out.json", "precious");
    const Outcome outcome =
        run_program(folder.path(""), "simulate", "job --json out.json " + std::string(refused.arguments));
    INFO(refused.arguments << ": " << outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out == "");
    CHECK_THAT(outcome.err, Contains(refused.error));
    CHECK(slurp(folder.path("out.json")) == "precious");
  }
}
