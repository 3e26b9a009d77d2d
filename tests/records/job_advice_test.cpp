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

}  // namespace lockstep::tests
