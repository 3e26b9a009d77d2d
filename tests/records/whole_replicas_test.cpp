// Jobs of models that cannot be split: diffusion, encoder and decoder, images.
#include <algorithm>

#include "sim/job/job_fields.hpp"
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
  sim::JobQuestion gathered_once = sharded, whole_gradients = sharded;
  gathered_once.job.split.give("sharding", "zero2", "--sharding");
  whole_gradients.job.split.give("sharding", "zero1", "--sharding");
  CHECK(memory_bytes(gathered_once) > memory_bytes(sharded));
  CHECK(memory_bytes(gathered_once) < memory_bytes(whole_gradients));
  CHECK(memory_bytes(whole_gradients) < memory_bytes(plain));
  // 7/8 of the gradients in half precision.
  const double parameters = static_cast<double>(workload_of(plain).scenario.model.parameter_count());
  CHECK(memory_bytes(whole_gradients) - memory_bytes(gathered_once) == Approx(2 * parameters * 7 / 8));
}

TEST_CASE("a model that fits in no other way is sharded and recomputed", "[job]") {
  const sim::JobPrediction predicted = sim::predict_job(job_of("wan2_1_14b", 64), catalogue(), 1);
  CHECK(predicted.scenario.algorithm == Algorithm::sharded);
  CHECK(predicted.scenario.compute.recomputes_blocks);
  CHECK_THAT(sim::job_table(predicted, catalogue()),
             Contains("One replica sharded over 64 GPUs") && Contains("zero3 (weights, "));
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

TEST_CASE("no key of a split is dropped where replicas are whole: each is refused by its option, or honoured",
          "[job]") {
  const auto refused = [](const std::string& key, const Json& value) {
    sim::JobQuestion job = job_of("whisper_small", 8);
    job.job.batch_per_gpu = 1;
    job.job.split.give(key, value, key);
    return why_refused(job);
  };
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, Json>>{{"schedule", "gpipe"},
                                                 {"order", {"tensor", "context", "expert", "pipeline", "data"}},
                                                 {"sequence", true},
                                                 {"tensor_overlap", "all"},
                                                 {"context_exchange", "all-gather"},
                                                 {"expert_overlap", true},
                                                 {"recompute_layers", 2},
                                                 {"recompute_interval", 2},
                                                 {"frozen_weights", "nf4"},
                                                 {"lora_rank", 8},
                                                 {"offload_layers", 2},
                                                 {"offload_optimizer", true}})
    CHECK_THAT(refused(key, value), Contains(sim::split_option(key)) && Contains("allowed: without it"));
  CHECK(refused("sequence", false).empty());
  CHECK(refused("offload_optimizer", false).empty());
  CHECK(refused("pipeline", 1).empty());
  // The same as without these options.
  CHECK(refused("context_exchange", "ring").empty());
  CHECK(refused("expert_dispatch", "all-to-all").empty());
  CHECK(refused("recompute_interval", 1).empty());
  sim::JobQuestion ranked = job_of("whisper_small", 8);
  ranked.job.split.is_searched = ranked.lists_splits = true;
  CHECK_THAT(why_refused(ranked), Contains("--optimise split") && Contains("without it"));
}

TEST_CASE("a given micro-batch and number of micro-steps is plain data parallelism where it fits", "[job]") {
  sim::JobQuestion job = job_of("resnet50", 8);
  job.job.split.give("micro_batch", 64, "--micro-batch");
  job.job.accumulation = 4;
  const sim::Workload run = workload_of(job);
  CHECK(run.scenario.algorithm == Algorithm::s_sgd);
  CHECK(run.accumulation == 4);
}

TEST_CASE("one global batch on several numbers of GPUs is each of them alone, if one micro-step holds it", "[job]") {
  sim::JobQuestion all = job_of("resnet50", 8);
  all.job.global_batch = 1024;
  all.gpus = {8, 16, 32};
  const std::vector<double> together = rates(all);
  for (std::size_t i = 0; i < all.gpus.size(); ++i) {
    sim::JobQuestion alone = all;
    alone.gpus = {all.gpus[i]};
    const sim::JobRow row = sim::predict_job(all, catalogue(), 1).rows[i];
    CHECK(row.samples_per_s.task.target.front().batch_per_gpu == 1024 / all.gpus[i]);
    CHECK(together[i] == Approx(rates(alone)[0]).epsilon(0.02));  // links and overheads are those of 32 GPUs
  }
  all.gpus = {8, 24};
  const sim::JobPrediction predicted = sim::predict_job(all, catalogue(), 1);
  REQUIRE(predicted.refused.size() == 1);  // 1024 samples on 24 GPUs
  CHECK(predicted.refused[0].gpus == 24);
  CHECK(predicted.refused[0].status == sim::AnswerStatus::unmapped);
}

TEST_CASE("no answer of whole replicas depends on the other numbers of GPUs in the list", "[job]") {
  for (const char* model : {"stable_diffusion_1_5", "vit_l16", "t5_3b"}) {
    sim::JobQuestion all = job_of(model, 8);
    all.job.gpu.stated = "A100";
    all.job.global_batch = 512;
    all.gpus = {64, 1, 8};
    const std::vector<double> together = rates(all);
    const sim::JobPrediction predicted = sim::predict_job(all, catalogue(), 1);
    for (std::size_t i = 0; i < all.gpus.size(); ++i) {
      CAPTURE(model, all.gpus[i]);
      sim::JobQuestion alone = all;
      alone.gpus = {all.gpus[i]};
      CHECK(predicted.rows[i].gpus == all.gpus[i]);
      CHECK(together[i] == Approx(rates(alone)[0]).epsilon(0.02));  // one scenario may serve several rows
    }
    const Json file = sim::job_scenario(predicted, catalogue());  // reads every variant
    CHECK(file.contains("variants") == !predicted.own_scenarios.empty());
  }
}

TEST_CASE("samples are the work of any model: as many seconds as at its rate, and their price", "[job]") {
  for (const char* model : {"whisper_small", "wan2_1_1_3b", "resnet50", "gpt2"}) {
    sim::JobQuestion job = job_of(model, 8);
    job.job.batch_per_gpu = 1;
    job.samples = 8e6;
    job.usd_per_gpu_hour = 2;
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const double seconds = 8e6 / predicted.rows[0].samples_per_s.predicted;
    const Json json = sim::job_json(predicted, catalogue());
    const bool has_tokens = json.contains("tokens");
    const Json& training = has_tokens ? json.at("tokens").at(0) : json.at("predictions").at(2);
    INFO(model);
    CHECK(training.at(has_tokens ? "training_s" : "predicted").get<double>() == Approx(seconds).epsilon(1e-6));
    CHECK(training.at("usd").get<double>() == Approx(seconds / 3600 * 8 * 2).epsilon(1e-6));
    CHECK_THAT(sim::job_table(predicted, catalogue()), Contains("8M samples") && Contains("USD"));
  }
}

TEST_CASE("epochs of images have a price; epochs of unknown size are refused with samples", "[job]") {
  sim::JobQuestion job = job_of("resnet50", 8);
  job.job.batch_per_gpu = 64;
  job.job.epochs = 90;
  job.usd_per_gpu_hour = 2;
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  const Json training = sim::job_json(predicted, catalogue()).at("predictions").at(2);
  CHECK(training.at("usd").get<double>() ==
        Approx(training.at("predicted").get<double>() / 3600 * 8 * 2).epsilon(1e-9));
  sim::JobQuestion video = job_of("wan2_1_1_3b", 8);
  video.job.epochs = 1;
  CHECK_THAT(why_refused(video), Contains("--epochs") && Contains("--samples"));
  video.job.epochs = 0;
  video.tokens = 1e9;
  CHECK_THAT(why_refused(video), Contains("--samples"));
}

TEST_CASE("a number of GPUs that cannot run the job costs no other", "[job]") {
  sim::JobQuestion job = job_of("resnet50", 8);
  job.job.batch_per_gpu = 64;
  job.gpus = {8, 12, 16};
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  CHECK(predicted.rows.size() == 2);
  const Json json = sim::job_json(predicted, catalogue());
  CHECK(json.at("refused").at(0).at("gpus") == 12);
  CHECK(json.at("refused").at(0).at("status") == "unmapped");
  CHECK_THAT(sim::job_table(predicted, catalogue()), Contains("No answer for 12 GPUs: "));
  job.gpus = {12, 20};
  CHECK_THAT(why_refused(job), Contains("do not fill whole nodes"));
}

TEST_CASE("a measured rate above the GPU's peak is refused with both numbers", "[job]") {
  sim::JobQuestion job = job_of("gpt2", 8);
  job.job.batch_per_gpu = 4;
  job.rate_samples_per_s = 10000;
  CHECK_THAT(why_refused(job),
             Contains("--rate 10000") && Contains("the peak of H100 SXM5 in mixed precision is 989 TFLOP/s"));
  job.rate_samples_per_s = 0;
  job.step.seconds = 1e-3;
  CHECK_THAT(why_refused(job), Contains("--step-time") && Contains("989 TFLOP/s") && Contains("at least 3.3"));
}

}  // namespace lockstep::tests
