// Splits in published records, and as options of `simulate job`.
#include <algorithm>
#include <tuple>

#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/job_prediction/job_split.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/report/result.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

sim::JobQuestion llama() {
  sim::JobQuestion job;
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.gpus = {64, 512};
  job.job.split.give("tensor", 2);
  job.job.split.give("sequence", true);
  job.job.split.give("sharding", name_of(sim::ShardingStage::zero1));
  job.job.global_batch = 1024;
  return job;
}

}  // namespace

TEST_CASE("a record with tensor, pipeline and data parallelism is predicted as that split") {
  const auto records = records_from(R"([{"id": "a", "metric": "images_per_s", "unit": "sequences/s", "gpus": 64,
      "gpus_per_node": 8, "software": "pytorch", "model": "llama3_8b", "gpu": "h100-sxm", "tp": 4, "pp": 2, "dp": 8,
      "microbatch": 1, "global_batch": 256, "sharding": "zero1", "recompute": "full", "virtual_stages": 2,
      "sequence_parallel": true}])");
  const sim::Prediction prediction = predict(records).at(0);
  REQUIRE(prediction.task.unmapped.empty());
  const sim::ParallelSpec& spec = *prediction.task.target.front().scenario.parallel;
  CHECK(spec.tensor == 4);
  CHECK(spec.pipeline == 2);
  CHECK(spec.data == 8);
  CHECK(spec.schedule == sim::PipelineSchedule::interleaved);
  CHECK(spec.sharding == sim::ShardingStage::zero1);
  CHECK(spec.recompute == sim::Recomputation::full);
  CHECK(prediction.task.target.front().samples() == 256);
  // The rate is no faster than the GPUs' peak, with a third of the arithmetic done twice.
  const double flops = 6.0 * static_cast<double>(prediction.task.target.front().scenario.model.macs());
  CHECK(prediction.predicted > 0);
  CHECK(prediction.predicted * flops < 0.75 * 64 * 989e12);
}

TEST_CASE("facts of software that keeps less: each needs less memory, and none is slower without recomputation",
          "[job]") {
  const auto row_of = [](const sim::JobQuestion& job) {
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const sim::Workload run = predicted.largest().samples_per_s.task.target.front();
    return std::tuple{predicted.largest().samples_per_s.predicted,
                      sim::gpu_memory(run.scenario, run.gpus, run.batch_per_gpu).total_bytes(), run.scenario};
  };
  sim::JobQuestion job = llama();
  job.job.split.give("micro_batch", 1);
  const auto [rate, memory, scenario] = row_of(job);
  sim::JobQuestion narrow = job, uniform = job;
  narrow.job.optimizer_state = model::StatePrecision::bf16;
  narrow.job.master_weights = model::MasterWeights::fp16;
  const auto [narrow_rate, narrow_memory, narrow_scenario] = row_of(narrow);
  CHECK(narrow_rate > rate);
  CHECK(narrow_memory < memory);
  uniform.job.split.give("recompute_interval", 4);  // of whole layers, which it implies
  const auto [uniform_rate, uniform_memory, uniform_scenario] = row_of(uniform);
  CHECK(uniform_scenario.parallel->recompute == sim::Recomputation::full);
  CHECK(uniform_rate < rate);
  CHECK(uniform_memory < memory);
}

TEST_CASE("a record with fewer layers than the network of its name is of that network, cut off") {
  const auto predicted_with = [](const std::string& more) {
    return predict(records_from(R"([{"id": "a", "metric": "step_time", "unit": "s", "gpus": 8, "gpus_per_node": 8,
      "software": "megatron", "model": "llama3_70b", "gpu": "h100-sxm", "tp": 1, "pp": 2, "dp": 4, "microbatch": 1,
      "recompute": "none", "sharding": "none", "virtual_stages": 1, "global_batch": 16)" +
                                more + "}]"))
        .at(0);
  };
  const sim::Prediction cut = predicted_with(R"(, "layers": 12)"), whole = predicted_with("");
  REQUIRE(cut.task.unmapped.empty());
  CHECK(cut.task.target.front().scenario.model.transformer->spec.layers == 12);
  CHECK(cut.task.target.front().scenario.model.transformer->spec.inner ==
        whole.task.target.front().scenario.model.transformer->spec.inner);
  // 12 of 80 layers, and all of the embedding, the loss and the other costs of a step.
  CHECK(cut.predicted > whole.predicted * 12 / 80);
  CHECK(cut.predicted < whole.predicted / 4);
}

TEST_CASE("adapters beside frozen weights take less time than training them, and are counted as less") {
  const auto value_of = [](const std::string& metric, const std::string& more) {
    const auto records = records_from(R"([{"id": "a", "gpus": 8, "gpus_per_node": 8, "software": "nemo",
      "model": "llama2_7b", "gpu": "h100-sxm", "tp": 1, "pp": 1, "dp": 8, "microbatch": 1, "global_batch": 32,
      "sharding": "zero1", "metric": )" +
                                      metric + more + "}]");
    const sim::Prediction prediction = predict(records).at(0);
    CHECK(prediction.task.unmapped == "");
    return prediction.predicted;
  };
  const std::string rate = R"("throughput_per_gpu", "unit": "tokens/s/GPU")", adapters = R"(, "task": "lora")";
  const std::string memory = R"("peak_memory", "unit": "GB")";
  CHECK(value_of(rate, adapters) > 1.2 * value_of(rate, ""));
  CHECK(value_of(rate, adapters) < 1.5 * value_of(rate, ""));
  CHECK(value_of(rate, R"(, "task": "sft")") == value_of(rate, ""));
  // Without gradients, master weights and moments of 6.7 billion parameters, these sharded over eight.
  CHECK(value_of(memory, "") - value_of(memory, adapters) > 6.7 * (2 + 12 / 8.0) * 0.9);
}

TEST_CASE("a job's split becomes a scenario that is predicted alike") {
  const sim::JobPrediction predicted = sim::predict_job(llama(), catalogue(), 2);
  const TemporaryFolder folder;
  const std::string file = folder.write("job.json", sim::job_scenario(predicted, catalogue()).dump());
  const sim::Report report = sim::predict(sim::load_scenario(file, {}), 2, {});
  const Json rows = sim::job_tokens_json(predicted);
  REQUIRE(rows.size() == report.points.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i]["tokens_per_s"].get<double>() == Approx(report.points[i].tokens_per_s).epsilon(1e-9));
    CHECK(rows[i]["mfu"].get<double>() == Approx(report.points[i].mfu()).epsilon(1e-9));
    CHECK(report.points[i].global_batch == 1024);
    CHECK(report.points[i].mfu() < 1);
  }
}

TEST_CASE("a training of so many tokens takes tokens over tokens/s, and costs its GPU hours") {
  sim::JobQuestion job = llama();
  job.tokens = sim::count_of("--tokens", "15T");
  job.usd_per_gpu_hour = 2;
  CHECK(job.tokens == 15e12);
  CHECK_THROWS_WITH(sim::count_of("--tokens", "15 trillion"), Contains("--tokens \"15 trillion\": not a count"));
  const Json rows = sim::job_tokens_json(sim::predict_job(job, catalogue(), 2));
  for (const Json& row : rows) {
    const double seconds = 15e12 / row["tokens_per_s"].get<double>();
    CHECK(row["training_s"].get<double>() == Approx(seconds));
    CHECK(row["usd"].get<double>() == Approx(row.value("calendar_s", seconds) / 3600 * row["gpus"].get<double>() * 2));
  }
  // Eight times the GPUs take more than an eighth of the time.
  CHECK(rows[1]["training_s"].get<double>() > rows[0]["training_s"].get<double>() / 8);
}

TEST_CASE("a job's split says what it lacks") {
  const auto error_of = [](const sim::JobQuestion& job) {
    try {
      static_cast<void>(sim::predict_job(job, catalogue(), 1));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  sim::JobQuestion job = llama();
  job.job.split.give("tensor", 3);
  CHECK_THAT(error_of(job),
             Contains("tensor 3") && Contains("do not divide 64 GPUs") && Contains("allowed: without --tensor"));
  job.job.split.keys.erase("tensor");  // the advice, followed
  CHECK(error_of(job).empty());
  job = llama();
  job.job.batch_per_gpu = 4;
  CHECK_THAT(error_of(job), Contains("--global-batch says it too"));
  job = llama();
  job.gpus = {8};
  job.job.model.stated = "llama3_70b";
  job.job.split.give("recompute", name_of(sim::Recomputation::none));
  CHECK_THAT(error_of(job),
             Contains("no split over 8 GPUs fits into the GPUs' memory (8192 tokens per sample are assumed") &&
                 Contains("; allowed: "));
}

TEST_CASE("what a job does not give of its split is searched, and a true fact never makes an answer vanish") {
  sim::JobQuestion open;
  open.job.model.stated = "llama3_8b";
  open.job.gpu.stated = "H100";
  open.gpus = {64};
  const sim::JobPrediction free = sim::predict_job(open, catalogue(), 1);
  const auto rate = [&](const sim::JobQuestion& job) {
    return sim::predict_job(job, catalogue(), 1).rows.front().samples_per_s.predicted;
  };
  const double best = free.rows.front().samples_per_s.predicted;
  // If the split that the search chose is given as a fact, the answer is the same.
  const sim::ParallelSpec chosen = free.rankings.front().best.front().spec;
  sim::JobQuestion given = open;
  given.job.global_batch = chosen.global_batch;
  CHECK(rate(given) == Approx(best));
  given.job.split.give("tensor", chosen.tensor);
  CHECK(rate(given) == Approx(best));
  given.job.split.give("micro_batch", chosen.micro_batch);
  CHECK(rate(given) == Approx(best));
  // Other given facts are kept, and make the job slower or equally fast.
  for (const auto& [key, value] : {std::pair{"tensor", 8}, {"pipeline", 4}, {"micro_batch", 1}, {"context", 2}}) {
    INFO(key);
    sim::JobQuestion fixed = open;
    fixed.job.global_batch = chosen.global_batch;
    fixed.job.split.give(key, value);
    const sim::JobPrediction predicted = sim::predict_job(fixed, catalogue(), 1);
    CHECK(predicted.rows.front().samples_per_s.predicted <= best * (1 + 1e-9));
    CHECK(sim::parallel_format().write_value(key, predicted.rankings.front().best.front().spec) == value);
  }
  // A batch per GPU that does not fit at once is computed in micro-batches.
  sim::JobQuestion batch = open;
  batch.job.batch_per_gpu = 1;
  CHECK(sim::predict_job(batch, catalogue(), 1).scenario.parallel->global_batch == 64);
}

TEST_CASE("given parts of a layer are recomputed, without a word about selective recomputation") {
  sim::JobQuestion job;
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.gpus = {64};
  job.job.split.give("recompute_modules", Json::array({"layernorm"}));
  const sim::ParallelSpec spec = *sim::predict_job(job, catalogue(), 1).scenario.parallel;
  CHECK(spec.recompute == sim::Recomputation::selective);
  CHECK(spec.recompute_modules == std::set<sim::RecomputeModule>{sim::RecomputeModule::layer_norm});
}

TEST_CASE("a search stays within what the software can do") {
  sim::JobQuestion job;
  job.job.model.stated = "llama3_70b";
  job.job.gpu.stated = "H100";
  job.gpus = {64};
  for (const char* software : {"Megatron-LM", "PyTorch FSDP", "DeepSpeed", "torchtitan", "NeMo"}) {
    job.job.software.stated = software;
    INFO(software);
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const sim::SplitAbilities& can = catalogue().stacks.with_id(predicted.job.software.id)->splits;
    CHECK_FALSE(can.source.empty());
    for (const sim::RankedSplit& split : predicted.rankings.front().best) {
      CHECK(can.sharding.count(split.spec.sharding) == 1);
      CHECK((split.spec.tensor == 1 || can.has(sim::ParallelDimension::tensor)));
      CHECK((split.spec.context == 1 || can.has(sim::ParallelDimension::context)));
      CHECK((split.spec.pipeline == 1 || can.has(sim::ParallelDimension::pipeline)));
      CHECK((split.spec.virtual_stages == 1 || can.schedules.count(sim::PipelineSchedule::interleaved) == 1));
      CHECK(std::any_of(can.recomputations.begin(), can.recomputations.end(), [&](const sim::RecomputeChoice& one) {
        return one.recompute == split.spec.recompute && one.modules == split.spec.recompute_modules;
      }));
    }
  }
}

TEST_CASE(
    "a split that is searched is at each number of GPUs its own, fits, and is no slower than one that is stated") {
  sim::JobQuestion stated = llama();
  sim::JobQuestion searched = llama();
  searched.job.split = {};
  searched.job.split.is_searched = true;
  const sim::JobPrediction given = sim::predict_job(stated, catalogue(), 2);
  const sim::JobPrediction found = sim::predict_job(searched, catalogue(), 2);
  REQUIRE(found.rankings.size() == 2);
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    const sim::Workload& run = found.rows[i].samples_per_s.task.target.front();
    const sim::SplitRanking& ranking = found.rankings[run.gpus == 64 ? 0 : 1];
    CHECK(sim::split_text(run.scenario.parallel_at(run.gpus)) == sim::split_text(ranking.best.front().spec));
    CHECK(found.rows[i].samples_per_s.predicted >= given.rows[i].samples_per_s.predicted);
    CHECK(found.rows[i].samples_per_s.predicted ==
          Approx(1024 / ranking.best.front().iteration.iteration_s).epsilon(1e-9));
  }
  const Json file = sim::job_scenario(found, catalogue());
  REQUIRE(file.at("variants").size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(file.at("variants")[i].at("set").at("/gpus") == Json::array({found.rankings[i].gpus}));
  CHECK_THAT(sim::job_table(found, catalogue()),
             Contains("Split over 64 GPUs, the fastest of ") && Contains("software Megatron-LM (not stated;"));
}

TEST_CASE("a search takes DualPipe where the software has it, the micro-batches fill it, and it is faster") {
  sim::JobQuestion job;
  job.job.model.stated = "deepseek_v3@4096";
  job.job.gpu.stated = "H800";
  job.job.software.stated = "HAI-LLM";
  job.job.network.stated = "8x 400 Gb/s InfiniBand";
  job.job.split.is_searched = true;
  job.job.split.give("pipeline", 16);
  job.job.split.give("expert", 64);
  job.gpus = {2048};
  const auto schedule_at = [&](std::int64_t global_batch) {
    job.job.global_batch = global_batch;
    return sim::predict_job(job, catalogue(), 1).rankings.front().best.front().spec.schedule;
  };
  CHECK(schedule_at(15360) == sim::PipelineSchedule::dual_pipe);
  CHECK(schedule_at(128 * 24) == sim::PipelineSchedule::one_f_one_b);
}

TEST_CASE("a model that no GPU holds is split without being told to, one that a GPU holds is not") {
  sim::JobQuestion job;
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.gpus = {64};
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  CHECK(predicted.question.job.split.is_searched);
  CHECK(predicted.scenario.parallel->global_batch == (4 << 20) / 8192);
  job.job.model.stated = "resnet50";
  CHECK_FALSE(sim::prepare_job(job, catalogue()).question.job.split.is_searched);
  job.job.model.stated = "gpt2";
  const sim::JobPrediction small = sim::prepare_job(job, catalogue());
  CHECK(small.question.job.split.is_searched);
  CHECK(small.job.software.id == "pytorch");
  CHECK(small.scenario.parallel->is_data_parallel_alone());
  job.job.batch_per_gpu = 8;
  CHECK_FALSE(sim::prepare_job(job, catalogue()).question.job.split.is_searched);
}

TEST_CASE("software that is not stated is what trains such splits") {
  sim::JobQuestion job = llama();
  CHECK(sim::usual_software(job.job.split) == "Megatron-LM");
  job.job.split = {};
  job.job.split.give("sharding", name_of(sim::ShardingStage::zero3));
  CHECK(sim::usual_software(job.job.split) == "PyTorch FSDP");
  job.job.split = {};
  CHECK(sim::usual_software(job.job.split) == "PyTorch");
  job.job.split.give("lora_rank", 16);
  CHECK(sim::usual_software(job.job.split) == "HuggingFace Transformers");
  job.job.split.give("tensor", 4);
  CHECK(sim::usual_software(job.job.split) == "Megatron-LM");
}

TEST_CASE("frozen weights of adapters have no gradients: model FLOP are 4 a weight and token, and attention's 6") {
  sim::JobQuestion job = llama();
  job.gpus = {64};
  const sim::JobPrediction all = sim::predict_job(job, catalogue(), 1);
  job.job.split.give("lora_rank", 16);
  job.job.split.task = sim::kAdapters;
  const sim::JobPrediction adapters = sim::predict_job(job, catalogue(), 1);
  const auto flop_of_token = [](const sim::JobPrediction& predicted) {
    const Json row = sim::job_tokens_json(predicted).at(0);
    return row["model_flops_per_gpu"].get<double>() * 64 / row["tokens_per_s"].get<double>();
  };
  double of_attention = 0;
  const model::Graph& graph = all.largest().samples_per_s.task.target.front().scenario.model;
  for (const model::Layer& layer : graph.layers)
    if (layer.parameters.empty()) of_attention += 6.0 * static_cast<double>(layer.macs) / graph.tokens;
  CHECK(of_attention > 0);
  CHECK(flop_of_token(adapters) == Approx(flop_of_token(all) * 2 / 3 + of_attention / 3).epsilon(1e-9));
}

TEST_CASE("utilisation in fp8 is over the half-precision peak, so that it compares") {
  sim::JobQuestion job = llama();
  job.gpus = {64};
  job.job.precision = sim::find_choice_in_words<sim::RecordPrecision>("fp8");
  const Json fp8 = sim::job_tokens_json(sim::predict_job(job, catalogue(), 1)).at(0);
  CHECK(fp8["mfu"].get<double>() == Approx(fp8["model_flops_per_gpu"].get<double>() / 989.4e12).epsilon(2e-3));
}

TEST_CASE("a given accumulation fixes the micro-batches of a searched split") {
  sim::JobQuestion job = llama();
  job.job.split = {};
  job.gpus = {64};
  const auto micro_batches = [&] {
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const sim::ParallelSpec& spec = predicted.rankings.at(0).best.at(0).spec;
    CHECK(spec.global_batch % (spec.data * spec.micro_batch) == 0);
    return std::pair<int, int>{spec.global_batch, spec.global_batch / spec.data / spec.micro_batch};
  };
  job.job.accumulation = 4;
  job.job.global_batch = 512;
  CHECK(micro_batches() == std::pair<int, int>{512, 4});
  job.job.global_batch = 0;
  job.job.batch_per_gpu = 2;  // of each GPU at once
  CHECK(micro_batches() == std::pair<int, int>{512, 4});
  job.job.batch_per_gpu = 0;
  CHECK(micro_batches().second == 4);  // of the default batch
  job.job.accumulation = 6;
  CHECK(micro_batches().second == 6);  // which is a multiple of it
  job.job.accumulation = 4;
  job.job.split.give("micro_batch", 1);
  job.job.split.give("tensor", 4);
  CHECK(micro_batches() == std::pair<int, int>{64 / 4 * 4, 4});
  // Fewer replicas fit: the search halves the batch until a split does.
  job.job.split.leave_out("tensor");
  job.job.model.stated = "llama3_70b";
  CHECK(micro_batches().second == 4);
  job.job.model.stated = llama().job.model.stated;
  job.job.split.give("tensor", 4);
  job.gpus = {64, 128};
  const sim::JobPrediction both = sim::predict_job(job, catalogue(), 1);
  CHECK(both.rankings.at(1).best.at(0).spec.global_batch == 128 / 4 * 4);
}

}  // namespace lockstep::tests
