// One job, four ways to ask: in words, as its scenario, as a point of a plan, as a record in explicit keys. Random jobs
// from a seed; the numbers are the same to 1e-9.
#include <random>

#include "sim/plan/evaluate.hpp"
#include "sim/records/job_scenario.hpp"
#include "sim/report/result.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

constexpr double kSame = 1e-9;

class Draws {
 public:
  explicit Draws(unsigned seed) : generator_(seed) {}
  template <class Value>
  Value of(const std::vector<Value>& all) {
    return all[generator_() % all.size()];
  }

 private:
  std::mt19937 generator_;
};

sim::Job drawn(Draws& draws) {
  using Texts = std::vector<std::string>;
  sim::Job job;
  job.model = draws.of(Texts{"resnet50", "vgg16", "alexnet", "inception_v3", "bert_large", "gpt2", "resnet50_v15"});
  job.gpu = draws.of(Texts{"H100", "A100", "V100", "P100", "t4", "titanx-maxwell", "a100-pcie"});
  job.gpus_per_node = draws.of(std::vector<int>{1, 2, 4, 4, 8});
  job.gpus = {job.gpus_per_node * draws.of(std::vector<int>{1, 2, 4})};
  if (job.gpus.front() == 1) job.gpus = {2};
  job.batch_per_gpu = draws.of(std::vector<int>{4, 16, 32});
  job.network = draws.of(Texts{"", "100 GbE", "2x 100 GbE", "8x NDR", "25 GbE", "200 Gb/s per GPU", "4x 100 Gb/s RoCE",
                               "8x 100 Gb/s EFA", "40 Gb/s", "aws-p4d"});
  job.precision = draws.of(Texts{"", "fp32", "mixed"});
  job.algorithm = draws.of(
      Texts{"",        "",        "",       "ring",    "hierarchical", "halving-doubling", "double-binary-tree",
            "tree",    "torus",   "hybrid", "FSDP",    "sma",          "ea-sgd",           "PS",
            "kvstore", "hybcomm", "sfb",    "one-bit", "theano-mpi",   "CUDA-aware MPI",   "baidu-ring"});
  job.software = draws.of(Texts{"pytorch", "tensorflow", "mxnet", "horovod", "poseidon", "mlperf", "caffe2"});
  if (draws.of(std::vector<int>{0, 1, 2}) == 0) job.rate_samples_per_s = 217.5;
  const bool has_epochs = job.model != "bert_large" && job.model != "gpt2";
  if (has_epochs) job.epochs = draws.of(std::vector<double>{1, 30, 90});
  job.ignores_memory = true;
  return job;
}

std::string text_of(const sim::Job& job) {
  return job.model + " on " + std::to_string(job.gpus.front()) + " " + job.gpu + ", " +
         std::to_string(job.gpus_per_node) + " per node, network \"" + job.network + "\", " + job.algorithm + ", " +
         job.software + ", " + job.precision + ", batch " + std::to_string(job.batch_per_gpu) + ", rate " +
         std::to_string(job.rate_samples_per_s);
}

struct Answer {
  double samples_per_s = 0, training_s = 0;
};

Answer in_words(const sim::JobPrediction& predicted) {
  const bool has_epochs = predicted.predictions.size() == 3;
  return {predicted.predictions[0].predicted, has_epochs ? predicted.predictions[2].predicted : 0};
}

Answer as_scenario(const Json& file) {
  const TemporaryFolder folder;
  const sim::Report report = sim::predict(sim::load_scenario(folder.write("job.json", file.dump()), {}), 1, {});
  return {report.points[0].point.samples_per_s(), report.points[0].accuracy.seconds};
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
  return {outcome.global_batch / outcome.iteration_s, file.contains("convergence") ? outcome.time_s : 0};
}

double predicted_record(Json record, const Json& given) {
  Json all = Json::array({std::move(record)});
  if (!given.is_null()) all.push_back(given);
  const std::vector<sim::Record> records = records_from(all.dump());
  sim::MapOptions options;
  options.fidelity = sim::Fidelity::fast;
  const auto predictions = sim::predict_records(sim::targets_of(records), records, catalogue(), 1, options);
  INFO(predictions.at(0).mapped.unmapped);
  CHECK(predictions.at(0).is_mapped());
  return predictions.at(0).predicted;
}

Answer as_record(const sim::Job& job) {
  Json keys{{"id", "a"},
            {"group", "g"},
            {"metric", "images_per_s"},
            {"software", job.software},
            {"model", job.model},
            {"gpu", job.gpu},
            {"gpus", job.gpus.front()},
            {"gpus_per_node", std::min(job.gpus.front(), job.gpus_per_node)},
            {"batch_per_gpu", job.batch_per_gpu}};
  if (!job.network.empty()) keys["network"] = job.network;
  if (!job.precision.empty()) keys["precision"] = job.precision;
  if (!job.algorithm.empty()) keys["algorithm"] = job.algorithm;
  if (job.epochs > 0) keys["epochs"] = job.epochs;
  Json given;
  if (job.rate_samples_per_s > 0) {
    given = keys;
    given.update({{"id", "one"}, {"role", "input"}, {"gpus", 1}, {"value", job.rate_samples_per_s}});
  }
  Json training = keys;
  training["metric"] = "training_time_s";
  return {predicted_record(keys, given), job.epochs > 0 ? predicted_record(training, given) : 0};
}

void check_same(const Answer& a, const Answer& b) {
  CHECK(a.samples_per_s == Approx(b.samples_per_s).epsilon(kSame));
  CHECK(a.training_s == Approx(b.training_s).epsilon(kSame));
}

}  // namespace

TEST_CASE("a job, its scenario, a point of a plan and a record of it are predicted alike", "[job]") {
  Draws draws(18);
  for (int i = 0; i < 30; ++i) {
    const sim::Job job = drawn(draws);
    INFO(i << ": " << text_of(job));
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const Answer words = in_words(predicted);
    const Json file = sim::job_scenario(predicted, catalogue());
    REQUIRE(words.samples_per_s > 0);
    {
      INFO("scenario");
      check_same(as_scenario(file), words);
    }
    {
      INFO("plan");
      check_same(as_plan_point(file), words);
    }
    {
      INFO("record");
      check_same(as_record(job), words);
    }
  }
}

TEST_CASE("every row of a job is a point of its scenario", "[job]") {
  Draws draws(19);
  for (int i = 0; i < 6; ++i) {
    sim::Job job = drawn(draws);
    job.gpus_per_node = 8;
    job.gpus = {1, 4, 8, 16};
    INFO(text_of(job));
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const TemporaryFolder folder;
    const std::string path = folder.write("job.json", sim::job_scenario(predicted, catalogue()).dump());
    const sim::Report report = sim::predict(sim::load_scenario(path, {}), 1, {});
    const std::size_t metrics = predicted.predictions.size() / job.gpus.size();
    REQUIRE(report.points.size() == job.gpus.size());
    for (std::size_t row = 0; row < report.points.size(); ++row) {
      const sim::Prediction* of_row = &predicted.predictions[row * metrics];
      CHECK(of_row[0].predicted == Approx(report.points[row].point.samples_per_s()).epsilon(kSame));
      CHECK(of_row[1].predicted == Approx(report.points[row].scaling_efficiency).epsilon(kSame));
      if (metrics > 2) CHECK(of_row[2].predicted == Approx(report.points[row].accuracy.seconds).epsilon(kSame));
    }
  }
}

}  // namespace lockstep::tests
