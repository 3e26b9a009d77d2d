// The method by which a job was timed, in its table and in JSON.
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

sim::JobQuestion servers_job(std::vector<int> gpus) {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "vgg16";
  job.job.batch_per_gpu = 32;
  job.job.exchange = "ps";
  job.gpus = std::move(gpus);
  return job;
}

}  // namespace

TEST_CASE("a job names the method of each row, with an error only if it is not exact", "[job]") {
  const sim::JobPrediction predicted = sim::predict_job(servers_job({1, 8, 16384}), catalogue(), 1);
  const Json predictions = sim::job_json(predicted, catalogue()).at("predictions");
  REQUIRE(predictions.size() == 6);
  for (const Json& one : predictions) {
    const bool is_large = one.at("gpus") == 16384;
    const Json& simulation = one.at("simulation");
    CHECK(one.at("method") == "fast");
    CHECK(simulation.at("error_class") == (is_large ? "approximate" : "exact"));
    CHECK(simulation.contains("stated_error") == is_large);
    CHECK_FALSE(simulation.at("reason").get<std::string>().empty());
  }
  const std::string table = sim::job_table(predicted, catalogue());
  CHECK_THAT(table,
             Contains("Method on 16384 GPUs: max-plus, links shared round by round") && Contains("at most 15 %"));
  CHECK_THAT(sim::job_table(sim::predict_job(servers_job({1, 8}), catalogue(), 1), catalogue()),
             !Contains("Method on"));
}

TEST_CASE("a time has the same method in a process of its own") {
  const auto methods_with = [](int jobs) {
    std::vector<std::string> methods;
    for (const sim::JobRow& row : sim::predict_job(servers_job({8, 16384}), catalogue(), jobs).rows)
      methods.push_back(fields_to_json(row.samples_per_s.method.value()).dump());
    return methods;
  };
  CHECK(methods_with(0) == methods_with(2));
}

TEST_CASE("a single all-reduce is in closed form") {
  const auto records = records_from(R"([{"id": "a", "metric": "allreduce_seconds", "unit": "s", "gpu": "A100 SXM4",
    "gpus": 8, "gpus_per_node": 8, "link": "nvlink3", "software": "collective", "bytes": 1048576}])");
  const auto predictions = predict(records);
  REQUIRE(predictions.at(0).method);
  CHECK(predictions[0].method->error_class() == sim::ErrorClass::closed_form);
}

}  // namespace lockstep::tests
