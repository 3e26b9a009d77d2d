// The states of several processes in one file.
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "engine/base/atomic_file.hpp"
#include "engine/base/provenance.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/train/checkpoint.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep::train {
namespace {

/// A process's state: a common part, a part of its own, and a counter.
std::string state_of(int process, std::int64_t shared_elements) {
  StateWriter writer;
  std::vector<float> shared(static_cast<std::size_t>(shared_elements), 0.5F);
  std::vector<float> own{static_cast<float>(process), -0.0F, 1.0F / 3};
  std::int64_t counter = 1000 + process;
  double seconds = 0.1 * process;
  writer.floats("shared", shared);
  writer.floats("own", own);
  writer.integer("counter", counter);
  writer.real("seconds", seconds);
  return writer.packed();
}

}  // namespace

TEST_CASE("Every process gets its own state back, and what all have is kept once") {
  const TemporaryFolder folder;
  const std::string path = folder.path("state");
  Checkpoint written;
  for (int p = 0; p < 3; ++p) written.add(state_of(p, 10000));
  written.write(path, {{"settings", {{"seed", 1}}}});
  // 10,000 floats once, not three times, and less than 2 kB of header.
  CHECK(std::filesystem::file_size(path) < 40000 + 2000);

  const Checkpoint read(path);
  CHECK(read.facts().at("settings").at("seed") == 1);
  sync::HostVectorOps ops;
  for (int p = 0; p < 3; ++p) {
    CHECK(read.state(p) == state_of(p, 10000));
    StateReader reader(path, read.state(p), ops);
    sync::DeviceVector shared(ops, 10000);
    std::vector<float> own(3);
    std::int64_t counter = 0;
    double seconds = 0;
    reader.vector("shared", shared);
    reader.floats("own", own);
    reader.integer("counter", counter);
    reader.real("seconds", seconds);
    CHECK(shared.to_host() == std::vector<float>(10000, 0.5F));
    CHECK(own == std::vector<float>{static_cast<float>(p), -0.0F, 1.0F / 3});
    CHECK(std::signbit(own[1]));
    CHECK(counter == 1000 + p);
    CHECK(seconds == 0.1 * p);
    std::vector<float> longer(4);
    CHECK_THROWS_WITH(reader.floats("own", longer), path +
                                                        ": holds another size of own; allowed: a checkpoint of the "
                                                        "same run");
    CHECK_THROWS_WITH(reader.integer("other", counter), path + ": lacks other; allowed: a checkpoint of the same run");
  }
  CHECK_THROWS_AS(read.state(3), std::out_of_range);
}

TEST_CASE("A checkpoint of several processes that is cut or changed anywhere is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path("state");
  Checkpoint written;
  for (int p = 0; p < 2; ++p) written.add(state_of(p, 5));
  written.write(path, Json::object());
  const std::string whole = read_file(path);
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    folder.write("changed", changed);
    CHECK_THROWS_AS(Checkpoint(folder.path("changed")), InputError);
    folder.write("cut", whole.substr(0, at));
    CHECK_THROWS_AS(Checkpoint(folder.path("cut")), InputError);
  }
}

TEST_CASE("A header that is none is refused with file and pointer, whatever it lacks") {
  const TemporaryFolder folder;
  const std::string numbers = R"("numbers": {"n": 1})";
  for (const auto& [header, error] : std::vector<std::pair<std::string, std::string>>{
           {"{" + numbers + R"(, "arrays": [{"name": 3, "elements": 1}]})", "/arrays/0/name: expected a string"},
           {"{" + numbers + R"(, "arrays": [{"name": "a", "elements": "k"}]})",
            "/arrays/0/elements: expected a whole number"},
           {"{" + numbers + R"(, "arrays": [{"name": "a", "elements": 9}]})", "/arrays/0: the file ends before"},
           {R"({"numbers": 5, "arrays": []})", "/numbers: expected an object"},
           {R"({"arrays": []})", "/: missing key \"numbers\""},
           {"{" + numbers, "line 1, column"}}) {
    const std::string path = folder.write(
        "state", "lockstep/checkpoint/1 " + std::to_string(header.size()) + " " + sha256_hex(header) + "\n" + header);
    CHECK(error_of([&] { Checkpoint read(path); }).find(path + ": " + error) == 0);
  }
}

}  // namespace lockstep::train
