#include "calib/sample_log.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/random.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

Sample sample_of(int bytes, double seconds) {
  return {"copy", {{"from", "host"}, {"to", "gpu0"}, {"bytes", bytes}}, {seconds, seconds}, "measured", "test", {}, {}};
}

}  // namespace

TEST_CASE("samples come back in order, a repeated one replaces the earlier") {
  TemporaryFolder folder;
  const std::string path = folder.path("samples.jsonl");
  {
    SampleLog log(path);
    log.append(sample_of(8, 1));
    log.append(sample_of(16, 2));
    log.append(sample_of(8, 3));
  }
  const SampleLog log(path);
  REQUIRE(log.samples().size() == 2);
  CHECK(log.samples()[0].seconds == std::vector<double>{3, 3});
  CHECK(log.samples()[1].key["bytes"] == 16);
  CHECK(log.has(sample_of(16, 9).id()));
  CHECK_FALSE(log.has(sample_of(32, 9).id()));
}

TEST_CASE("times that were set aside come back too") {
  TemporaryFolder folder;
  const std::string path = folder.path("samples.jsonl");
  Sample sample = sample_of(8, 1);
  sample.flags = {"throttled", "revisited"};
  sample.set_aside = {{"throttled", {3, 4}}, {"first", {5}}};
  SampleLog(path).append(sample);
  const Sample again = SampleLog(path).samples().at(0);
  REQUIRE(again.set_aside.size() == 2);
  CHECK(again.set_aside[0].why == "throttled");
  CHECK(again.set_aside[0].seconds == std::vector<double>{3, 4});
  CHECK(again.set_aside[1].why == "first");
  CHECK(again.has_flag("revisited"));
  CHECK_FALSE(again.has_flag("drift"));
}

TEST_CASE("a log is read without touching it, while another writes it") {
  TemporaryFolder folder;
  const std::string path = folder.path("samples.jsonl");
  CHECK(read_samples(path).empty());
  CHECK(folder.files() == 0);
  SampleLog writer(path);
  writer.append(sample_of(8, 1));
  writer.append(sample_of(16, 2));
  writer.append(sample_of(8, 3));
  std::ofstream(path, std::ios::app) << "{\"probe\":";
  const std::string before = read_file(path);
  const std::vector<Sample> samples = read_samples(path);
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].seconds == std::vector<double>{3, 3});
  CHECK(read_file(path) == before);
}

TEST_CASE("the order of a key's members does not matter") {
  Sample other = sample_of(8, 1);
  other.key = {{"bytes", 8}, {"to", "gpu0"}, {"from", "host"}};
  CHECK(other.id() == sample_of(8, 1).id());
}

TEST_CASE("an incomplete last line of a killed run is removed, at whatever byte it stopped") {
  TemporaryFolder folder;
  const std::string path = folder.path("samples.jsonl");
  {
    SampleLog log(path);
    log.append(sample_of(8, 1));
    log.append(sample_of(16, 2));
  }
  const std::string whole = read_file(path);
  const std::size_t first_line = whole.find('\n') + 1;
  for (std::size_t length = first_line; length < whole.size(); ++length) {
    std::ofstream(path, std::ios::trunc) << whole.substr(0, length);
    SampleLog log(path);
    CHECK(log.samples().size() == 1);
    CHECK(log.discarded_bytes() == length - first_line);
    log.append(sample_of(16, 2));
    CHECK(read_file(path) == whole);
  }
}

TEST_CASE("a writer killed at random moments loses only the sample in flight") {
  TemporaryFolder folder;
  const std::string path = folder.path("samples.jsonl");
  for (int round = 0; round < 20; ++round) {
    int tell[2];
    REQUIRE(pipe(tell) == 0);
    const pid_t child = fork();
    if (child == 0) {
      SampleLog log(path);
      for (int i = static_cast<int>(log.samples().size());; ++i) {
        log.append(sample_of(i, 1));
        if (write(tell[1], "x", 1) != 1) _exit(1);  // one byte per sample that is safe
      }
    }
    close(tell[1]);
    usleep(static_cast<useconds_t>(1000 + 20000 * random_uniform(4, 0, round)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    static std::size_t safe = 0;
    char byte;
    while (read(tell[0], &byte, 1) == 1) ++safe;
    close(tell[0]);
    const SampleLog log(path);
    REQUIRE(log.samples().size() >= safe);  // one more may have reached the disk before it could tell
    REQUIRE(log.samples().size() <= safe + std::size_t(round) + 1);
    for (std::size_t i = 0; i < log.samples().size(); ++i) REQUIRE(log.samples()[i].key["bytes"] == int(i));
  }
}

TEST_CASE("a malformed line in the middle is refused with its number") {
  TemporaryFolder folder;
  const std::string path = folder.path("samples.jsonl");
  {
    SampleLog log(path);
    for (int i = 0; i < 3; ++i) log.append(sample_of(i, 1));
  }
  std::string text = read_file(path);
  text.replace(text.find('\n') + 1, 1, "[");
  std::ofstream(path, std::ios::trunc) << text;
  CHECK_THROWS_WITH(SampleLog(path), Contains("samples.jsonl line 2"));
}

TEST_CASE("a folder that does not exist") {
  CHECK_THROWS_WITH(SampleLog("/nonexistent/x.jsonl"), Contains("/nonexistent/x.jsonl: cannot be opened"));
}

TEST_CASE("a full disk is reported and costs only the sample in flight") {
  TemporaryFolder folder;
  const std::string path = folder.path("samples.jsonl");
  const auto outcome = tests::in_child([&]() -> std::vector<double> {
    SampleLog log(path);
    log.append(sample_of(8, 1));
    const rlim_t room = read_file(path).size() + 10;  // the next line does not fit
    const rlimit limit{room, room};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return {1};
    try {
      log.append(sample_of(16, 2));
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).find("samples.jsonl: cannot be written: ") != std::string::npos
                 ? std::vector<double>{0}
                 : std::vector<double>{2};
    }
    return {3};
  });
  CHECK(outcome == std::vector<double>{0});
  const SampleLog log(path);
  CHECK(log.samples().size() == 1);
  CHECK(log.discarded_bytes() == 0);
}
