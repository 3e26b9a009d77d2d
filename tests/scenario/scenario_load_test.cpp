// Scenario files: defaults and where they are told, batch rules, --set and --gpus, references to other files.
#include <algorithm>
#include <set>

#include "engine/base/provenance.hpp"
#include "sim/scenario/scenario_template.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::AllReduceKind;
using sim::Fidelity;
using sim::LoadedScenario;
using sim::Optimizer;
using sim::Precision;
using sim::Scenario;
using sim::Wire;

// Exactly one assumption has the pointer; it is returned.
Assumption assumption_at(const LoadedScenario& loaded, const std::string& pointer) {
  std::vector<Assumption> found;
  for (const Assumption& a : loaded.assumptions)
    if (a.pointer == pointer) found.push_back(a);
  INFO(pointer);
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("a scenario with only the required keys gets every default") {
  const Scenario s = SmallFiles().one();
  CHECK(s.name == "small");
  CHECK(s.variant == "");
  CHECK(s.gpus == std::vector<int>{2, 4});
  CHECK(s.baseline_gpus == 2);  // one node
  CHECK(s.batch_at(2) == 16);
  CHECK(s.iterations == 10);
  CHECK(s.seed == 1);
  CHECK(s.fidelity == Fidelity::fast);
  CHECK(s.published.empty());
  CHECK(!s.convergence);

  CHECK(s.compute.precision == Precision::fp32);
  CHECK(s.compute.rates.empty());
  CHECK(s.compute.launch_s == 5e-6);
  REQUIRE(s.compute.compute_efficiency.size() == 1);
  CHECK(s.compute.compute_efficiency[0].efficiency == 0.6);
  CHECK(s.compute.memory_efficiency == 0.8);
  CHECK(s.compute.optimizer == Optimizer::momentum);
  CHECK(s.compute.jitter == sim::JitterKind::none);
  CHECK(s.input.samples_per_s_per_node == 0);
  CHECK(s.input.bytes_per_sample == 0);
  CHECK(s.input.prefetch == 2);

  CHECK(s.communication.all_reduce == AllReduceKind::ring);
  CHECK(s.communication.group_size == 16);
  CHECK(s.communication.chain_slices == 0);
  CHECK(s.communication.torus_columns == 0);
  CHECK(s.communication.tree_slices == 16);
  CHECK(s.communication.wire == Wire::fp32);
  CHECK(s.communication.fusion_threshold_bytes == 0);
  CHECK(s.communication.overlap);
  CHECK(s.communication.message_overhead_s == 5e-6);
  CHECK(s.communication.launch_overhead_s == 20e-6);
  CHECK(s.communication.reduction_rate_bytes_per_s == 0);
  CHECK(s.uncertainty.compute == 0.05);
  CHECK(s.uncertainty.bandwidth == 0.1);
  CHECK(s.uncertainty.latency == 0.25);
  CHECK(s.uncertainty.epochs == 0.05);
}

TEST_CASE("defaults that a prediction rests on are listed as assumed, and the scenario is told with them") {
  const LoadedScenario loaded = SmallFiles().load();
  std::set<std::string> defaults;
  for (const Assumption& a : loaded.assumptions) {
    CHECK(a.kind == "assumed");
    if (a.source.rfind("default", 0) == 0) defaults.insert(a.pointer);
  }
  CHECK(defaults == std::set<std::string>{"/compute/launch_overhead", "/compute/efficiency/compute",
                                          "/compute/efficiency/memory", "/communication/fusion_threshold",
                                          "/communication/chain_slices", "/communication/message_overhead",
                                          "/communication/launch_overhead", "/uncertainty/compute",
                                          "/uncertainty/bandwidth", "/uncertainty/latency", "/uncertainty/epochs",
                                          "/cluster/gpu/reserved_memory"});
  CHECK(assumption_at(loaded, "/compute/efficiency/compute").value == 0.6);
  CHECK(loaded.resolved["baseline"]["gpus"] == 2);
  CHECK(loaded.resolved["communication"]["group_size"] == 16);
  CHECK(loaded.resolved["communication"]["message_overhead"]["value"] == "5 us");
  CHECK(loaded.resolved["cluster"]["name"] == "two nodes");  // the file's content in place of its name
  CHECK(loaded.resolved["gpus"] == Json{2, 4});
}

TEST_CASE("a value of the file replaces the default, and its kind and source are kept") {
  SmallFiles files;
  files.scenario["communication"]["message_overhead"] = {{"value", "7 us"}, {"kind", "measured"}, {"source", "a test"}};
  files.scenario["baseline"] = {{"gpus", 4}};
  const LoadedScenario loaded = files.load();
  CHECK(loaded.variants[0].communication.message_overhead_s == Approx(7e-6));
  CHECK(loaded.variants[0].communication.launch_overhead_s == 20e-6);  // its neighbour keeps the default
  CHECK(loaded.variants[0].baseline_gpus == 4);
  const Assumption told = assumption_at(loaded, "/communication/message_overhead");
  CHECK(told.value == "7 us");
  CHECK(told.kind == "measured");
  CHECK(told.source == "a test");
}

TEST_CASE("the batch size follows the GPU count, each rule up to and including its own") {
  SmallFiles files;
  files.scenario["batch_per_gpu"] =
      Json::parse(R"([{"up_to_gpus": 1, "batch": 64}, {"up_to_gpus": 2, "batch": 32}, {"up_to_gpus": 4, "batch": 8}])");
  const Scenario s = files.one();
  CHECK(s.batch_at(1) == 64);
  CHECK(s.batch_at(2) == 32);
  CHECK(s.batch_at(3) == 8);
  CHECK(s.batch_at(4) == 8);
}

TEST_CASE("a setting beats the file, at any depth, of keys that the file has or lacks") {
  SmallFiles files;
  files.scenario["iterations"] = 3;
  CHECK(files.one().iterations == 3);
  CHECK(files.one({{"/iterations", "4"}}).iterations == 4);
  CHECK(files.one({{"/iterations", "4"}, {"/iterations", "5"}}).iterations == 5);  // the last one counts
  const LoadedScenario loaded =
      files.load({{"/communication/message_overhead", "9 us"},
                  {"/compute/efficiency/compute", "0.25"},
                  {"/cluster/nic/bandwidth", "40 Gbit/s"},
                  {"/gpus/1", "1"},
                  {"/model", "resnet32_crossbow"},
                  {"/convergence", R"({"target": "99 %", "train_samples": 6e4, "epochs": 2})"}});
  const Scenario& s = loaded.variants[0];
  CHECK(s.communication.message_overhead_s == Approx(9e-6));
  CHECK(s.compute.compute_efficiency[0].efficiency == 0.25);
  CHECK(s.cluster.nic.link.bandwidth_bytes_per_s == Approx(5e9));
  CHECK(s.gpus == std::vector<int>{2, 1});
  CHECK(s.model.name == "resnet32_crossbow");
  REQUIRE(s.convergence);
  CHECK(s.convergence->epochs == 2);
  CHECK(assumption_at(loaded, "/cluster/nic/bandwidth").value == "40 Gbit/s");
  CHECK(assumption_at(loaded, "/cluster/nic/bandwidth").source == "given in --set");
  CHECK(loaded.resolved["cluster"]["nic"]["bandwidth"] == "40 Gbit/s");
}

TEST_CASE("what is written of a scenario reads as the same, also where a value is as in no file") {
  const std::vector<std::vector<std::pair<std::string, std::string>>> settings{
      {{"/compute/jitter", R"({"distribution": "lognormal", "coefficient_of_variation": 0})"}},
      {{"/algorithm", "local-sgd"}, {"/local_sgd", R"({"period": 1})"}}};
  for (const auto& some : settings) {
    const Json written = to_json(SmallFiles().one(some));
    const auto again = sim::ScenarioTemplate::parse(written.dump(), "written").with({});
    CHECK(to_json(again.variants.front()) == written);
  }
}

TEST_CASE("a GPU list given beside the file replaces the file's") {
  const LoadedScenario loaded = SmallFiles().load({}, {1, 2});
  CHECK(loaded.variants[0].gpus == std::vector<int>{1, 2});
  CHECK(loaded.resolved["gpus"] == Json{1, 2});
}

TEST_CASE("a cluster named by a setting is read, can be changed further, and gives the default baseline") {
  SmallFiles files;
  Json other = files.cluster;
  other["name"] = "one node of four";
  other["nodes"] = 1;
  other["gpus_per_node"] = 4;
  other["intra_node"]["switches"][0]["gpus"] = {0, 1, 2, 3};
  const std::string path = files.folder.write("else/other.json", other.dump());
  const LoadedScenario loaded = files.load({{"/cluster", path}, {"/cluster/nic/latency", "3 us"}});
  const Scenario& s = loaded.variants[0];
  CHECK(s.cluster.name == "one node of four");
  CHECK(s.cluster.gpus_per_node == 4);
  CHECK(s.cluster.nic.link.latency_s == Approx(3e-6));
  CHECK(s.baseline_gpus == 4);
  CHECK(loaded.resolved["baseline"]["gpus"] == 4);
  CHECK(loaded.inputs.count(path) == 1);
  CHECK(assumption_at(loaded, "/cluster/gpu/memory_bandwidth").source == "given in " + path);
}

TEST_CASE("a cluster may stand in the scenario itself, and numbers of GPUs may be written with a source") {
  SmallFiles files;
  files.scenario["cluster"] = files.cluster;
  files.scenario["cluster"]["gpus_per_node"] = {{"value", 2}, {"kind", "published"}, {"source", "a test"}};
  const LoadedScenario loaded = files.load();
  CHECK(loaded.variants[0].baseline_gpus == 2);
  CHECK(loaded.inputs.size() == 1);
  CHECK(assumption_at(loaded, "/cluster/gpus_per_node").kind == "published");
  files.scenario["cluster"]["gpus_per_node"] = 2.0;
  CHECK(files.one().baseline_gpus == 2);
}

TEST_CASE("a model may be a file beside the scenario") {
  SmallFiles files;
  files.scenario["model"] = LOCKSTEP_SOURCE_DIR "/scenarios/models/example_cnn.json";
  const LoadedScenario loaded = files.load();
  CHECK(loaded.variants[0].model.parameter_count() > 0);
  CHECK(loaded.inputs.count(LOCKSTEP_SOURCE_DIR "/scenarios/models/example_cnn.json") == 1);
}

TEST_CASE("the inputs are the files read, with the SHA-256 of their bytes") {
  const SmallFiles files;
  const LoadedScenario loaded = files.load();
  const std::map<std::string, std::string> expected{
      {files.folder.path("scenario.json"), sha256_hex(files.scenario.dump())},
      {files.folder.path("cluster.json"), sha256_hex(files.cluster.dump())}};
  CHECK(loaded.inputs == expected);
}

}  // namespace lockstep::tests
