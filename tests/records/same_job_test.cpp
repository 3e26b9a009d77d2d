// One job in four forms: its facts, its scenario, a point of a plan, a record. Random jobs from a seed give the same
// numbers to 1e-9.
#include <algorithm>
#include <map>
#include <set>

#include "sim/api/job_options.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/plan/evaluate.hpp"
#include "sim/report/result.hpp"
#include "tests/base/draws.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

constexpr double kSame = 1e-9;

sim::JobQuestion drawn(Draws& draws) {
  using Texts = std::vector<std::string>;
  sim::JobQuestion job;
  job.job.model.stated =
      draws.of(Texts{"resnet50", "vgg16", "alexnet", "inception_v3", "bert_large", "gpt2", "resnet50_v15"});
  job.job.gpu.stated = draws.of(Texts{"H100", "A100", "V100", "P100", "t4", "titanx-maxwell", "a100-pcie"});
  job.job.gpus_per_node = draws.of(std::vector<int>{1, 2, 4, 4, 8});
  job.gpus = {job.job.gpus_per_node * draws.of(std::vector<int>{1, 2, 4})};
  if (job.gpus.front() == 1) job.gpus = {2};
  job.job.batch_per_gpu = draws.of(std::vector<int>{4, 16, 32});
  job.job.network.stated = draws.of(Texts{"", "100 GbE", "2x 100 GbE", "8x NDR", "25 GbE", "200 Gb/s per GPU",
                                          "4x 100 Gb/s RoCE", "8x 100 Gb/s EFA", "40 Gb/s", "aws-p4d"});
  job.job.precision = sim::find_choice_in_words<sim::RecordPrecision>(draws.of(Texts{"", "fp32", "mixed"}));
  job.job.exchange = draws.of(
      Texts{"",        "",        "",       "ring",    "hierarchical", "halving-doubling", "double-binary-tree",
            "tree",    "torus",   "hybrid", "FSDP",    "sma",          "ea-sgd",           "PS",
            "kvstore", "hybcomm", "sfb",    "one-bit", "theano-mpi",   "CUDA-aware MPI",   "baidu-ring"});
  job.job.software.stated =
      draws.of(Texts{"pytorch", "tensorflow", "mxnet", "horovod", "poseidon", "mlperf", "caffe2"});
  if (draws.of(std::vector<int>{0, 1, 2}) == 0) job.rate_samples_per_s = 3.5;  // a rate that every GPU reaches
  const bool has_epochs = job.job.model.stated != "bert_large" && job.job.model.stated != "gpt2";
  if (has_epochs) job.job.epochs = draws.of(std::vector<double>{1, 30, 90});
  job.ignores_memory = true;
  return job;
}

std::string text_of(const sim::JobQuestion& job) {
  return job.job.model.stated + " on " + std::to_string(job.gpus.front()) + " " + job.job.gpu.stated + ", " +
         std::to_string(job.job.gpus_per_node) + " per node, network \"" + job.job.network.stated + "\", " +
         job.job.exchange + ", " + job.job.software.stated + ", " +
         (job.job.precision ? name_of(*job.job.precision) : "") + ", batch " + std::to_string(job.job.batch_per_gpu) +
         ", rate " + std::to_string(job.rate_samples_per_s);
}

struct Bounded {
  double value = 0, low = 0, high = 0;
};

struct Answer {
  Bounded samples_per_s, training_s;
};

Bounded bounded(const sim::QuantityPrediction& prediction) {
  return {prediction.predicted, prediction.low, prediction.high};
}

Answer of_row(const sim::JobRow& row) {
  return {bounded(row.samples_per_s), row.training ? bounded(*row.training) : Bounded{}};
}

Answer as_scenario(const Json& file) {
  const TemporaryFolder folder;
  const sim::Report report = sim::predict(sim::load_scenario(folder.write("job.json", file.dump()), {}), 1, {});
  const sim::PointResult& point = report.points[0].point;
  const sim::TimeToAccuracy& time = report.points[0].accuracy;
  const double rate = point.samples_per_s();
  return {{rate, rate / point.interval.high, rate / point.interval.low}, {time.seconds, time.low_s, time.high_s}};
}

Answer as_plan_point(const Json& file) {
  const TemporaryFolder folder;
  Json plan = Json::parse(R"({"schema": "lockstep/plan/1", "name": "one", "axes": [], "prices": {"gpu": "1 USD/h"},
    "objective": {"kind": "least-cost"}})");
  plan["axes"] = Json::array({{{"name", "GPUs"}, {"pointer", "/gpus"}, {"values", file.at("gpus")}}});
  plan["scenario"] = file;
  if (!file.contains("convergence")) plan["work"] = {{"samples", 1e6}};
  const std::string path = folder.write("plan.json", plan.dump());
  const sim::PlanSpec spec = sim::load_plan(path);
  sim::Task task;
  task.fidelity = sim::Fidelity::fast;
  const sim::Outcome outcome = sim::evaluate(spec, task);
  REQUIRE(outcome.status == "ok");
  const double rate = outcome.global_batch / outcome.iteration_s;
  const Bounded time{outcome.time_s, outcome.time_s_low, outcome.time_s_high};
  return {{rate, rate / outcome.relative_high, rate / outcome.relative_low},
          file.contains("convergence") ? time : Bounded{}};
}

Bounded predicted_record(Json record, const Json& given) {
  Json all = Json::array({std::move(record)});
  if (!given.is_null()) all.push_back(given);
  const std::vector<sim::Record> records = records_from(all.dump());
  sim::MapOptions options;
  options.fidelity = sim::Fidelity::fast;
  const auto predictions = sim::predict_records(sim::targets_of(records), records, catalogue(), 1, options);
  INFO(predictions.at(0).task.unmapped);
  CHECK(predictions.at(0).is_mapped());
  return bounded(predictions.at(0));
}

Answer as_record(const sim::JobQuestion& job) {
  Json keys{{"id", "a"},
            {"group", "g"},
            {"metric", "images_per_s"},
            {"software", job.job.software.stated},
            {"model", job.job.model.stated},
            {"gpu", job.job.gpu.stated},
            {"gpus", job.gpus.front()},
            {"gpus_per_node", std::min(job.gpus.front(), job.job.gpus_per_node)},
            {"batch_per_gpu", job.job.batch_per_gpu}};
  if (!job.job.network.stated.empty()) keys["network"] = job.job.network.stated;
  if (job.job.precision) keys["precision"] = name_of(*job.job.precision);
  if (!job.job.exchange.empty()) keys["algorithm"] = job.job.exchange;
  if (job.job.epochs > 0) keys["epochs"] = job.job.epochs;
  Json given;
  if (job.rate_samples_per_s > 0) {
    given = keys;
    given.update({{"id", "one"}, {"role", "input"}, {"gpus", 1}, {"value", job.rate_samples_per_s}});
  }
  Json training = keys;
  training["metric"] = "training_time_s";
  return {predicted_record(keys, given), job.job.epochs > 0 ? predicted_record(training, given) : Bounded{}};
}

void check_same(const Bounded& a, const Bounded& b) {
  CHECK(a.value == Approx(b.value).epsilon(kSame));
  CHECK(a.low == Approx(b.low).epsilon(kSame));
  CHECK(a.high == Approx(b.high).epsilon(kSame));
}

void check_same(const Answer& a, const Answer& b) {
  check_same(a.samples_per_s, b.samples_per_s);
  check_same(a.training_s, b.training_s);
}

}  // namespace

TEST_CASE("a job, its scenario, a point of a plan and a record of it are predicted alike", "[job]") {
  Draws draws(18);
  for (int i = 0; i < 30; ++i) {
    const sim::JobQuestion job = drawn(draws);
    INFO(i << ": " << text_of(job));
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const Answer answer = of_row(predicted.rows.front());
    const Json file = sim::job_scenario(predicted, catalogue());
    REQUIRE(answer.samples_per_s.value > 0);
    {
      INFO("scenario");
      check_same(as_scenario(file), answer);
    }
    {
      INFO("plan");
      check_same(as_plan_point(file), answer);
    }
    {
      INFO("record");
      check_same(as_record(job), answer);
    }
  }
}

TEST_CASE("every row of a job is a point of its scenario", "[job]") {
  Draws draws(19);
  for (int i = 0; i < 6; ++i) {
    sim::JobQuestion job = drawn(draws);
    job.job.gpus_per_node = 8;
    job.gpus = {1, 4, 8, 16};
    INFO(text_of(job));
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const TemporaryFolder folder;
    const std::string path = folder.write("job.json", sim::job_scenario(predicted, catalogue()).dump());
    const sim::Report report = sim::predict(sim::load_scenario(path, {}), 1, {});
    REQUIRE(report.points.size() == job.gpus.size());
    for (std::size_t i_row = 0; i_row < report.points.size(); ++i_row) {
      const sim::JobRow& row = predicted.rows[i_row];
      CHECK(row.samples_per_s.predicted == Approx(report.points[i_row].point.samples_per_s()).epsilon(kSame));
      CHECK(row.efficiency.predicted == Approx(report.points[i_row].scaling_efficiency).epsilon(kSame));
      if (row.training) CHECK(row.training->predicted == Approx(report.points[i_row].accuracy.seconds).epsilon(kSame));
    }
  }
}

namespace {

// Facts by their keys in records, and the command-line words that give the same.
struct SameFacts {
  Json keys = Json::object();
  std::vector<std::string> words;

  void give(const std::string& key, const std::string& option, const Json& value) {
    keys[key] = value;
    words.push_back(option);
    if (value.is_boolean()) return;
    words.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
};

SameFacts drawn_facts(Draws& draws) {
  using Texts = std::vector<std::string>;
  using Numbers = std::vector<int>;
  SameFacts facts;
  const auto maybe = [&] { return draws.of(Numbers{0, 1}) == 1; };
  facts.give("model", "--model", draws.of(Texts{"llama3_8b", "GPT-2", "resnet50", "Mixtral 8x7B"}));
  facts.give("gpu", "--gpu", draws.of(Texts{"H100", "A100 40GB", "B200"}));
  if (maybe()) facts.give("software", "--software", draws.of(Texts{"NeMo", "PyTorch FSDP", "torchtitan"}));
  if (maybe()) facts.give("network", "--network", draws.of(Texts{"8x 400 Gb/s", "25 GbE", "2x HDR"}));
  if (maybe()) facts.give("link", "--link", draws.of(Texts{"NVLink 4", "PCIe 5"}));
  if (maybe()) facts.give("gpus_per_node", "--gpus-per-node", draws.of(Numbers{2, 4, 8}));
  if (maybe()) facts.give("precision", "--precision", draws.of(Texts{"bf16", "FP8", "fp32", "bf16-true"}));
  if (maybe()) facts.give("algorithm", "--algorithm", draws.of(Texts{"ring", "FSDP", "hierarchical"}));
  if (maybe()) facts.give("batch_per_gpu", "--batch", draws.of(Numbers{1, 32}));
  if (maybe()) facts.give("global_batch", "--global-batch", draws.of(Numbers{64, 4096}));
  if (maybe()) facts.give("epochs", "--epochs", draws.of(Numbers{1, 90}));
  if (maybe()) facts.give("channels_last", "--channels-last", true);
  if (maybe()) facts.give("decodes_on_host", "--decodes-on-host", true);
  if (maybe()) facts.give("tp", "--tensor", draws.of(Numbers{1, 2, 8}));
  if (maybe()) facts.give("pp", "--pipeline", draws.of(Numbers{1, 4}));
  if (maybe()) facts.give("cp", "--context", draws.of(Numbers{1, 2}));
  if (maybe()) facts.give("ep", "--expert", draws.of(Numbers{1, 8}));
  if (maybe()) facts.give("microbatch", "--micro-batch", draws.of(Numbers{1, 2}));
  if (maybe()) facts.give("sharding", "--sharding", draws.of(Texts{"zero1", "zero3", "fsdp"}));
  if (maybe()) facts.give("recompute", "--recompute", draws.of(Texts{"full", "selective"}));
  if (maybe()) facts.give("schedule", "--schedule", draws.of(Texts{"1F1B", "zb-h1", "zb-v"}));
  if (maybe()) facts.give("sequence_parallel", "--sequence-parallel", true);
  if (maybe()) facts.give("expert_imbalance", "--expert-imbalance", 1.5);
  if (maybe()) facts.give("virtual_stages", "--virtual-stages", draws.of(Numbers{2, 4}));
  return facts;
}

sim::Job job_of_record(const SameFacts& facts) {
  Json record = facts.keys;
  record.update({{"id", "a"}, {"metric", "images_per_s"}});
  return records_from(Json::array({record}).dump()).at(0);
}

// As simulate job and plan job read it; of plan job the facts that may be lists are read as its only values.
sim::Job job_of_options(std::vector<std::string> words, const std::set<std::string>& lists) {
  CLI::App app;
  sim::JobQuestion question;
  sim::declare_job(app, question, lists);
  std::map<std::string, std::vector<std::string>> several;
  for (const std::string& key : lists)
    app.add_option(key == "batch_per_gpu" ? "--batch" : "--" + key, several[key])->delimiter(',');
  std::reverse(words.begin(), words.end());
  app.parse(words);
  const auto only = [&](const std::string& key) { return several[key].empty() ? "" : several[key].front(); };
  if (lists.count("gpu") > 0) question.job.gpu.stated = only("gpu");
  if (lists.count("network") > 0) question.job.network.stated = only("network");
  if (lists.count("algorithm") > 0) question.job.exchange = only("algorithm");
  if (const std::string batch = only("batch_per_gpu"); !batch.empty()) question.job.batch_per_gpu = std::stoi(batch);
  return question.job;
}

// Lists every fact, field by field. `exchange` and the network's text have no keys of their own in a job.
Json all_facts(const sim::Job& job) {
  Json facts = sim::job_json(job);
  facts["algorithm"] = job.exchange;
  facts["network"] = job.network.stated;
  return facts;
}

}  // namespace

TEST_CASE("simulate job, plan job and a record read the same job from the same facts", "[job]") {
  Draws draws(20);
  for (int i = 0; i < 200; ++i) {
    const SameFacts facts = drawn_facts(draws);
    INFO(facts.keys.dump());
    const Json of_record = all_facts(job_of_record(facts));
    CHECK(of_record.size() >= facts.keys.size());
    CHECK(all_facts(job_of_options(facts.words, {})).dump() == of_record.dump());
    CHECK(all_facts(job_of_options(facts.words, {"gpu", "batch_per_gpu", "network", "algorithm"})).dump() ==
          of_record.dump());
  }
}

}  // namespace lockstep::tests
