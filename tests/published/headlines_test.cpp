// Every scenario of a published result loads, names the source of its numbers, is run by a test, and is in the list of
// headline results.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/scenario/scenario.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

const std::string kFolder = LOCKSTEP_SOURCE_DIR "/scenarios/published";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string all_tests() {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/tests/published"))
    if (entry.path().extension() == ".cpp") text += text_of(entry.path());
  return text;
}

// Folders of one paper each.
std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& paper : std::filesystem::directory_iterator(kFolder)) {
    if (!paper.is_directory() || paper.path().filename() == "suites") continue;
    for (const auto& entry : std::filesystem::directory_iterator(paper.path()))
      if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  return files;
}

}  // namespace

TEST_CASE("published: every scenario loads, its numbers have kind and source, a test runs it, the list has it") {
  const std::string tests = all_tests(), list = text_of(kFolder + "/README.md");
  const std::vector<std::filesystem::path> files = scenario_files();
  CHECK(files.size() >= 24);
  for (const std::filesystem::path& file : files) {
    const std::string paper = file.parent_path().filename().string(), name = file.stem().string();
    INFO(paper << "/" << name);
    const LoadedScenario loaded = load_scenario(file.string(), {});
    for (const Assumption& a : loaded.assumptions) {
      INFO(a.pointer << " = " << a.value << ": " << a.source);
      CHECK(a.source.size() >= 5);
      CHECK(a.source.rfind("given in", 0) != 0);
    }
    CHECK(list.find("(" + paper + "/" + name + ".json)") != std::string::npos);
    const bool by_folder = paper == "crossbow";  // its test runs all that there are
    const std::string ending = paper == "jizhi" ? name.substr(0, name.find('_')) : name;
    CHECK((by_folder || tests.find(ending + "\"") != std::string::npos));
  }
}
