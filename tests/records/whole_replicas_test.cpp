// Jobs of models that have no splits: diffusion, encoder and decoder, images.
#include <algorithm>

#include "sim/job_prediction/job_scenario.hpp"
#include "sim/point/point.hpp"
#include "sim/scenario/scenario_template.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

sim::JobQuestion job_of(const std::string& model, int gpus) {
  sim::JobQuestion job;
  job.job.model.stated = model;
  job.job.gpu.stated = "H100";
  job.gpus = {gpus};
  return job;
}

const sim::Workload workload_of(const sim::JobQuestion& question) {
  return sim::predict_job(question, catalogue(), 1).rows.front().samples_per_s.task.target.front();
}

double memory_bytes(const sim::JobQuestion& question) {
  const sim::Workload run = workload_of(question);
  return sim::gpu_memory(run.scenario, run.gpus, run.batch_per_gpu).total_bytes();
}

}  // namespace

TEST_CASE("a global batch is the batch per GPU times their number", "[job]") {
  for (const char* model : {"resnet50", "vit_l16", "whisper_small", "clip_vit_b32"}) {
    sim::JobQuestion global = job_of(model, 16), per_gpu = job_of(model, 16);
    global.job.global_batch = 256;
    per_gpu.job.batch_per_gpu = 16;
    INFO(model);
    CHECK(rates(global)[0] == rates(per_gpu)[0]);
  }
}

TEST_CASE("a batch that does not fit is computed in micro-steps, and its samples are all counted", "[job]") {
  sim::JobQuestion job = job_of("resnet50", 8);
  job.job.global_batch = 8 * 4096;
  const sim::Workload run = workload_of(job);
  CHECK(run.accumulation > 1);
  CHECK(run.samples() * run.accumulation == 8 * 4096);
  job.job.split.give("micro_batch", 64, "--micro-batch");
  CHECK(workload_of(job).batch_per_gpu == 64);
  CHECK(workload_of(job).accumulation == 64);
}

TEST_CASE("sharding and recomputation need less memory; recomputation is slower", "[job]") {
  sim::JobQuestion plain = job_of("wan2_1_1_3b", 8);
  plain.job.batch_per_gpu = 1;
  plain.ignores_memory = true;
  plain.job.exchange = "ring";
  sim::JobQuestion sharded = plain, again = plain;
  sharded.job.exchange.clear();
  again.job.exchange.clear();
  sharded.job.split.give("sharding", "zero3", "--sharding");
  sharded.job.split.give("recompute", "none", "--recompute");
  again.job.split.give("recompute", "full", "--recompute");
  again.job.split.give("sharding", "none", "--sharding");
  CHECK(memory_bytes(sharded) < memory_bytes(plain));
  CHECK(memory_bytes(again) < memory_bytes(plain) / 2);
  CHECK(rates(again)[0] < rates(sharded)[0]);
  sim::JobQuestion gathered_once = sharded;
  gathered_once.job.split.give("sharding", "zero2", "--sharding");
  CHECK(memory_bytes(gathered_once) > memory_bytes(sharded));
  CHECK(memory_bytes(gathered_once) < memory_bytes(plain));
}

TEST_CASE("a model that fits in no other way is sharded and recomputed", "[job]") {
  const sim::JobPrediction predicted = sim::predict_job(job_of("wan2_1_14b", 64), catalogue(), 1);
  CHECK(predicted.scenario.algorithm == Algorithm::sharded);
  CHECK(predicted.scenario.compute.recomputes_blocks);
  CHECK_THAT(sim::job_table(predicted, catalogue()), Contains("A whole replica on each of 64 GPUs"));
}

TEST_CASE("micro-steps of replicas are in the scenario: job and scenario predict the same", "[job]") {
  sim::JobQuestion sharded = job_of("wan2_1_1_3b", 16), plain = job_of("resnet50", 16);
  sharded.job.global_batch = 64;
  plain.job.batch_per_gpu = 32;
  plain.job.accumulation = 4;
  for (const sim::JobQuestion& question : {sharded, plain}) {
    const sim::JobPrediction predicted = sim::predict_job(question, catalogue(), 1);
    const Json file = sim::job_prediction::job_scenario(predicted, catalogue());
    const sim::Scenario scenario = sim::ScenarioTemplate::parse(file.dump(), "job", "").with({}).variants.front();
    const int batch = scenario.batch_at(16);
    const sim::PointResult point = sim::predict_point(scenario, sim::request_for(scenario, 16, batch));
    INFO(question.job.model.stated);
    CHECK(point.samples_per_iteration / point.mean_iteration_s() ==
          Approx(predicted.rows.front().samples_per_s.predicted).epsilon(1e-9));
  }
}

TEST_CASE("what whole replicas do not have is refused, with what they have", "[job]") {
  sim::JobQuestion tensor = job_of("flux1_dev", 16), uneven = job_of("resnet50", 16), selective = job_of("vit_l16", 16);
  tensor.job.split.give("tensor", 2, "--tensor");
  uneven.job.global_batch = 100;
  selective.job.split.give("recompute", "selective", "--recompute");
  CHECK_THAT(why_refused(tensor), Contains("--tensor") && Contains("--sharding fsdp"));
  CHECK_THAT(why_refused(uneven), Contains("multiples of 16"));
  CHECK_THAT(why_refused(selective), Contains("none or full"));
}

}  // namespace lockstep::tests
