// A measured iteration: laws first, then refusals.
#include "sim/job_prediction/measured_step.hpp"

#include "sim/job_prediction/job_scenario.hpp"

#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

sim::JobQuestion split_job_of(std::vector<int> gpus) {
  sim::JobQuestion job;
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.job.global_batch = 128;
  job.gpus = std::move(gpus);
  return job;
}

double iteration_s(const sim::JobQuestion& question, int row = 0) {
  const sim::JobPrediction predicted = sim::predict_job(question, catalogue(), 1);
  const sim::QuantityPrediction& rate = predicted.rows.at(static_cast<std::size_t>(row)).samples_per_s;
  return rate.task.target.front().samples() / rate.predicted;
}

sim::JobQuestion with_step(sim::JobQuestion question, double seconds, int gpus = 0) {
  question.step.seconds = seconds;
  question.step.gpus = gpus;
  return question;
}

}  // namespace

TEST_CASE("the measured job is predicted as measured: split, searched, and replicas", "[job]") {
  sim::JobQuestion given = split_job_of({16});
  given.job.split.give("tensor", 4, "--tensor");
  given.job.split.give("pipeline", 2, "--pipeline");
  given.job.split.give("micro_batch", 1, "--micro-batch");
  sim::JobQuestion images = small_job();
  images.gpus = {8};
  for (const sim::JobQuestion& job : {given, split_job_of({16}), images})
    for (double factor : {0.7, 1.0, 1.4, 3.0}) {
      const double measured_s = factor * iteration_s(job);
      INFO(job.job.model.stated << " " << factor);
      CHECK(iteration_s(with_step(job, measured_s)) == Approx(measured_s).epsilon(1e-6));
    }
}

TEST_CASE("a measurement that agrees with the prediction changes nothing", "[job]") {
  const sim::JobQuestion job = split_job_of({16, 64});
  const sim::JobQuestion measured = with_step(job, iteration_s(job, 0), 16);
  for (int row : {0, 1}) CHECK(iteration_s(measured, row) == Approx(iteration_s(job, row)).epsilon(1e-6));
}

TEST_CASE("slower layers slow down other numbers of GPUs, too, at most as much", "[job]") {
  const sim::JobQuestion job = split_job_of({64, 128});
  sim::JobQuestion on_8 = job;
  on_8.gpus = {8};
  on_8.job.global_batch = 8;  // 128 samples on 128 GPUs
  const sim::JobQuestion measured = with_step(job, 1.3 * iteration_s(on_8), 8);
  for (int row : {0, 1}) {
    const double ratio = iteration_s(measured, row) / iteration_s(job, row);
    CHECK(ratio > 1.1);
    CHECK(ratio < 1.36);
  }
}

TEST_CASE("one GPU: a measured iteration is a measured rate, of another GPU too", "[job]") {
  sim::JobQuestion rate = small_job(), step = small_job();
  const int batch = rate.job.batch_per_gpu;
  rate.rate_samples_per_s = 500;
  step.step = {batch / 500.0, 1, 0, "", ""};
  CHECK(rates(step)[0] == Approx(500).epsilon(1e-6));
  for (std::size_t row = 1; row < rate.gpus.size();
       ++row)  // with an anchored rate, the plain roofline divides a step among layers
    CHECK(rates(step)[row] == Approx(rates(rate)[row]).epsilon(0.005));
  rate.rate_gpu = step.step.gpu = "A100";
  for (std::size_t row = 0; row < rate.gpus.size(); ++row)
    CHECK(rates(step)[row] == Approx(rates(rate)[row]).epsilon(0.02));
}

TEST_CASE("the interval is as wide as without a measurement, relative to the value", "[job]") {
  const sim::JobQuestion job = split_job_of({16});
  const auto width = [](const sim::JobQuestion& question) {
    const auto rate = sim::predict_job(question, catalogue(), 1).rows.front().samples_per_s;
    return rate.high / rate.low;
  };
  CHECK(width(with_step(job, 1.2 * iteration_s(job))) <= width(job) * 1.001);
}

TEST_CASE("a scenario of a job with a measured iteration has the factor, and where it is from", "[job]") {
  const sim::JobQuestion job = split_job_of({16});
  const sim::JobPrediction predicted = sim::predict_job(with_step(job, 1.2 * iteration_s(job)), catalogue(), 1);
  CHECK(predicted.question.fitted_step->time_factor > 1.19);
  CHECK(predicted.question.fitted_step->time_factor < 1.3);
  const Json scenario = sim::job_prediction::job_scenario(predicted, catalogue());
  CHECK(scenario.at("compute").at("time_factor").at("kind") == "measured");
  CHECK(sim::job_json(predicted, catalogue()).at("measured_step").at("gpus") == 16);
  CHECK_THAT(sim::job_table(predicted, catalogue()), Contains("Measured: "));
}

TEST_CASE("a measured iteration that is not described, or that nothing explains, is refused", "[job]") {
  const sim::JobQuestion job = split_job_of({16});
  sim::JobQuestion without = job, rated = small_job(), uneven = with_step(job, 3, 6), open = with_step(job, 3);
  without.step.gpus = 8;
  CHECK_THAT(why_refused(without), Contains("--step-gpus") && Contains("allowed: with --step-time"));
  rated.rate_samples_per_s = 10;
  rated.step.seconds = 1;
  CHECK_THAT(why_refused(rated), Contains("--rate") && Contains("allowed: one of them"));
  uneven.job.global_batch = 127;
  CHECK_THAT(why_refused(uneven), Contains("allowed: with --step-batch"));
  open.job.global_batch = 0;
  CHECK_THAT(why_refused(open), Contains("--step-batch"));
  CHECK_THAT(why_refused(with_step(job, 1e-3)), Contains("TFLOP/s, and the peak of H100"));
  CHECK_THAT(why_refused(with_step(job, 1e5)), Contains("are predicted"));
}

}  // namespace lockstep::tests
