// The program `calibrate`, on the host backend, with short series. The tests check that nothing is lost or wrong. They
// do not check precision, because the machine may be busy.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "calib/overlap.hpp"
#include "calib/profile.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/random.hpp"
#include "tests/base/ended_process.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/mpi_launcher.hpp"
#include "tests/cli/process.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

const std::string kProgram = std::string(LOCKSTEP_BUILD_DIR) + "/calibrate";
const std::string kMeasure =
    " --device host --gpus 2 --threads 2 --models lenet --batches 2,4 --seconds 0.01 --warm-up 0 --most-bytes 65536 "
    "--quiet";

tests::Outcome run_in(const TemporaryFolder& folder, const std::string& arguments) {
  return tests::run_program(folder.path(""), "calibrate", arguments);
}

// Starts the program in the background.
pid_t start(const std::string& arguments) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", ("exec " + kProgram + arguments + " >/dev/null 2>&1").c_str(), nullptr);
    _exit(127);
  }
  return child;
}

// Checks that the samples so far make a profile that can be read back.
void check_profile_of(const std::vector<Sample>& samples) {
  Profile profile;
  profile.name = "killed";
  profile.device = {"processor", "host", 2, Json::object()};
  profile.samples = samples;
  profile.fits = fit_curves(samples);
  const JsonDocument document = JsonDocument::parse(to_json(profile).dump(), "killed.json");
  CHECK(profile_from_json(document.root()).samples.size() == samples.size());
}

}  // namespace

TEST_CASE("calibrate on the host measures every probe and writes a profile that reads back") {
  TemporaryFolder folder;
  const std::string profile_path = folder.path("host.json");
  const auto run = run_in(folder, kMeasure + " -o " + profile_path);
  INFO(run.err);
  REQUIRE(run.code == 0);
  const Profile profile = load_profile(profile_path);
  CHECK(profile.device.kind == "host");
  CHECK(profile.device.count == 2);
  for (const std::string probe :
       {"iteration", "copy", "collective", "launch", "update", "layer", "pass", "input", "overlap"})
    CHECK(std::any_of(profile.samples.begin(), profile.samples.end(),
                      [&](const Sample& sample) { return sample.probe == probe && sample.kind == "measured"; }));
  const Fit* iteration =
      profile.find("iteration", {{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"learners", 1}, {"devices", 2}});
  REQUIRE(iteration != nullptr);
  CHECK(iteration->line.at(4) > 0);
  const Json beside{
      {"model", "lenet_crossbow"}, {"precision", "fp32"}, {"learners", 1}, {"devices", 2}, {"input", "synthetic"}};
  CHECK(profile.find("iteration", beside) != nullptr);
  for (const std::string operation :
       {"all-reduce", "average", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all"}) {
    INFO(operation);
    CHECK(profile.find("collective", {{"operation", operation}, {"library", "host"}, {"ranks", 2}, {"nodes", 1}}) !=
          nullptr);
  }
  // Layers of LeNet. The images, input of the first one, need no gradient.
  for (const auto& [layer, pass] : {std::pair{"conv1", "backward_filter"}, std::pair{"conv2", "backward_data"},
                                    std::pair{"pool1", "backward"}, std::pair{"fc1", "forward"}}) {
    INFO(layer << " " << pass);
    CHECK(profile.curve("layer", {{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"layer", layer}, {"pass", pass}})
              .size() == 2);
  }
  // Sums have 256 B, 4 KiB and 64 KiB, at the smallest and the largest batch. On a busy machine a ratio may have any
  // value.
  const std::vector<Slowdown> ratios = slowdowns(profile);
  REQUIRE(ratios.size() == 6);
  for (const Slowdown& one : ratios) CHECK(one.ratio > 0);
  CHECK(ratios[0].bytes == 256);
  CHECK(ratios[0].batch == 2);
  CHECK(ratios[5].batch == 4);
  CHECK(profile.find("copy", {{"from", "gpu0"}, {"to", "gpu1"}, {"both_ways", true}}) != nullptr);
  // Copying 64 KiB takes longer than copying 64 B.
  const auto copies = profile.curve("copy", {{"from", "host"}, {"to", "gpu0"}, {"both_ways", false}});
  REQUIRE(copies.size() > 5);
  CHECK(copies.back().seconds > copies.front().seconds);
  const auto shown = run_in(folder, " show " + profile_path);
  CHECK(shown.code == 0);
  CHECK(shown.out.find("iteration\n  model=lenet_crossbow precision=fp32 learners=1 devices=2 (measured, 2 points") !=
        std::string::npos);
}

TEST_CASE("calibrate measures a model of the user's own by its name, and says which file that was") {
  TemporaryFolder folder;
  const auto model = [&](const std::string& file, const std::string& name) {
    return folder.write(file,
                        R"({"schema": "lockstep/model/1", "name": ")" + name + R"(", "input": [1, 8, 8], "layers": [
      {"name": "hidden", "kind": "fc", "out": 16}, {"name": "hidden/relu", "kind": "relu"},
      {"name": "out", "kind": "fc", "out": 4}, {"name": "loss", "kind": "softmax"}]})");
  };
  const std::string own = model("own.json", "perceptron");
  const std::string options = " --device host --batches 2,4 --seconds 0.01 --warm-up 0 --most-bytes 4096 --quiet ";
  const auto run = run_in(folder, options + "--models lenet," + own + " -o " + folder.path("host.json"));
  INFO(run.err);
  REQUIRE(run.code == 0);
  const Profile profile = load_profile(folder.path("host.json"));
  for (const std::string name : {"perceptron", "lenet_crossbow"})
    CHECK(profile.find("iteration", {{"model", name}, {"precision", "fp32"}, {"learners", 1}, {"devices", 1}}) !=
          nullptr);
  for (const std::string pass : {"forward", "backward_filter", "update"})
    CHECK(profile.find("layer", {{"model", "perceptron"}, {"precision", "fp32"}, {"layer", "out"}, {"pass", pass}}) !=
          nullptr);
  REQUIRE(profile.provenance.contains("inputs"));
  CHECK(profile.provenance["inputs"].size() == 1);
  CHECK(profile.provenance["inputs"].contains(own));

  const auto refused = [&](const std::string& models, const std::string& part) {
    const auto bad = run_in(folder, options + "--models " + models + " -o " + folder.path("bad.json"));
    INFO(bad.err);
    CHECK(bad.code == 2);
    CHECK(bad.err.find(part) != std::string::npos);
    CHECK(std::count(bad.err.begin(), bad.err.end(), '\n') == 1);
    CHECK(!std::filesystem::exists(folder.path("bad.json")));
  };
  refused(model("built_in.json", "vgg16"), "/name: \"vgg16\" is a built-in model's; allowed: another name");
  refused(own + "," + model("again.json", "perceptron"), "a second model \"perceptron\"; allowed: each name once");
  refused(folder.path("none.json"), "none.json: cannot read");
  refused(folder.write("bare.json", R"({"schema": "lockstep/model/1", "name": "bare", "input": [1, 8, 8], "layers": [
            {"name": "out", "kind": "fc", "out": 4}]})"),
          "softmax");
}

TEST_CASE("killed at random moments, calibrate goes on and loses no sample but the one in flight") {
  TemporaryFolder folder;
  const std::string profile_path = folder.path("host.json"), samples_path = folder.path("host.samples.jsonl");
  const auto log_bytes = [&] {
    std::error_code none;
    const std::uintmax_t bytes = std::filesystem::file_size(samples_path, none);
    return none ? 0 : bytes;
  };
  std::size_t before = 0;
  int interrupted = 0, grew = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = start(kMeasure + " --resume -o " + profile_path);
    // Kills every second run after its first samples, on a machine of any speed, and the others soon after their start.
    const std::uintmax_t bytes = log_bytes();
    const bool is_measuring = round % 2 == 1;
    for (int wait = 0; is_measuring && wait < 2000 && log_bytes() <= bytes; ++wait) usleep(5000);
    const double most_us = is_measuring ? 20000 : 220000;
    usleep(static_cast<useconds_t>(most_us * random_uniform(8, 0, static_cast<std::uint64_t>(round))));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    interrupted += WIFSIGNALED(status);
    if (!std::filesystem::exists(samples_path)) continue;
    const std::vector<Sample> samples = SampleLog(samples_path).samples();
    REQUIRE(samples.size() >= before);
    grew += samples.size() > before;
    before = samples.size();
    check_profile_of(samples);
    if (std::filesystem::exists(profile_path)) CHECK_NOTHROW(load_profile(profile_path));
  }
  CHECK(interrupted == 20);
  CHECK(grew >= 5);
  const std::string kept = read_file(samples_path);
  // The state after a kill while the profile is written.
  const std::string part = folder.write("host.json.part" + ended_process() + "-0", "half a profile");
  const std::string other = folder.write("other.json.part" + ended_process() + "-0", "half of another");
  const auto run = run_in(folder, kMeasure + " --resume -o " + profile_path);
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK_FALSE(std::filesystem::exists(part));
  CHECK(std::filesystem::exists(other));
  CHECK(read_file(samples_path).compare(0, kept.size(), kept) == 0);  // existing samples stay, byte by byte
  const Profile profile = load_profile(profile_path);
  const auto again = run_in(folder, kMeasure + " --resume -o " + folder.path("other.json"));
  CHECK(again.code == 0);
  CHECK(load_profile(folder.path("other.json")).samples.size() == profile.samples.size());
}

// Processes of one machine. The host's threads sum over the processes by MPI.
TEST_CASE("processes under mpirun calibrate their collectives together, and the first writes") {
#ifndef LOCKSTEP_MPIEXEC
  std::cout << "skipped (mpi): this build has no MPI, or no mpirun was found" << std::endl;
#else
  TemporaryFolder folder;
  const std::string launcher = tests::mpi_environment() + "'" LOCKSTEP_MPIEXEC "' -n 2 ";
  const auto run = [&](const std::string& arguments) {
    const std::string out = folder.path("out.txt"), err = folder.path("err.txt");
    const std::string command = "cd '" + folder.path("") + "' && " + launcher + "'" + kProgram + "' " + arguments +
                                " >'" + out + "' 2>'" + err + "' </dev/null";
    const int status = std::system(command.c_str());
    return tests::Outcome{WEXITSTATUS(status), tests::slurp(out), tests::slurp(err)};
  };
  const std::string measure =
      "--device host --gpus 2 --threads 1 --models lenet --batches 2 --seconds 0.01 --warm-up 0 --most-bytes 4096 "
      "--quiet -o several.json";
  const auto first = run(measure);
  INFO(first.err);
  REQUIRE(first.code == 0);
  // Only the first process prints; a second line may name doubtful series.
  CHECK(first.out.find(" samples, ") != std::string::npos);
  CHECK(first.out.find(" samples, ") == first.out.rfind(" samples, "));
  const Profile profile = load_profile(folder.path("several.json"));
  CHECK(profile.device.count == 4);
  CHECK(profile.device.facts.at("processes") == 2);
  CHECK(profile.device.facts.at("nodes") == 1);
  for (const std::string operation :
       {"all-reduce", "average", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all"}) {
    INFO(operation);
    CHECK(profile.find("collective", {{"operation", operation}, {"library", "host"}, {"ranks", 4}, {"nodes", 1}}) !=
          nullptr);
  }
  CHECK(profile.find("iteration",
                     {{"model", "lenet_crossbow"}, {"precision", "fp32"}, {"learners", 1}, {"devices", 4}}) != nullptr);
  // Iterations are overlapped with sums over the four devices, of 16 B, 256 B and 4 KiB.
  const std::vector<Slowdown> ratios = slowdowns(profile);
  REQUIRE(ratios.size() == 3);
  for (const Slowdown& one : ratios) {
    CHECK(one.devices == 4);
    CHECK(one.ratio > 0);
  }

  // If the first process finds an error, all leave, and one reports it.
  const auto again = run(measure);
  CHECK(again.code == 2);
  const std::string why =
      "several.samples.jsonl: samples of an earlier run are there; allowed: --resume, or another -o";
  const std::size_t said = again.err.find(why);
  CHECK(said != std::string::npos);
  CHECK(again.err.find(why, said + 1) == std::string::npos);

  // There is nothing left to measure.
  CHECK(run(measure + " --resume").code == 0);
  CHECK(load_profile(folder.path("several.json")).samples.size() == profile.samples.size());
#endif
}

TEST_CASE("topology says what a machine has without measuring") {
  TemporaryFolder folder;
  const auto text = run_in(folder, " topology --sysfs " + folder.path("") + " --nvml " LOCKSTEP_FAKE_NVML);
  CHECK(text.code == 0);
  CHECK(text.out.find("3 x Planted H100\n  driver: 570.86.15\n  GPU0: Planted H100, 0000:1b:00.0") == 0);
  CHECK(text.out.find("links: GPU0-GPU1 NV2, GPU0-GPU2 SYS, GPU1-GPU2 SYS\n") != std::string::npos);
  const auto json = run_in(folder, " topology --json --sysfs " + folder.path("") + " --nvml none.so");
  CHECK(json.out == "{}\n");
}

TEST_CASE("an earlier run's samples are not overwritten by accident") {
  TemporaryFolder folder;
  folder.write("host.samples.jsonl", "");
  const auto run = run_in(folder, kMeasure + " -o " + folder.path("host.json"));
  CHECK(run.code == 2);
  CHECK(run.err == folder.path("host.samples.jsonl") +
                       ": samples of an earlier run are there; allowed: --resume, or another -o\n");
}

TEST_CASE("a plan says what would be measured and how long it takes, and touches nothing") {
  TemporaryFolder folder;
  const std::string options =
      " --device host --gpus 2 --threads 2 --models lenet --batches 2,4 --seconds 0.01 --warm-up 0 --most-bytes 65536";
  const auto plan = run_in(folder, options + " --plan --quiet");
  INFO(plan.out << plan.err);
  CHECK(plan.code == 0);
  CHECK(plan.err.empty());
  CHECK(folder.files() == 0);
  CHECK(plan.out.find("To measure on 2 x ") == 0);
  // 36 copies: 6 sizes of 6 routes. 7 launches, 7 x 8 collectives, 4 updates, 2 iterations with and 2 without input,
  // 2 inputs, 2 passes, 4 updates of layers, 6 overlaps.
  CHECK(plan.out.find("\n  copy            36      0      0     36 ") != std::string::npos);
  CHECK(plan.out.find("\n  all            121      0      0    121 ") != std::string::npos);
  CHECK(plan.out.find("ends after 10.0 ms") != std::string::npos);

  // Resumed: existing samples are counted, and only read. Without --resume they are ignored.
  const auto run = run_in(folder, options + " -o " + folder.path("host.json"));
  REQUIRE(run.code == 0);
  CHECK(run.err == plan.out);
  const std::string samples = read_file(folder.path("host.samples.jsonl"));
  const auto resumed = run_in(folder, options + " --once --plan --resume -o " + folder.path("host.json"));
  CHECK(resumed.code == 0);
  CHECK(resumed.out.find("\n  copy            36     36      0      0        0 s        0 s        0 s\n") !=
        std::string::npos);
  CHECK(read_file(folder.path("host.samples.jsonl")) == samples);
  CHECK(run_in(folder, options + " --plan -o " + folder.path("host.json")).out == plan.out);
  const auto other = run_in(folder, " --device host --gpus 3 --plan --resume -o " + folder.path("host.json"));
  CHECK(other.code == 2);
  CHECK(other.err.find("host.samples.jsonl: has samples of ") != std::string::npos);
}

TEST_CASE("two runs do not write the same samples") {
  TemporaryFolder folder;
  const std::string samples = folder.path("host.samples.jsonl");
  {
    const SampleLog other(samples);  // acts as the other run
    for (const std::string resume : {" --resume", ""}) {
      const auto run = run_in(folder, kMeasure + resume + " -o " + folder.path("host.json"));
      CHECK(run.code == 1);
      CHECK(run.err.find("calibrate: " + samples + ": another run writes it") == 0);
      CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
      CHECK(!std::filesystem::exists(folder.path("host.json")));
    }
  }
  CHECK(run_in(folder, kMeasure + " --resume -o " + folder.path("host.json")).code == 0);
}

TEST_CASE("a run is not resumed by another machine or with other devices") {
  TemporaryFolder folder;
  const std::string samples = folder.path("host.samples.jsonl"), out = " --resume -o " + folder.path("host.json");
  const std::string line = R"({"probe":"launch","key":{"how":"stream","kernels":1},"seconds":[1e-6],"kind":"measured",)"
                           R"("source":"8 x another machine"})"
                           "\n";
  folder.write("host.samples.jsonl", line);
  const auto run = run_in(folder, kMeasure + out);
  CHECK(run.code == 2);
  CHECK(run.err.find(samples + ": has samples of \"8 x another machine\", and this is \"2 x ") == 0);
  CHECK(read_file(samples) == line);
  // The line is JSON, but no sample.
  folder.write("host.samples.jsonl", R"({"probe":"lunch","key":{"bytes":1},"seconds":[1],"kind":"measured"})"
                                     "\n" +
                                         line);
  const auto unknown = run_in(folder, kMeasure + out);
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find(samples + " line 1: /probe: ") == 0);
}

TEST_CASE("logs are imported, shown and merged from the command line") {
  TemporaryFolder folder;
  std::string log;
  for (double bytes = 1024; bytes < 1e9; bytes *= 4) {
    const double us = 20 + bytes / 100e3;
    char row[200];
    std::snprintf(row, sizeof row, "%.0f %.0f float sum -1 %.2f %.2f %.2f 0 %.2f %.2f %.2f 0\n", bytes, bytes / 4, us,
                  bytes / us / 1e3, 1.75 * bytes / us / 1e3, us, bytes / us / 1e3, 1.75 * bytes / us / 1e3);
    log += row;
  }
  const std::string path = folder.write("all_reduce.log", log + "garbage that is no row\n2048 512 float sum\n");
  const std::string a = folder.path("a.json"), b = folder.path("b.json");
  const auto imported = run_in(folder, " import nccl-tests " + path + " --operation all-reduce --ranks 8 -o " + a);
  INFO(imported.err);
  REQUIRE(imported.code == 0);
  CHECK(imported.err == "calibrate: refused: " + path + " line 12: 4 columns, expected 13\n");
  const Profile profile = load_profile(a);
  CHECK(profile.device.kind == "imported");
  CHECK(profile.fits[0].line.at(1e6) == Approx(30e-6).epsilon(0.01));
  // Two logs of one series become one series. Logs of two kinds of GPU are refused.
  const std::string twice = folder.path("twice.json");
  REQUIRE(run_in(folder, " import nccl-tests " + path + " " + path + " --operation all-reduce --ranks 8 -o " + twice)
              .code == 0);
  CHECK(load_profile(twice).samples.size() == profile.samples.size());
  CHECK(load_profile(twice).samples[0].seconds.size() == 2);
  CHECK(load_profile(twice).fits[0].line.points == profile.fits[0].line.points);
  const auto on = [&](const std::string& gpu) {
    return folder.write(gpu + ".log", "#  Rank  0 Group  0 Pid 1 on a device 0 [0x07] " + gpu + "\n" + log);
  };
  const auto mixed = run_in(folder, " import nccl-tests " + on("A100") + " " + on("H100") +
                                        " --operation all-reduce --ranks 8 --nodes 1 -o " + folder.path("mixed.json"));
  CHECK(mixed.code == 2);
  CHECK(mixed.err ==
        folder.path("H100.log") + ": on H100, and the files before on A100; allowed: logs of one kind of GPU\n");
  const auto replaced = run_in(folder, " import nccl-tests " + path + " --operation all-reduce --ranks 8 -o " + path);
  CHECK(replaced.code == 2);
  CHECK(replaced.err == path + ": is read and would be replaced; allowed: another file for the output\n");
  CHECK(std::filesystem::file_size(path) > log.size());
  CHECK(run_in(folder, " merge " + a + " " + a + " -o " + b).code == 0);
  CHECK(load_profile(b).samples.size() == profile.samples.size());
  CHECK(run_in(folder, " show " + b).out.find("imported") != std::string::npos);
}

TEST_CASE("bad usage of calibrate is one line and exit code 2, a missing GPU one line and 1") {
  TemporaryFolder folder;
  const std::string out = " -o " + folder.path("x.json");
  const auto check = [&](const std::string& arguments, int status, const std::string& part) {
    const auto run = run_in(folder, arguments);
    INFO(arguments << "\n" << run.err);
    CHECK(run.code == status);
    CHECK(run.err.find(part) != std::string::npos);
    CHECK(folder.files() == 0);
  };
  check(" --device host --models lenett" + out, 2, "lenett");
  check(" --device host --precision tf32 --models lenet --batches 2 --seconds 0.01 --warm-up 0 -o /nonexistent/x.json",
        2, "/nonexistent/x.json: cannot be written");
  check(" show " + folder.path("none.json"), 2, "none.json");
  check(" import nccl-tests " + folder.path("none.log") + out, 2, "none.log: cannot be read");
  check(" --gpus 0" + out, 2, "--gpus");
  check(" --device tpu" + out, 2, "--device");
  // If the machine lacks the device, the error lists the devices that it has.
  check(" --device cuda --gpus 4096" + out, 1, "; here: ");
  const auto help = run_in(folder, " --help");
  CHECK(help.code == 0);
  CHECK(help.out.find("Example:") != std::string::npos);
  CHECK(run_in(folder, " --version").out.find("lockstep") != std::string::npos);
}

TEST_CASE("a scenario has the way to the GPU as its copies were measured, and the memory that the device tells of") {
  const TemporaryFolder folder;
  const std::string profile = std::string(LOCKSTEP_SOURCE_DIR) + "/results/h100/2026-11-26/second/profile.json";
  REQUIRE(run_in(folder, "scenario " + profile + " -o s.json").code == 0);
  const Json scenario = Json::parse(tests::slurp(folder.path("s.json")));
  const Json& cluster = scenario.at("cluster");
  const auto measured = [](const Json& one, double low, double high) {
    CHECK(one.at("kind") == "measured");
    const double value = std::stod(one.at("value").get<std::string>());
    CHECK(value > low);
    CHECK(value < high);
  };
  measured(cluster.at("intra_node").at("pcie_link").at("bandwidth"), 25, 63);  // GB/s of PCIe 5's 63
  // That profile is older than the memory bandwidth of devices.
  CHECK(cluster.at("gpu").at("memory_bandwidth").at("kind") == "assumed");
  Json newer = Json::parse(tests::slurp(profile));
  newer["device"]["facts"]["memory_bytes"] = 85'000'000'000;
  newer["device"]["facts"]["memory_bandwidth"] = 3.352e12;
  REQUIRE(run_in(folder, "scenario " + folder.write("newer.json", newer.dump()) + " -o s.json").code == 0);
  const Json gpu = Json::parse(tests::slurp(folder.path("s.json"))).at("cluster").at("gpu");
  CHECK(gpu.at("memory").at("value") == "85 GB");
  CHECK(gpu.at("memory").at("kind") == "measured");
  CHECK(gpu.at("memory_bandwidth").at("value") == "3352 GB/s");
}

TEST_CASE("a scenario is of the measured model that is named, by default of the first") {
  const TemporaryFolder folder;
  const std::string profile = std::string(LOCKSTEP_SOURCE_DIR) + "/results/h100/2026-11-26/second/profile.json";
  const auto model_of = [&](const std::string& words) {
    const tests::Outcome outcome = run_in(folder, "scenario " + profile + words + " -o s.json");
    if (outcome.code != 0) return outcome.err;
    return Json::parse(tests::slurp(folder.path("s.json"))).at("model").get<std::string>();
  };
  CHECK(model_of("") == "resnet50");
  CHECK(model_of(" --model lenet_crossbow") == "lenet_crossbow");
  CHECK(model_of(" --model vgg16").find("has no iterations of \"vgg16\"; allowed: lenet_crossbow, resnet50") !=
        std::string::npos);
  CHECK(model_of(" --model no.json").find("no.json") != std::string::npos);
}
