// Machines of clouds that a job describes by GPU and network.
#include "sim/job_prediction/job_prediction.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {

TEST_CASE("a cloud's machine is known by its network and GPU, as by its own name") {
  const auto rate_of = [](const char* gpu, const std::string& network, int gpus_per_node) {
    sim::JobQuestion job;
    job.job.model.stated = "resnet50";
    job.job.gpu.stated = gpu;
    job.job.network.stated = network;
    job.job.batch_per_gpu = 64;
    job.job.gpus_per_node = gpus_per_node;
    job.gpus = {64};
    return sim::predict_job(job, catalogue(), 1).rows.front().samples_per_s.predicted;
  };
  CHECK(rate_of("A100", "4x 100 Gb/s EFA", 8) == rate_of("A100", "p4de", 8));
  CHECK(rate_of("H100", "32x 100 Gb/s EFA", 8) == rate_of("H100", "AWS p5.48xlarge", 8));
  CHECK(rate_of("H200", "8x 400 Gb/s EFA", 8) == rate_of("H200", "p5e.48xlarge", 8));
  // Other rates, GPUs and nodes identify no machine.
  CHECK(rate_of("A100", "8x 100 Gb/s EFA", 8) != rate_of("A100", "p4d", 8));
  CHECK(rate_of("V100", "4x 100 Gb/s EFA", 8) != rate_of("V100", "p4d", 8));
  CHECK(rate_of("A100", "4x 100 Gb/s EFA", 4) != rate_of("A100", "p4d", 4));
}

}  // namespace lockstep::tests
