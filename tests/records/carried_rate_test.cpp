// A rate measured on another GPU than the job's: laws first, then refusals.
#include "sim/job_prediction/carried_rate.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

// Returns a job for V100s with a rate measured on an A100 at a batch of 64.
sim::JobQuestion carried_job(double samples_per_s) {
  sim::JobQuestion job = small_job();
  job.rate_samples_per_s = samples_per_s;
  job.rate_gpu = "A100";
  return job;
}

double relative_width(const sim::JobRow& row) {
  return row.samples_per_s.high / row.samples_per_s.low;
}

}  // namespace

TEST_CASE("a rate of another GPU is scaled by what is predicted for both, and so is all that rests on it", "[job]") {
  sim::JobQuestion on_v100 = small_job(), on_a100 = small_job();
  on_a100.job.gpu.stated = "A100";
  on_v100.gpus = on_a100.gpus = {1};
  const double factor = rates(on_v100)[0] / rates(on_a100)[0];
  CHECK(rates(carried_job(1000))[0] == Approx(1000 * factor).epsilon(1e-9));
  CHECK(rates(carried_job(500))[0] == Approx(500 * factor).epsilon(1e-9));
  sim::JobQuestion back = carried_job(1000 * factor);
  back.job.gpu.stated = "A100";
  back.rate_gpu = "V100";
  CHECK(rates(back)[0] == Approx(1000).epsilon(1e-9));
  sim::JobQuestion predicted = carried_job(rates(on_a100)[0]);  // measured as predicted, so nothing changes
  CHECK(rates(predicted)[0] == Approx(rates(on_v100)[0]).epsilon(1e-9));
}

TEST_CASE("a rate of the job's own GPU under another name of it is the rate itself", "[job]") {
  sim::JobQuestion named = carried_job(700), plain = carried_job(700);
  named.rate_gpu = "v100-sxm2";
  plain.rate_gpu.clear();
  const sim::JobPrediction with_name = sim::predict_job(named, catalogue(), 1);
  const sim::JobPrediction without = sim::predict_job(plain, catalogue(), 1);
  for (std::size_t i = 0; i < without.rows.size(); ++i) {
    CHECK(with_name.rows[i].samples_per_s.predicted == without.rows[i].samples_per_s.predicted);
    CHECK(with_name.rows[i].samples_per_s.low == without.rows[i].samples_per_s.low);
  }
}

TEST_CASE("a rate of another GPU is known less well than one of the job's", "[job]") {
  sim::JobQuestion own = carried_job(700);
  own.rate_gpu.clear();
  own.ignores_memory = true;
  for (const auto& [model, rate] : {std::pair("ResNet-50", 700), {"gpt2", 70}}) {
    sim::JobQuestion of_other = carried_job(rate);
    own.rate_samples_per_s = rate;
    of_other.ignores_memory = true;
    of_other.job.model.stated = own.job.model.stated = model;
    const sim::JobPrediction carried = sim::predict_job(of_other, catalogue(), 1);
    const sim::JobPrediction measured = sim::predict_job(own, catalogue(), 1);
    for (std::size_t i = 0; i < carried.rows.size(); ++i)
      CHECK(relative_width(carried.rows[i]) > relative_width(measured.rows[i]));
    const auto& inputs = carried.rows[0].samples_per_s.task.assumptions;
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [](const Assumption& one) { return one.pointer == "rate"; });
    REQUIRE(input != inputs.end());
    CHECK(input->kind == "assumed");
    CHECK_THAT(input->source, Contains(std::to_string(rate) + " samples/s of one A100"));
  }
}

TEST_CASE("a rate of a GPU with another usual precision needs the precision", "[job]") {
  sim::JobQuestion job = carried_job(70);
  job.rate_gpu = "K80";
  CHECK_THAT(why_refused(job), Contains("--rate-gpu K80") && Contains("allowed: with --precision"));
  job.job.precision = sim::find_choice_in_words<sim::RecordPrecision>("fp32");
  CHECK(why_refused(job).empty());
}

TEST_CASE("a rate of another GPU needs a rate, a GPU that is known and a precision that it has", "[job]") {
  sim::JobQuestion without = carried_job(0), unknown = carried_job(700), no_units = carried_job(700);
  unknown.rate_gpu = "A1000";
  no_units.job.gpu.stated = "H100";
  no_units.job.precision = sim::find_choice_in_words<sim::RecordPrecision>("fp8");
  no_units.job.model.stated = "gpt2";
  CHECK_THAT(why_refused(without), Contains("--rate-gpu") && Contains("allowed: with --rate"));
  CHECK_THAT(why_refused(unknown), Contains("--rate-gpu A1000") && Contains("the nearest"));
  CHECK_THAT(why_refused(no_units), Contains("--rate-gpu A100"));
}

}  // namespace lockstep::tests
