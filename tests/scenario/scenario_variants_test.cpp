// Variants of a scenario: each its own settings and nothing of the others', published results for one or for all.
#include <algorithm>

#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::LoadedScenario;

SmallFiles with_variants(const char* variants) {
  Json scenario = small_scenario();
  scenario["communication"] = {{"message_overhead", "5 us"}};
  scenario["variants"] = Json::parse(variants);
  return SmallFiles(scenario);
}

const char* const kTwo = R"([{"name": "plain", "set": {}}, {"name": "slow", "set": {"/communication/message_overhead":
  {"value": "50 us", "kind": "measured", "source": "a test"}, "/iterations": 3}}])";

std::string published(int gpus, const std::string& variant) {
  return R"({"gpus": )" + std::to_string(gpus) +
         R"(, "metric": "samples_per_s", "value": "100 images/s", "source": "x")" +
         (variant.empty() ? "" : R"(, "variant": ")" + variant + "\"") + "}";
}

std::vector<int> published_gpus(const sim::Scenario& scenario) {
  std::vector<int> gpus;
  for (const sim::PublishedSpec& p : scenario.published) gpus.push_back(p.gpus);
  return gpus;
}

}  // namespace

TEST_CASE("each variant has its own settings only, in the order of the file") {
  const LoadedScenario loaded = with_variants(kTwo).load();
  REQUIRE(loaded.variants.size() == 2);
  CHECK(loaded.variants[0].variant == "plain");
  CHECK(loaded.variants[0].communication.message_overhead_s == Approx(5e-6));
  CHECK(loaded.variants[0].iterations == 10);
  CHECK(loaded.variants[1].variant == "slow");
  CHECK(loaded.variants[1].communication.message_overhead_s == Approx(50e-6));
  CHECK(loaded.variants[1].iterations == 3);
  // The first one's settings do not reach the second one either.
  const LoadedScenario turned =
      with_variants(R"([{"name": "a", "set": {"/iterations": 3}}, {"name": "b", "set": {}}])").load();
  CHECK(turned.variants[0].iterations == 3);
  CHECK(turned.variants[1].iterations == 10);
}

TEST_CASE("a setting of the command line has the last word in every variant") {
  const LoadedScenario loaded = with_variants(kTwo).load({{"/iterations", "7"}, {"/seed", "9"}});
  CHECK(loaded.variants[0].iterations == 7);
  CHECK(loaded.variants[1].iterations == 7);
  CHECK(loaded.variants[0].seed == 9);
  CHECK(loaded.variants[1].seed == 9);
}

TEST_CASE("a variant may name another cluster, beside the scenario whatever the current folder is") {
  SmallFiles files = with_variants(R"([{"name": "two", "set": {}}, {"name": "four", "set": {
    "/cluster": "clusters/four.json", "/cluster/nic/latency": "3 us"}}])");
  Json four = small_cluster();
  four["gpus_per_node"] = 4;
  four["intra_node"]["switches"][0]["gpus"] = {0, 1, 2, 3};
  files.folder.write("clusters/four.json", four.dump());
  const LoadedScenario loaded = files.load();
  CHECK(loaded.variants[0].cluster.gpus_per_node == 2);
  CHECK(loaded.variants[0].baseline_gpus == 2);
  CHECK(loaded.variants[0].cluster.nic.link.latency_s == Approx(1e-6));
  CHECK(loaded.variants[1].cluster.gpus_per_node == 4);
  CHECK(loaded.variants[1].baseline_gpus == 4);
  CHECK(loaded.variants[1].cluster.nic.link.latency_s == Approx(3e-6));
  CHECK(loaded.inputs.size() == 3);
  CHECK(loaded.inputs.count(files.folder.path("clusters/four.json")) == 1);
}

TEST_CASE("what the variants rest on alike is listed once, what differs for each") {
  const LoadedScenario loaded = with_variants(kTwo).load();
  std::vector<std::string> overheads;
  for (const Assumption& a : loaded.assumptions) {
    const auto same = [&](const Assumption& b) {
      return a.pointer == b.pointer && a.value == b.value && a.kind == b.kind && a.source == b.source;
    };
    INFO(a.pointer);
    CHECK(std::count_if(loaded.assumptions.begin(), loaded.assumptions.end(), same) == 1);
    if (a.pointer == "/communication/message_overhead") overheads.push_back(a.value.get<std::string>() + " " + a.kind);
  }
  CHECK(overheads == std::vector<std::string>{"5 us assumed", "50 us measured"});
  CHECK(loaded.assumptions.size() == with_variants(R"([{"name": "plain", "set": {}}])").load().assumptions.size() + 1);
}

TEST_CASE("a published result belongs to the variant that it names, or to all") {
  SmallFiles files = with_variants(kTwo);
  files.scenario["published"] =
      Json::parse("[" + published(2, "plain") + "," + published(3, "slow") + "," + published(4, "") + "]");
  const LoadedScenario loaded = files.load();
  CHECK(published_gpus(loaded.variants[0]) == std::vector<int>{2, 4});
  CHECK(published_gpus(loaded.variants[1]) == std::vector<int>{3, 4});
}

TEST_CASE("a published result is read in SI, with whether a constant was fitted on it") {
  SmallFiles files;
  files.scenario["published"] = Json::parse(R"([
    {"gpus": 2, "metric": "time_to_accuracy", "value": "1.5 min", "source": "a", "used_for_fit": true},
    {"gpus": 2, "metric": "scaling_efficiency", "value": 0.9, "source": "b"},
    {"gpus": 4, "metric": "iteration", "value": "20 ms", "source": "c"}])");
  const std::vector<sim::PublishedSpec> published = files.one().published;
  REQUIRE(published.size() == 3);
  CHECK(published[0].value == Approx(90));
  CHECK(published[0].is_fitted);
  CHECK(published[0].source == "a");
  CHECK(published[1].value == 0.9);
  CHECK(!published[1].is_fitted);
  CHECK(published[2].value == Approx(0.02));
}

TEST_CASE("a published result of a variant that does not exist is refused, not dropped") {
  SmallFiles files = with_variants(kTwo);
  files.scenario["published"] = Json::parse("[" + published(2, "plane") + "]");
  const std::string error = "scenario.json: /published/0/variant: no such variant; allowed: a name of /variants";
  CHECK(error_of([&] { files.load(); }) == files.folder.path(error));
  files.scenario.erase("variants");
  CHECK(error_of([&] { files.load(); }) == files.folder.path(error));
}

TEST_CASE("two variants of one name are refused") {
  const SmallFiles files = with_variants(R"([{"name": "a", "set": {}}, {"name": "a", "set": {"/seed": 2}}])");
  CHECK(error_of([&] { files.load(); }) ==
        files.folder.path("scenario.json: /variants/1/name: another variant has this name"));
}

}  // namespace lockstep::tests
