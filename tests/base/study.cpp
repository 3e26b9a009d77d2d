// Reads and writes a study's records in one file of JSON lines.
#include "engine/base/study.hpp"

#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

const Json kResult = {{"schema", kSweepResultSchema}, {"sweep", {{"targets", {0.9}}}}};

Json record(int seed) {
  return {{"schema", kRunSchema}, {"options", {{"seed", seed}}}, {"train_s", 0.1 + 1e-17}};
}

}  // namespace

TEST_CASE("a study's lines are the documents of the folder that it stands for, in the order of their files") {
  const TemporaryFolder folder;
  const std::string text =
      study_text(kResult, {{"a/seed-10", record(10)}, {"a/seed-1", record(1)}, {"search/a/rate-0.1", record(100)}});
  const std::string path = folder.write("x.y.jsonl", text);
  const std::vector<StudyLine> lines = load_study(path);
  REQUIRE(lines.size() == 4);
  const std::vector<std::string> files{"sweep", "a/seed-1", "a/seed-10", "search/a/rate-0.1"};
  for (std::size_t i = 0; i < files.size(); ++i) CHECK(lines[i].file == folder.path("x.y/" + files[i] + ".json"));
  CHECK(lines[0].document.json() == kResult);
  Json named = lines[1].document.json();
  CHECK(named["name"] == "a/seed-1");
  named.erase("name");
  CHECK(named == record(1));  // to the last digit
  CHECK(is_study(path));
}

TEST_CASE("the file of a folder is beside it") {
  CHECK(study_beside("out") == "out.jsonl");
  CHECK(study_beside("a/out/") == "a/out.jsonl");
  CHECK(study_beside("./a/../out") == "out.jsonl");
}

TEST_CASE("a study's errors name its line, other lines are passed over, and other files are none") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& text) {
    const std::string path = folder.write("s.jsonl", text);
    const std::string message = error_of([&] { load_study(path); });
    return message.substr(std::min(message.size(), path.size()));
  };
  CHECK(error("") == "");
  CHECK(error("{\"schema\": \"lockstep/other/1\"}\n\n") == "");
  CHECK(error("{}\n") == ": line 1: /: missing key \"schema\"");
  CHECK(error("{\"schema\": \"lockstep/run/1\"}\n") == ": line 1: /: missing key \"name\"");
  const std::string run = "{\"schema\": \"lockstep/run/1\", \"name\": \"a\"}\n";
  CHECK(error(run + "\n" + run) == ": line 3: /name: \"a\" is there twice; allowed: a line for each run");
  CHECK(error(run + "{\"schema\": ").rfind(": line 2: line 1, column ", 0) == 0);
  CHECK_FALSE(is_study(folder.path("s.jsonl")));
  CHECK_FALSE(is_study(folder.path("none.jsonl")));
  CHECK_FALSE(is_study(folder.write("s.json", study_text(kResult, {}))));
  CHECK_THAT(error_of([&] { load_study(folder.path("none.jsonl")); }), Contains("none.jsonl: cannot read: "));
}
