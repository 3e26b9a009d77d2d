// Suggestions for refused jobs.
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {

TEST_CASE("advice for a split that divides nothing names all options that are in the way, and no memory", "[job]") {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.job.batch_per_gpu = 0;
  job.gpus = {8};
  job.job.split.give("tensor", 3);
  CHECK_THAT(why_refused(job), Contains("allowed: without --tensor"));
  job.job.split.give("pipeline", 5);
  CHECK_THAT(why_refused(job), Contains("allowed: none of --pipeline, --tensor") && !Contains("memory"));
}

sim::JobQuestion job_of(const char* model, int gpus) {
  sim::JobQuestion job;
  job.job.model.stated = model;
  job.job.gpu.stated = "H100";
  job.gpus = {gpus};
  return job;
}

TEST_CASE("the error of a split that does not exist names the value that prevents it") {
  sim::JobQuestion job = job_of("llama3_8b", 8);
  job.job.accumulation = 3;
  job.job.global_batch = 64;
  CHECK_THAT(why_refused(job), Contains("divides the global batch of 64 into 3 micro-batches") &&
                                   Contains("without --accumulation") && !Contains("model"));
  job.job.accumulation = 0;
  job.job.split.give("micro_batch", 5);
  CHECK_THAT(why_refused(job), Contains("divides the global batch of 64 into micro-batches of 5"));
  sim::JobQuestion heads = job_of("gpt2_xl", 16);  // 25 heads
  heads.job.split.give("tensor", 2);
  heads.job.global_batch = 64;
  CHECK_THAT(why_refused(heads), Contains("divides the model; allowed: without --tensor"));
  // Memory is the reason, even if smaller batches divide nothing.
  sim::JobQuestion large = job_of("llama3_70b", 16);
  large.job.split.give("micro_batch", 4);
  large.job.split.give("pipeline", 1);
  large.job.accumulation = 2;
  CHECK_THAT(why_refused(large), Contains("fits into the GPUs' memory"));
}

TEST_CASE("accumulation without a batch halves the default batch until a split fits") {
  sim::JobQuestion job = job_of("llama3_8b", 8);
  job.job.accumulation = 3;
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  const sim::ParallelSpec& best = predicted.rankings.front().best.front().spec;
  CHECK(best.global_batch == 3 * best.micro_batch * best.data);
}

TEST_CASE("tensor ranks over several nodes are tried if no split of a node's tensor ranks fits") {
  sim::JobQuestion job = job_of("llama3_1_405b", 256);
  job.job.split.give("pipeline", 1);
  job.job.global_batch = 256;
  const sim::SplitRanking wide = sim::predict_job(job, catalogue(), 1).rankings.front();
  CHECK(wide.best.front().spec.tensor > 8);
  CHECK(wide.best.front().memory.fits());
  job.job.split.leave_out("pipeline");  // pipeline stages fit
  const sim::SplitRanking staged = sim::predict_job(job, catalogue(), 1).rankings.front();
  for (const sim::RankedSplit& split : staged.best) CHECK(split.spec.tensor <= 8);
}

}  // namespace lockstep::tests
