// Facts that replace the software's defaults: fused layers are faster than layers in steps, and an exchange during the
// backward pass is no slower than one after it. Then the calendar time of trainings whose split is searched.
#include <algorithm>

#include "sim/job_prediction/job_calendar.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/quantity/calendar.hpp"
#include "sim/stack/priors.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

sim::JobQuestion transformer_in(const char* software, const char* model) {
  sim::JobQuestion job = small_job();
  job.job.model.stated = model;
  job.job.gpu.stated = "A100";
  job.job.software.stated = software;
  job.gpus = {1};
  job.job.batch_per_gpu = 2;
  return job;
}

TEST_CASE("a fused layer is faster than one in steps, and without effect where the model has none", "[job]") {
  using Fact = std::optional<bool> sim::Job::*;
  struct Case {
    const char* model;
    Fact fact;
    bool has_layer;
  };
  for (const Case& one :
       {Case{"llama3_2_1b", &sim::Job::fused_norms, true}, Case{"gpt2", &sim::Job::fused_norms, false},
        Case{"llama3_2_1b", &sim::Job::fused_rotary, true}, Case{"gpt2", &sim::Job::fused_gelu, true},
        Case{"llama3_2_1b", &sim::Job::fused_gelu, false}, Case{"gpt2", &sim::Job::fused_loss, true},
        Case{"gpt2", &sim::Job::fused_attention, true}})
    for (const char* software : {"HuggingFace", "NeMo"}) {
      INFO(one.model << " in " << software);
      sim::JobQuestion job = transformer_in(software, one.model);
      job.job.*one.fact = true;
      const double fused = rates(job).front();
      job.job.*one.fact = false;
      const double in_steps = rates(job).front();
      if (one.has_layer)
        CHECK(fused > in_steps);
      else
        CHECK(fused == in_steps);
    }
}

TEST_CASE("without a fact, layers run as by the software's default", "[job]") {
  for (const auto& [software, is_fused] : {std::pair{"HuggingFace", false}, std::pair{"NeMo", true}}) {
    INFO(software);
    const sim::JobQuestion usual = transformer_in(software, "llama3_2_1b");
    sim::JobQuestion given = usual;
    given.job.fused_norms = given.job.fused_rotary = given.job.fused_loss = is_fused;
    CHECK(rates(given) == rates(usual));
  }
}

TEST_CASE("networks without such layers are predicted as before", "[job]") {
  sim::JobQuestion job = small_job();
  const std::vector<double> usual = rates(job);
  job.job.fused_norms = job.job.fused_loss = true;
  CHECK(rates(job) == usual);
}

TEST_CASE("gradients that are exchanged during the backward pass are no slower than after it", "[job]") {
  for (const char* software : {"Megatron-LM", "DeepSpeed"}) {
    INFO(software);
    sim::JobQuestion job = transformer_in(software, "llama3_2_1b");
    job.job.batch_per_gpu = 0;
    job.job.global_batch = 64;
    job.gpus = {64};
    job.job.split.give("tensor", 1);
    job.job.split.give("micro_batch", 1);
    job.job.split.give("sharding", "zero1");
    job.job.overlap = true;
    const double during = rates(job).front();
    job.job.overlap = false;
    const double after = rates(job).front();
    CHECK(during > after);
    CHECK(during < 2 * after);  // at most the shorter of the two is hidden
  }
}

TEST_CASE("Megatron-DeepSpeed exchanges gradients after the last backward pass, as its engine of pipelines does") {
  sim::JobQuestion job = transformer_in("Megatron-DeepSpeed", "llama3_2_1b");
  job.gpus = {8};
  CHECK_FALSE(sim::predict_job(job, catalogue(), 1).scenario.communication.overlap);
  job.job.overlap = true;
  CHECK(sim::predict_job(job, catalogue(), 1).scenario.communication.overlap);
}

sim::JobQuestion training_of_70b() {
  sim::JobQuestion job;
  job.job.model.stated = "llama3_70b";
  job.job.gpu.stated = "H100";
  job.job.global_batch = 1024;
  job.gpus = {1024};
  job.tokens = 1e12;
  return job;
}

Json tokens_of(const sim::JobQuestion& job) {
  return sim::job_tokens_json(sim::predict_job(job, catalogue(), 1)).at(0);
}

TEST_CASE("a dimension of the split that the software does not have is listed as an assumption", "[job]") {
  const auto lists = [](const std::string& software, const char* key, int ranks) {
    sim::JobQuestion job = small_job();
    job.job.model.stated = "gpt2_medium";
    job.job.batch_per_gpu = 0;
    job.job.software.stated = software;
    job.job.global_batch = 64;
    job.job.split.give(key, ranks);
    job.gpus = {8};
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    for (const std::string& line : sim::assumed_lines(sim::merge_inputs(predicted.tasks())))
      if (line.rfind(std::string(key) + " " + std::to_string(ranks), 0) == 0)
        return line.find("has no " + std::string(key) + " parallelism") != std::string::npos;
    return false;
  };
  for (const char* key : {"tensor", "pipeline"}) {
    CHECK(lists("llm.c", key, 2));
    CHECK(lists("Horovod", key, 2));
    CHECK(lists("PyTorch", key, 2));
    CHECK_FALSE(lists("Megatron-LM", key, 2));
    CHECK_FALSE(lists("llm.c", key, 1));
  }
}

TEST_CASE("adapters train faster than all weights in the same software; their default software names the other",
          "[job]") {
  const auto predict = [](const char* task, const char* software) {
    sim::JobQuestion job = small_job();
    job.job.model.stated = "llama3_8b";
    job.job.gpu.stated = "H100";
    job.job.software.stated = software;
    job.job.batch_per_gpu = 0;
    job.job.global_batch = 128;
    job.job.split.task = task;
    job.gpus = {16};
    return sim::predict_job(job, catalogue(), 1);
  };
  const auto rate = [](const sim::JobPrediction& predicted) { return predicted.rows.front().samples_per_s.predicted; };
  for (const char* software : {"Megatron-LM", "PyTorch FSDP", "HuggingFace Transformers", "DeepSpeed", "torchtitan"}) {
    INFO(software);
    CHECK(rate(predict(sim::job::kAdapters, software)) > rate(predict(sim::job::kAllWeights, software)));
  }
  const auto lines = [](const sim::JobPrediction& predicted) {
    return joined(sim::assumed_lines(sim::merge_inputs(predicted.tasks())));
  };
  CHECK_THAT(lines(predict(sim::job::kAdapters, "")),
             Contains("usual for adapters; without adapters it is Megatron-LM, so give --software"));
  CHECK_THAT(lines(predict(sim::job::kAllWeights, "")), !Contains("adapters"));
}

TEST_CASE("a searched split and the same split given have the same calendar time, whatever else is in the list") {
  const sim::JobQuestion searched = training_of_70b();
  const sim::JobPrediction predicted = sim::predict_job(searched, catalogue(), 1);
  REQUIRE(predicted.over_fastest);
  const sim::Constant& fitted = catalogue().constants.at(sim::kTrainingOverFastest);
  const double factor = predicted.over_fastest->value.get<double>();
  CHECK(factor == Approx(sim::prior_of(sim::kTrainingOverFastest).value * fitted.value));
  CHECK_THAT(sim::calendar_text(predicted), Contains("leaves this factor out"));
  sim::JobQuestion given = searched;
  const sim::ParallelSpec& best = predicted.rankings.front().best.front().spec;
  for (const char* key : {"tensor", "pipeline", "context", "micro_batch", "virtual_stages", "sharding", "recompute",
                          "schedule", "sequence"})
    given.job.split.give(key, sim::parallel_format().write_value(key, best));
  const sim::JobPrediction of_given = sim::predict_job(given, catalogue(), 1);
  const Json with_search = tokens_of(searched), without = sim::job_tokens_json(of_given).at(0);
  for (const char* key : {"training_s", "calendar_s", "calendar_s_low", "calendar_s_high", "interruptions"})
    CHECK(with_search.at(key).get<double>() == Approx(without.at(key).get<double>()).epsilon(1e-9));
  CHECK_THAT(sim::calendar_text(of_given), !Contains("factor"));
  // A row's answer does not depend on the other rows.
  sim::JobQuestion few = searched, alone = searched;
  alone.job.global_batch = few.job.global_batch = 512;
  alone.usd_per_gpu_hour = few.usd_per_gpu_hour = 2;
  few.gpus = {64, 1024};
  alone.gpus = {64};
  const Json in_list = sim::job_tokens_json(sim::predict_job(few, catalogue(), 1)).at(0), single = tokens_of(alone);
  CHECK(in_list == single);
  CHECK_FALSE(single.contains("calendar_s"));
}

TEST_CASE("the calendar time of fine-tuning, and of images, has no factor of trainings whose split is not known") {
  sim::JobQuestion tuning = training_of_70b(), images = small_job();
  tuning.job.split.task = sim::job::kAllWeights;
  tuning.job.global_batch = 0;
  images.gpus = {128};
  images.job.epochs = 90;
  CHECK_FALSE(sim::predict_job(tuning, catalogue(), 1).over_fastest);
  CHECK_FALSE(sim::predict_job(images, catalogue(), 1).over_fastest);
}

}  // namespace
TEST_CASE("exchanges slow down transformers on several GPUs, split or whole, and no image networks", "[job]") {
  const auto is_slowed = [](const std::string& model, int gpus, bool is_split) {
    sim::JobQuestion job = small_job();
    job.job.model.stated = model;
    job.job.batch_per_gpu = 8;
    job.gpus = {gpus};
    if (is_split) job.job.split.give("tensor", 1);
    if (is_split) job.job.split.give("sharding", "zero3");
    const Json predictions = sim::job_json(sim::predict_job(job, catalogue(), 1), catalogue()).at("predictions");
    const Json& inputs = predictions.at(0).at("assumptions");
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const Json& input) { return input.at("pointer") == sim::kSlowdownByExchanges; });
  };
  CHECK(is_slowed("bert_large", 8, false));
  CHECK(is_slowed("vit_b16", 8, false));
  CHECK(is_slowed("gpt2", 8, true));
  CHECK_FALSE(is_slowed("gpt2", 1, true));
  CHECK_FALSE(is_slowed("bert_large", 1, false));
  CHECK_FALSE(is_slowed("resnet50", 8, false));
}

}  // namespace lockstep::tests
