// Metrics and units by their names.
#include "sim/validation/measure.hpp"

#include "sim/validation/record.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

std::string iteration(const std::string& metric, const std::string& unit) {
  return R"([{"id": "a", "metric": ")" + metric + R"(", "unit": ")" + unit +
         R"(", "gpu": "V100", "gpus": 2, "gpus_per_node": 2, "software": "other", "model": "resnet50", "batch_per_gpu": 64}])";
}

double predicted(const std::string& metric, const std::string& unit) {
  const auto records = records_from(iteration(metric, unit));
  const auto predictions = predict(records);
  INFO(predictions[0].task.unmapped);
  REQUIRE(predictions[0].is_mapped());
  return predictions[0].predicted;
}

}  // namespace

TEST_CASE("one quantity under many names is one prediction in many units") {
  const double seconds = predicted("iteration_s", "s");
  CHECK(predicted("step_time", "s") == seconds);
  CHECK(predicted("step_time", "ms") == Approx(1e3 * seconds));
  CHECK(predicted("step_time", "us") == Approx(1e6 * seconds));
  // Two GPUs with 64 images each.
  CHECK(predicted("images_per_s", "images/s") == Approx(128 / seconds));
  CHECK(predicted("throughput", "images/min") == Approx(60 * 128 / seconds));
  CHECK(predicted("throughput_per_gpu", "samples/s") == Approx(64 / seconds));
  CHECK(predicted("images_per_s", "images/s/GPU") == Approx(64 / seconds));
  CHECK(predicted("images_per_s", "iterations/s") == Approx(1 / seconds));
  CHECK(predicted("scaling_efficiency", "%") == Approx(100 * predicted("scaling_efficiency", "fraction")));
  CHECK(predicted("speedup", "x") == Approx(2 * predicted("scaling_efficiency", "")));
}

TEST_CASE("units that do not fit a metric are refused, not guessed") {
  const auto refused = [](const char* metric, const char* unit) {
    CHECK(sim::measure_by_name(metric, unit).why_not.find(unit) != std::string::npos);
    sim::Record record;
    record.metric = metric;
    record.unit = unit;
    record.value = 1;
    CHECK_FALSE(sim::resolve_record(record, catalogue()).value_si.has_value());
  };
  refused("iteration_s", "fortnights");
  refused("allreduce_busbw", "furlongs/s");
  refused("images_per_s", "images");
}

TEST_CASE("a record's value in SI") {
  sim::Record record;
  record.metric = "step_time";
  record.unit = "ms";
  record.value = 250;
  CHECK(*sim::resolve_record(record, catalogue()).value_si == Approx(0.25));
  record.metric = "throughput";
  record.unit = "images/s/GPU";
  record.gpus = 4;
  CHECK(*sim::resolve_record(record, catalogue()).value_si == Approx(1000));
  record.metric = "scaling_efficiency";
  record.unit = "%";
  record.value = 90;
  CHECK(*sim::resolve_record(record, catalogue()).value_si == Approx(0.9));
  record.value.reset();
  CHECK_FALSE(sim::resolve_record(record, catalogue()).value_si.has_value());
}

TEST_CASE("units by name are read as they are written") {
  for (const char* metric : {"iteration_s", "images_per_s", "allreduce_busbw", "scaling_efficiency", "speedup",
                             "required_bandwidth", "beta_s_per_B"}) {
    const sim::Measure plain = sim::measure_by_name(metric, "");
    INFO(metric);
    CHECK(plain.why_not.empty());
    const sim::Measure again = sim::measure_by_name(metric, sim::unit_of(plain));
    CHECK(again.metric == plain.metric);
    CHECK(again.per_si == plain.per_si);
  }
  CHECK(sim::measure_by_name("iteration_s", "ms").per_si == 1e3);
  CHECK(sim::measure_by_name("throughput_per_gpu", "tokens/s/GPU").is_per_gpu);
  CHECK(sim::measure_by_name("throughput_per_gpu", "tokens/s/GPU").counted == sim::Counted::tokens);
  CHECK(sim::unit_of(sim::measure_by_name("images_per_s", "tokens/s/GPU")) == "tokens/s/GPU");
  CHECK(sim::measure_by_name("iteration_s", "fortnights").why_not ==
        "unit \"fortnights\" of iteration_s; known: s, ms, us, ns, min, h, days");
  const sim::Measure days = sim::measure_by_name("days_for_300B_tokens", "days");
  CHECK(days.metric == sim::Metric::iteration_s);
  CHECK(days.tokens == 300e9);
  CHECK(days.per_si == Approx(1. / 86400));
  CHECK(sim::measure_by_name("gpu_hours_for_1.5T_tokens", "").tokens == 1.5e12);
  CHECK_FALSE(sim::measure_by_name("days_for_0B_tokens", "days").why_not.empty());
  CHECK(sim::measure_by_name("days_for_300B_tokens", "h").why_not == "unit \"h\" of days_for_300B_tokens; known: days");
  CHECK(sim::measure_by_name("step time", "s").why_not == "metric \"step time\" is not predicted from records");
}

}  // namespace lockstep::tests
