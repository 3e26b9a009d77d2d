// The description of a scenario's objects. A written scenario reads as the same one, and every field has an effect. The
// committed schemas and tables follow from the description; LOCKSTEP_UPDATE=1 writes them anew.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/object_format.hpp"
#include "engine/base/random.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/format_documents.hpp"
#include "sim/scenario/scenario_template.hpp"
#include "tests/base/committed.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::LoadedScenario;
using sim::Scenario;

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios"))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  return files;
}

Scenario read_again(const Json& written) {
  return sim::ScenarioTemplate::parse(written.dump(), "written.json").with({}).variants.front();
}

// All keys of the formats, at values that are not their defaults.
Json rich_scenario() {
  Json scenario = small_scenario();
  scenario["cluster"] = small_cluster();
  scenario["description"] = "all keys";
  scenario["cluster"]["description"] = "of the cluster";
  scenario["cluster"]["host"].update({{"memory_latency", "3 us"}, {"cores", 20}});
  scenario["cluster"]["gpu"].update({{"reserved_memory", "0.5 GB"}});
  scenario["cluster"]["gpu"]["peak"].update({{"tf32", "20 TFLOP/s"}, {"fp16", "40 TFLOP/s"}, {"bf16", "41 TFLOP/s"}});
  scenario["cluster"]["intra_node"]["peer_across_sockets"] = false;
  scenario["cluster"]["nic"]["duplex"] = "half";
  scenario["cluster"]["fabric"]["bandwidth"] = "11 GB/s";
  scenario["compute"] = Json::parse(R"({"precision": "fp16", "rates": [{"batch": 16, "rate": "1000 images/s"}],
    "launch_overhead": "7 us", "optimizer": "adam", "overlap_slowdown": 1.2,
    "efficiency": {"compute": 0.5, "memory": 0.7, "fast_convolution": 2, "channel_tile": 32, "attention": 0.65,
                   "cast_bytes_per_parameter": 6},
    "jitter": {"distribution": "lognormal", "coefficient_of_variation": 0.02}})");
  scenario["input"] = Json::parse(R"({"samples_per_s_per_node": "5000 1/s", "bytes_per_sample": "10 kB", "prefetch": 3,
    "loading": "parallel", "file_bytes_per_sample": "20 kB", "disk_bandwidth": "2 GB/s"})");
  scenario["communication"] = Json::parse(R"({"all_reduce": "hybrid", "group_size": 2, "chain_slices": 3,
    "hybrid_threshold": "3 MB", "torus_columns": 2, "tree_slices": 8, "wire": "fp16", "fusion_threshold": "5 MB",
    "fusion": "ddp", "ddp": {"bucket_cap": "20 MiB", "first_bucket": "2 MiB"}, "accumulation": 2, "overlap": false,
    "message_overhead": "4 us", "launch_overhead": "30 us", "reduction_rate": {"fp16": "9 GB/s"},
    "bucket_copies": "3 GB/s"})");
  scenario["convergence"] = {{"target", "99 %"}, {"train_samples", 60000}, {"epochs", 12}};
  scenario["uncertainty"] = {{"compute", 0.06}, {"bandwidth", 0.11}, {"latency", 0.2}, {"epochs", 0.04}};
  scenario["published"] = Json::parse(R"([{"gpus": 4, "metric": "iteration", "value": "3 ms", "source": "example"}])");
  scenario.update({{"iterations", 4}, {"seed", 9}, {"fidelity", "analytic"}, {"ignore_memory", true}});
  return scenario;
}

// Other values of a leaf that its reader may take.
std::vector<Json> others_of(const Json& leaf) {
  static const std::vector<std::string> words{
      "fp32", "fp16",   "bf16",      "ring", "tree", "torus", "hierarchical", "sgd",      "lamb",  "message",
      "fast", "normal", "threshold", "ddp",  "full", "half",  "parallel",     "blocking", "links", "scaling_efficiency",
      "none", "another"};
  std::vector<Json> others;
  if (leaf.is_boolean()) return {!leaf.get<bool>()};
  if (leaf.is_number_integer()) return {leaf.get<int>() + 1, leaf.get<int>() - 1, leaf.get<int>() * 2};
  if (leaf.is_number()) return {leaf.get<double>() * 0.9, leaf.get<double>() * 1.1};
  const std::string text = leaf.get<std::string>();
  const std::size_t blank = text.find(' ');
  if (blank != std::string::npos && std::isdigit(static_cast<unsigned char>(text[0])))
    others.push_back("1.0625" + text.substr(blank));
  for (const std::string& word : words)
    if (word != text) others.push_back(word);
  return others;
}

}  // namespace

TEST_CASE("what a scenario is written as reads as the same scenario, for every shipped one") {
  const std::vector<std::string> files = shipped_scenarios();
  CHECK(files.size() >= 9);
  for (const std::string& file : files) {
    INFO(file);
    for (const Scenario& scenario : sim::load_scenario(file, {}).variants) {
      INFO(scenario.variant);
      const Json written = sim::to_json(scenario);
      const Json again = sim::to_json(read_again(written));
      CHECK(written == again);
    }
  }
}

TEST_CASE("without copies through the host nothing is written of them, whatever they would overlap with") {
  SmallFiles files;
  Scenario scenario = files.load().variants.front();
  scenario.algorithm = Algorithm::parameter_server;
  scenario.parameter_server.emplace().staging_overlaps = false;
  const Json written = sim::to_json(scenario);
  CHECK_FALSE(written["parameter_server"].contains("staging"));
  CHECK(sim::to_json(read_again(written)) == written);
}

TEST_CASE("a value that is written keeps the kind and the source that it is given") {
  SmallFiles files;
  const Scenario scenario = files.load().variants.front();
  const std::vector<Assumption> sources{{"/compute/launch_overhead", "", "measured", "a clock"},
                                        {"/cluster/nic/bandwidth", "", "published", "a data sheet"}};
  const Json written = sim::to_json(scenario, sources);
  CHECK(written["compute"]["launch_overhead"]["source"] == "a clock");
  const LoadedScenario again = sim::ScenarioTemplate::parse(written.dump(), "written.json").with({});
  for (const Assumption& source : sources) {
    const auto found = std::find_if(again.assumptions.begin(), again.assumptions.end(),
                                    [&](const Assumption& a) { return a.pointer == source.pointer; });
    REQUIRE(found != again.assumptions.end());
    CHECK(found->kind == source.kind);
    CHECK(found->source == source.source);
  }
  CHECK(sim::to_json(again.variants.front()) == sim::to_json(scenario));
}

TEST_CASE("every field of a scenario's file changes what it is written as: caches go by it") {
  const Json rich = rich_scenario();
  const Json key = sim::to_json(read_again(rich));
  const Json flat = rich.flatten();
  int changed = 0;
  std::vector<std::string> alone;  // of which no other value fits alone
  for (const auto& [pointer, leaf] : flat.items()) {
    if (pointer == "/schema" || pointer == "/cluster/schema") continue;
    // For switches and an object's kind, no other value is valid by itself; another test covers the model.
    if (pointer.find("/switches/") != std::string::npos || pointer.find("/kind") != std::string::npos) continue;
    if (pointer.find("/attach") != std::string::npos || pointer == "/model") continue;
    INFO(pointer);
    bool is_seen = false, is_taken = false;
    for (const Json& other : others_of(leaf)) {
      Json varied = rich;
      varied[Json::json_pointer(pointer)] = other;
      try {
        is_seen = sim::to_json(read_again(varied)) != key;
        is_taken = true;
      } catch (const InputError&) {
        continue;  // not a value of this key
      }
      if (is_seen) break;
    }
    if (!is_taken) alone.push_back(pointer);
    if (is_taken) CHECK(is_seen);
    changed += is_seen;
  }
  CHECK(changed > 60);
  CHECK(alone ==
        std::vector<std::string>{"/cluster/gpus_per_node", "/cluster/nic/per_node", "/gpus/1", "/published/0/metric"});
  Json other_model = rich;
  other_model["model"] = "resnet50";
  CHECK(sim::to_json(read_again(other_model)) != key);
}

TEST_CASE("a scenario that was made without a file is checked as one that was read") {
  SmallFiles files;
  Scenario scenario = files.load().variants.front();
  CHECK_NOTHROW(sim::check(scenario));
  scenario.gpus = {3};
  CHECK(error_of([&] { sim::check(scenario); }) ==
        "small: /gpus/0: 3 GPUs do not fill whole nodes; allowed: multiples of 2");
  scenario.gpus = {2};
  scenario.algorithm = Algorithm::local_sgd;
  scenario.communication.accumulation = 2;
  CHECK(error_of([&] { sim::check(scenario); }) ==
        "small: /communication/accumulation: \"local-sgd\" does not accumulate gradients; allowed: 1");
  scenario.communication.accumulation = 1;
  for (model::Layer& layer : scenario.model.layers.edit()) layer.name = "layer";
  scenario.compute.recomputes_blocks = true;
  CHECK_THAT(error_of([&] { sim::check(scenario); }),
             Contains("/compute/recompute_blocks") && Contains("has no blocks"));
  scenario.compute.recomputes_blocks = false;
  scenario.algorithm = Algorithm::sharded;
  scenario.communication.bucket_copy_bytes_per_s = 3e9;
  CHECK(error_of([&] { sim::check(scenario); }) ==
        "small: /communication/bucket_copies: of sharded; allowed: without it; s-sgd has it");
  scenario.algorithm = Algorithm::s_sgd;
  CHECK_NOTHROW(sim::check(scenario));
}

TEST_CASE("a quantity that is written reads as exactly the same number") {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const double magnitude = 40 * random_uniform(1, 2, i) - 20;
    const double value = std::pow(10.0, magnitude) * (1 + random_uniform(1, 3, i));
    for (const Dimension dimension :
         {Dimension::time, Dimension::size, Dimension::bandwidth, Dimension::compute, Dimension::rate}) {
      const std::string text = quantity_text(value, dimension);
      double read = 0;
      INFO(text);
      REQUIRE(parse_quantity_or_explain(text, dimension, read).empty());
      CHECK(read == value);
    }
  }
  CHECK(quantity_text(12.5e9, Dimension::bandwidth) == "12.5 GB/s");
  CHECK(quantity_text(5e-6, Dimension::time) == "5 us");
}

TEST_CASE("the committed JSON Schemas and the tables of the format's document follow from the formats") {
  for (const auto& [name, schema] : sim::format_schemas())
    check_committed("scenarios/schema/" + name + ".schema.json", schema.dump(1) + "\n");
  const std::string readme = "sim/scenario/README.md";
  check_committed(readme, sim::with_tables(read_file(LOCKSTEP_SOURCE_DIR "/" + readme)));
}

}  // namespace lockstep::tests
