// Results for networks of sequences: tokens, FLOP of the model, and the name of a sample.
#include "sim/report/result.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

// 32 tokens of 64 features pass a table of 50 words, a matrix, and the words' table again.
Json sequences() {
  return Json::parse(R"({"schema": "lockstep/model/1", "name": "s", "tokens": 32, "layers": [
    {"name": "words", "kind": "embedding", "vocabulary": 50, "out": 64},
    {"name": "mix", "kind": "linear", "out": 64, "bias": false},
    {"name": "out", "kind": "linear", "tied": "words", "bias": false},
    {"name": "loss", "kind": "softmax"}]})");
}

Json scenario_of(const Json& model) {
  Json scenario = even_scenario();
  scenario["model"] = model;
  scenario["compute"].erase("rates");
  return scenario;
}

sim::Report tokens_report(const Json& scenario) {
  return sim::predict(SmallFiles(scenario, even_cluster()).load(), 2, {});
}

}  // namespace

TEST_CASE("tokens, FLOP of the model and their share of the peak follow from the samples") {
  const sim::Report report = tokens_report(scenario_of(sequences()));
  const Json points = sim::result_json(report, {})["points"];
  const sim::Scenario& scenario = report.loaded.variants.front();
  const double peak = scenario.cluster.gpu.peak_flops(scenario.compute.precision);
  REQUIRE(!points.empty());
  for (const Json& point : points) {
    const double samples = point["samples_per_s"];
    CHECK(point["tokens_per_s"].get<double>() == Approx(32 * samples));
    // 6 FLOP for each of 32 x 64 x (64 + 50) multiply-adds.
    const double flops = 6. * 32 * 64 * (64 + 50) * samples / point["gpus"].get<double>();
    CHECK(point["model_flops_per_gpu"].get<double>() == Approx(flops));
    CHECK(point["mfu"].get<double>() == Approx(flops / peak));
    CHECK(point["mfu"].get<double>() < 1);
  }
}

TEST_CASE("samples of a network of sequences are not called images") {
  const std::string table = sim::table_text(tokens_report(scenario_of(sequences())));
  CHECK(table.find("sequences/s") != std::string::npos);
  CHECK(table.find(" tokens/s, ") != std::string::npos);
  CHECK(table.find("% MFU)") != std::string::npos);
  CHECK(table.find("images") == std::string::npos);
  const sim::Report images = tokens_report(even_scenario());
  CHECK(sim::table_text(images).find("tokens") == std::string::npos);
  const Json result = sim::result_json(images, {});  // outlives the loop, unlike what a loop's range takes a part of
  for (const Json& point : result["points"])
    for (const char* key : {"tokens_per_s", "model_flops_per_gpu", "mfu"}) CHECK(!point.contains(key));
}

}  // namespace lockstep::tests
