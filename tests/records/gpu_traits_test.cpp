// Rates given for a GPU: laws over the whole catalogue.
#include <set>

#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

sim::JobQuestion job_of(const std::string& model, const std::string& gpu, const std::string& software, int batch) {
  sim::JobQuestion job;
  job.job.model.stated = model;
  job.job.gpu.stated = gpu;
  job.job.software.stated = software;
  job.job.batch_per_gpu = batch;
  job.gpus = {1};
  return job;
}

}  // namespace

TEST_CASE("a given rate is what one GPU has, on every GPU, in every precision, by all software", "[job]") {
  int accepted = 0;
  for (const sim::GpuEntry& gpu : catalogue().gpus)
    for (const sim::StackEntry& stack : catalogue().stacks)
      for (const auto& precision : sim::choices_of(sim::RecordPrecision{})) {
        sim::JobQuestion job = job_of("lenet", gpu.id, stack.id, 4);
        job.job.precision = precision.value;
        job.rate_samples_per_s = 10;
        try {
          const double rate = sim::predict_job(job, catalogue(), 1).rows.front().samples_per_s.predicted;
          INFO(gpu.id << " " << stack.id << " " << precision.name << " " << rate);
          if (std::abs(rate - 10) > 1e-6) CHECK(rate == Approx(10).epsilon(1e-9));
          ++accepted;
        } catch (const InputError&) {
          continue;  // the GPU lacks the precision
        }
      }
  CHECK(accepted > 3000);
}

TEST_CASE("a rate given in TF32 holds for transformers where single precision is as fast", "[job]") {
  for (const char* gpu : {"rtx3090", "rtx4090", "a10", "rtxa6000", "l4", "a40", "h20", "a100-sxm4"}) {
    sim::JobQuestion job = job_of("gpt2", gpu, "pytorch-1", 4);
    job.job.precision = sim::RecordPrecision::tf32;
    job.rate_samples_per_s = 10;
    INFO(gpu);
    CHECK(rates(job).front() == Approx(10).epsilon(1e-9));
  }
}

}  // namespace lockstep::tests
