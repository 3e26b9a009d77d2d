// Metrics and units as publications have them.
#include "sim/records/measure.hpp"

#include "sim/records/translate.hpp"
#include "sim/records/translate_parts.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

sim::Measure measure(const std::string& metric, const std::string& unit) {
  sim::Record record;
  record.metric = metric;
  record.unit = unit;
  return sim::measure_in_texts(record);
}

std::string iteration(const std::string& metric, const std::string& unit) {
  return R"([{"id": "a", "metric": ")" + metric + R"(", "unit": ")" + unit +
         R"(", "gpu": "V100", "gpus": 2, "gpus_per_node": 2, "model": "ResNet-50", "batch_per_gpu": 64}])";
}

double predicted(const std::string& metric, const std::string& unit) {
  const auto records = records_from(iteration(metric, unit));
  const auto predictions = predict(records);
  INFO(predictions[0].mapped.unmapped);
  REQUIRE(predictions[0].is_mapped());
  return predictions[0].predicted;
}

}  // namespace

TEST_CASE("one quantity under many names is one prediction in many units") {
  const double seconds = predicted("iteration_s", "s");
  for (const char* metric : {"step_time", "iteration_time", "batch_time"}) CHECK(predicted(metric, "s") == seconds);
  CHECK(predicted("step_time_ms", "") == Approx(1e3 * seconds));
  CHECK(predicted("step_time", "us") == Approx(1e6 * seconds));
  // Two GPUs with 64 images each.
  CHECK(predicted("images_per_s", "images/s") == Approx(128 / seconds));
  CHECK(predicted("throughput", "img/min") == Approx(60 * 128 / seconds));
  CHECK(predicted("samples_per_s_per_gpu", "samples/s") == Approx(64 / seconds));
  CHECK(predicted("images_per_s", "images/s/GPU") == Approx(64 / seconds));
  CHECK(predicted("iterations_per_s", "it/s") == Approx(1 / seconds));
  CHECK(predicted("efficiency", "%") == Approx(100 * predicted("scaling_efficiency", "fraction")));
  CHECK(predicted("speed_up", "x") == Approx(2 * predicted("scaling_efficiency", "")));
}

TEST_CASE("units of a metric") {
  CHECK(measure("allreduce_time_us", "").metric == sim::Metric::all_reduce_s);
  CHECK(measure("allreduce_time_us", "").per_si == 1e6);
  CHECK(measure("busbw", "MB/s").per_si == 1e3);
  CHECK(measure("bus_bandwidth", "Gb/s").per_si == 8);
  CHECK(measure("algbw_GBps", "GB/s").metric == sim::Metric::algorithm_bandwidth);
  CHECK(measure("training_time_hours", "").per_si == Approx(1.0 / 3600));
  CHECK(measure("time_to_train", "minutes").metric == sim::Metric::time_to_accuracy_s);
  CHECK(measure("colour", "red").metric == sim::Metric::unknown);
}

TEST_CASE("units that do not fit a metric are refused, not guessed") {
  const auto refused = [](const char* metric, const char* unit) {
    CHECK(measure(metric, unit).why_not.find(unit) != std::string::npos);
    sim::Record record;
    record.metric = metric;
    record.unit = unit;
    record.value = 1;
    CHECK_FALSE(sim::job_of(record, catalogue()).value_si.has_value());
  };
  refused("iteration_s", "fortnights");
  refused("allreduce_busbw", "furlongs/s");
  refused("images_per_s", "images");
}

TEST_CASE("tokens and other collectives are told from images and all-reduces") {
  CHECK(measure("throughput", "tokens/s").counted == sim::Counted::tokens);
  CHECK(measure("words_per_s", "").counted == sim::Counted::tokens);
  CHECK(measure("throughput", "samples/s").counted == sim::Counted::samples);
  CHECK(measure("reduce_scatter_busbw", "GB/s").collective == sim::Collective::reduce_scatter);
  CHECK(measure("allgather_time_us", "").collective == sim::Collective::all_gather);
  CHECK(measure("allgather_time_us", "").metric == sim::Metric::all_reduce_s);
  CHECK(measure("reduce_busbw", "GB/s").collective == sim::Collective::reduce);
  CHECK(measure("all_reduce_busbw", "GB/s").collective == sim::Collective::all_reduce);
  CHECK(measure("alltoall_busbw", "GB/s").metric == sim::Metric::unknown);  // unknown
}

TEST_CASE("a record's value in SI") {
  sim::Record record;
  record.metric = "step_time";
  record.unit = "ms";
  record.value = 250;
  CHECK(*sim::job_of(record, catalogue()).value_si == Approx(0.25));
  record.metric = "throughput";
  record.unit = "images/s/GPU";
  record.gpus = 4;
  CHECK(*sim::job_of(record, catalogue()).value_si == Approx(1000));
  record.metric = "efficiency";
  record.unit = "%";
  record.value = 90;
  CHECK(*sim::job_of(record, catalogue()).value_si == Approx(0.9));
  record.value.reset();
  CHECK_FALSE(sim::job_of(record, catalogue()).value_si.has_value());
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
