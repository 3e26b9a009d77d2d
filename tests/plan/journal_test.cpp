// Files that a killed run leaves.
#include "sim/plan/journal.hpp"

#include <algorithm>

#include "engine/base/atomic_file.hpp"
#include "engine/base/file_lock.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

sim::Outcome outcome(double time_s) {
  sim::Outcome o;
  o.status = "ok";
  o.time_s = time_s;
  o.warnings = {"a \"quoted\" line\nand another"};
  o.layer_groups = {{"conv1", 1, 2, 3, 4}};
  return o;
}

}  // namespace

TEST_CASE("a journal gives back what was put in, every digit of it") {
  const TemporaryFolder folder;
  const std::string path = folder.path("points.jsonl");
  {
    sim::Journal journal(path, "digest", false);
    journal.add("a", outcome(1.0 / 3));
    journal.add("b", outcome(2e-300));
  }
  const sim::Journal journal(path, "digest", true);
  REQUIRE(journal.kept().size() == 2);
  CHECK(journal.kept().at("a").time_s == 1.0 / 3);
  CHECK(journal.kept().at("b").text() == outcome(2e-300).text());
  CHECK(journal.note().empty());
}

TEST_CASE("a journal that another run writes is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path("points.jsonl");
  {
    const sim::Journal one(path, "digest", false);
    CHECK_THROWS_AS(sim::Journal(path, "digest", true), FileInUse);
  }
  CHECK_NOTHROW(sim::Journal(path, "digest", true));
}

TEST_CASE("torn at any byte, a journal gives back the lines before and goes on from there") {
  const TemporaryFolder folder;
  const std::string path = folder.path("points.jsonl");
  {
    sim::Journal journal(path, "digest", false);
    for (int i = 0; i < 4; ++i) journal.add(std::to_string(i), outcome(i));
  }
  const std::string whole = read_file(path);
  for (std::size_t size = 0; size <= whole.size(); size += 7) {
    INFO(size << " of " << whole.size() << " bytes");
    folder.write("points.jsonl", whole.substr(0, size));
    const auto lines =
        static_cast<std::size_t>(std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
    {
      sim::Journal journal(path, "digest", true);
      CHECK(journal.kept().size() == (lines == 0 ? 0 : lines - 1));
      journal.add("new", outcome(9));
    }
    const sim::Journal again(path, "digest", true);
    CHECK(again.kept().count("new") == 1);
    CHECK(again.kept().size() == (lines == 0 ? 1 : lines));
    CHECK(again.note().empty());
  }
}

TEST_CASE("an altered line is dropped with all later ones, and the output says so") {
  const TemporaryFolder folder;
  const std::string path = folder.path("points.jsonl");
  {
    sim::Journal journal(path, "digest", false);
    for (int i = 0; i < 3; ++i) journal.add(std::to_string(i), outcome(1.25));
  }
  std::string text = read_file(path);
  text.replace(text.rfind("1.25", text.rfind("\"2\"")), 4, "9.25");  // of the second line of three
  folder.write("points.jsonl", text);
  const sim::Journal journal(path, "digest", true);
  REQUIRE(journal.kept().size() == 1);
  CHECK(journal.kept().at("0").time_s == 1.25);
  CHECK_THAT(journal.note(), Contains("line 3: was altered"));
}

TEST_CASE("a journal of another plan is not taken up, and none is without being asked") {
  const TemporaryFolder folder;
  const std::string path = folder.path("points.jsonl");
  sim::Journal(path, "digest", false).add("a", outcome(1));
  {
    const sim::Journal other(path, "other digest", true);
    CHECK(other.kept().empty());
    CHECK_THAT(other.note(), Contains("made by another plan"));
  }
  sim::Journal(path, "digest", false).add("a", outcome(1));
  CHECK(sim::Journal(path, "digest", true).kept().size() == 1);
  CHECK(sim::Journal(path, "digest", false).kept().empty());
}

TEST_CASE("two runs do not write one journal") {
  const TemporaryFolder folder;
  const std::string path = folder.path("points.jsonl");
  const sim::Journal first(path, "digest", false);
  CHECK_THROWS_AS(sim::Journal(path, "digest", true), FileInUse);
  CHECK_THROWS_AS(sim::Journal(folder.path("none/points.jsonl"), "digest", false), InputError);
}

TEST_CASE("a file that is no journal is refused and left as it is") {
  const TemporaryFolder folder;
  for (const char* text : {"{\"schema\": \"lockstep/plan/1\"}", "[1]", "\n", "{\"schema\":1,\"digest\":2}\n"}) {
    INFO(text);
    const std::string path = folder.write("mine.json", text);
    for (bool resume : {false, true}) CHECK_THROWS_AS(sim::Journal(path, "digest", resume), InputError);
    CHECK(read_file(path) == text);
  }
  CHECK_THROWS_AS(sim::Journal("/dev/zero", "digest", true), InputError);
  const std::string none = folder.write("none.jsonl", "");
  CHECK(sim::Journal(none, "digest", true).kept().empty());
}

}  // namespace lockstep::tests
