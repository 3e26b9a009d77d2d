// Outputs of a program are refused if writing them would lose something.
#include "engine/base/outputs.hpp"

#include <filesystem>

#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep {
namespace {

TEST_CASE("Outputs are paths that can be written, each a file of its own that is not read") {
  const TemporaryFolder folder;
  const std::string input = folder.write("input.json", "{}"), old = folder.write("old.json", "{}");
  const std::string link = folder.path("link.json"), made = folder.path("new.json");
  std::filesystem::create_symlink(input, link);
  const auto refusal = [&](const std::vector<std::string>& outputs) {
    return error_of([&] { check_outputs(outputs, {input}); });
  };
  CHECK(refusal({}) == "");
  CHECK(refusal({old, "", made, ""}) == "");
  CHECK(refusal({made, folder.path("none/x.json")}) ==
        folder.path("none/x.json") + ": cannot be written: No such file or directory");
  for (const std::string& path : {input, link, folder.path("./input.json")})
    CHECK(refusal({made, path}) == path + ": is read and would be replaced; allowed: another file for the output");
  for (const std::string& path : {made, folder.path("./new.json")})
    CHECK(refusal({old, made, path}) == path + ": two outputs in one file; allowed: a file for each");
}

TEST_CASE("An input that is not there is nobody's output") {
  const TemporaryFolder folder;
  CHECK(error_of([&] { check_outputs({folder.path("a.json")}, {folder.path("b.json")}); }) == "");
}

}  // namespace
}  // namespace lockstep
