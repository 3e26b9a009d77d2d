// --batch-ramp: a training that begins with smaller batches.
#include "sim/job_prediction/batch_ramp.hpp"

#include <cmath>

#include "sim/job_prediction/job_tokens.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

sim::JobQuestion llama_with_ramp(std::int64_t global_batch, const std::string& ramp) {
  sim::JobQuestion job;
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.gpus = {64};
  job.job.split.give("tensor", 2);
  job.job.split.give("pipeline", 4);
  job.job.split.give("micro_batch", 1);
  job.job.split.give("sharding", name_of(sim::ShardingStage::zero1));
  job.job.global_batch = global_batch;
  job.tokens = 100e9;
  job.is_undisturbed = true;
  job.batch_ramp = ramp;
  return job;
}

Json ramp_row(std::int64_t global_batch, const std::string& ramp) {
  return sim::job_tokens_json(sim::predict_job(llama_with_ramp(global_batch, ramp), catalogue(), 1)).at(0);
}

}  // namespace

TEST_CASE("a batch ramp of the job's own batch changes nothing") {
  const Json plain = ramp_row(1024, ""), ramped = ramp_row(1024, "1024:8388608k");
  for (const char* key : {"training_s", "training_s_low", "training_s_high", "loss"})
    CHECK(ramped[key].get<double>() == Approx(plain[key].get<double>()).epsilon(1e-6));
}

TEST_CASE("a batch ramp takes the sum of its iterations, each as long as in a job of that batch") {
  const double tokens = 8192, until = 20e9;
  const Json small = ramp_row(256, ""), large = ramp_row(1024, ""), ramped = ramp_row(1024, "256:20B");
  const auto iteration_s = [&](const Json& row, double batch) {
    return batch * tokens / row["tokens_per_s"].get<double>();
  };
  const double first = std::ceil(until / tokens / 256), rest = std::ceil((100e9 / tokens - first * 256) / 1024);
  CHECK(ramped["training_s"].get<double>() ==
        Approx(first * iteration_s(small, 256) + rest * iteration_s(large, 1024)).epsilon(1e-6));
  // The bubble of small batches takes time, and their updates reach a lower loss.
  CHECK(ramped["training_s"].get<double>() > large["training_s"].get<double>());
  CHECK(ramped["loss"].get<double>() < large["loss"].get<double>());
  CHECK(ramped["loss"].get<double>() > small["loss"].get<double>());
}

TEST_CASE("a batch ramp does not exceed the batch to which it leads") {
  CHECK_THROWS_WITH(ramp_row(512, "1024:1T"), Contains("--batch-ramp") && Contains("1024") && Contains("batch of 512"));
  (void)ramp_row(1024, "1024:20B");
}

TEST_CASE("a batch ramp lowers the tokens that a loss takes") {
  sim::JobQuestion job = llama_with_ramp(4096, "");
  job.tokens = 0;
  job.loss = 2.2;
  const Json plain = sim::job_tokens_json(sim::predict_job(job, catalogue(), 1)).at(0);
  job.batch_ramp = "512:10B,1024:50B";
  const Json ramped = sim::job_tokens_json(sim::predict_job(job, catalogue(), 1)).at(0);
  CHECK(ramped["tokens"].get<double>() < plain["tokens"].get<double>());
  CHECK(ramped["tokens_low"].get<double>() / ramped["tokens"].get<double>() ==
        Approx(plain["tokens_low"].get<double>() / plain["tokens"].get<double>()));
}

TEST_CASE("a batch ramp in steps has each batch equally long") {
  const std::vector<sim::BatchStage> steps = sim::read_batch_ramp("256+256:12B", 1024);
  const std::vector<sim::BatchStage> listed = sim::read_batch_ramp("256:4B,512:8B,768:12B", 1024);
  REQUIRE(steps.size() == listed.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].global_batch == listed[i].global_batch);
    CHECK(steps[i].until_tokens == Approx(listed[i].until_tokens));
  }
}

TEST_CASE("a batch that the split cannot run takes a time between those of its neighbours") {
  const Json ramp = ramp_row(1024, "96:1B,100:2B,128:3B,8:4B,32:5B,64:6B")["batch_ramp"];
  const auto iteration_s = [&](std::size_t i) { return ramp[i]["iteration_s"].get<double>(); };
  CHECK(ramp[1]["interpolated"] == true);
  CHECK(ramp[2]["interpolated"] == false);
  CHECK(iteration_s(1) == Approx(iteration_s(0) + (iteration_s(2) - iteration_s(0)) * 4 / 32));
  // Below the smallest batch, the line through the two smallest goes on.
  CHECK(iteration_s(3) == Approx(iteration_s(4) - (iteration_s(5) - iteration_s(4)) * 24 / 32));
  CHECK(iteration_s(3) > 0);
}

TEST_CASE("a batch ramp of a job that accumulates, and of DualPipe, whose pipelines need many micro-batches") {
  sim::JobQuestion job = llama_with_ramp(0, "128:10B");  // of 256, 32 micro-batches of 8 replicas
  job.job.accumulation = 32;
  const Json accumulated = sim::job_tokens_json(sim::predict_job(job, catalogue(), 1)).at(0);
  const double batch_s = accumulated["batch_tokens"].get<double>() / accumulated["tokens_per_s"].get<double>();
  CHECK(accumulated["batch_tokens"] == 256. * 8192);
  CHECK(accumulated["batch_ramp"][0]["iteration_s"].get<double>() < 0.6 * batch_s);
  CHECK(accumulated["batch_ramp"][0]["iteration_s"].get<double>() > 0.5 * batch_s);
  job = llama_with_ramp(1024, "8:1B,40:2B,64:3B,96:4B");
  job.job.split.give("schedule", name_of(sim::PipelineSchedule::dual_pipe));
  const Json ramp = sim::job_tokens_json(sim::predict_job(job, catalogue(), 1)).at(0)["batch_ramp"];
  CHECK(ramp[0]["interpolated"] == true);   // one micro-batch of eight that fill the pipeline
  CHECK(ramp[1]["interpolated"] == true);   // five
  CHECK(ramp[2]["interpolated"] == false);  // eight
  CHECK(ramp[3]["interpolated"] == false);
  for (std::size_t i = 1; i < ramp.size(); ++i)
    CHECK(ramp[i]["iteration_s"].get<double>() > ramp[i - 1]["iteration_s"].get<double>());
}

TEST_CASE("a batch ramp that is none is refused with an example") {
  for (const char* wrong : {"512", "512:", ":1B", "512:1B,256:1B", "512:x", "0:1B", "300+300:1B", "512+0:1B"})
    CHECK_THROWS_WITH(ramp_row(1024, wrong), Contains("--batch-ramp \""));
  sim::JobQuestion job = llama_with_ramp(1024, "512:1B");
  job.tokens = 0;
  CHECK_THROWS_WITH(sim::predict_job(job, catalogue(), 1), Contains("--batch-ramp: the work is not given"));
}

}  // namespace lockstep::tests
