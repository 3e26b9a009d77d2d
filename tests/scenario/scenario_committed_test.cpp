// The files of scenarios/: every one loads, and every number that a prediction rests on says what kind it is and where
// it comes from.
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

std::vector<std::string> json_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/" + folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  return files;
}

// A plain number, without kind and source, is noted as "given in FILE".
void check_sources(const sim::LoadedScenario& loaded, const std::string& below) {
  int checked = 0;
  for (const Assumption& a : loaded.assumptions) {
    if (a.pointer.rfind(below, 0) != 0) continue;
    INFO(a.pointer << " = " << a.value << ": " << a.source);
    CHECK((a.kind == "measured" || a.kind == "published" || a.kind == "fitted" || a.kind == "assumed"));
    CHECK(a.source.size() >= 5);
    CHECK(a.source.rfind("given in", 0) != 0);
    ++checked;
  }
  CHECK(checked > 5);
}

}  // namespace

TEST_CASE("every committed scenario loads, and its numbers have kind and source") {
  const std::vector<std::string> files = json_files("scenarios");
  CHECK(files.size() >= 5);
  for (const std::string& file : files) {
    INFO(file);
    const sim::LoadedScenario loaded = sim::load_scenario(file, {});
    CHECK(!loaded.variants.empty());
    CHECK(loaded.inputs.size() >= 2);
    check_sources(loaded, "");
  }
}

TEST_CASE("every committed cluster loads, and its numbers have kind and source") {
  const std::vector<std::string> files = json_files("scenarios/clusters");
  CHECK(files.size() >= 11);
  for (const std::string& file : files) {
    INFO(file);
    SmallFiles scenario;
    scenario.scenario["cluster"] = file;
    scenario.scenario["gpus"] = std::vector<int>{1};
    const sim::LoadedScenario loaded = scenario.load();
    CHECK(loaded.variants[0].baseline_gpus == loaded.variants[0].cluster.gpus_per_node);
    check_sources(loaded, "/cluster/");
  }
}

}  // namespace lockstep::tests
