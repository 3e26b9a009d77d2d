// `plan job` evaluates exactly the jobs that `simulate job` would read.
#include "sim/job_plan/job_plan.hpp"

#include <set>

#include "sim/job_prediction/job_scenario.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/plan/evaluate.hpp"
#include "sim/report/result.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/job_plan/plan_in_words.hpp"

namespace lockstep::tests {
namespace {

sim::JobPlan small_words() {
  sim::JobPlan words;
  words.question.job.model.stated = "ResNet-50";
  words.question.job.epochs = 2;
  words.gpus_by_name = {"V100", "P100"};
  words.networks = {"4x EDR", "10 GbE"};
  words.batches = {32, 64};
  words.nodes = {1, 4};
  return words;
}

template <class Change>
std::string refusal_with(const Change& change) {
  sim::JobPlan words = small_words();
  words.networks = {"10 GbE"};
  words.batches = {32};
  change(words);
  return refusal(words);
}

// Removes the keys that may differ without changing the prediction.
Json compared(const sim::Scenario& scenario) {
  Json json = sim::to_json(scenario);
  for (const char* key : {"name", "description", "gpus"}) json.erase(key);
  return json;
}

}  // namespace

// On P100 one node exchanges gradients in another way than four.
TEST_CASE("each point of a plan in words is the scenario and the prediction of simulate job") {
  const sim::JobPlan words = small_words();
  const sim::PlanSpec plan = plan_of(words);
  REQUIRE(plan.points.size() == 16);
  std::size_t at = 0;
  for (const std::string& gpu : words.gpus_by_name)
    for (const std::string& network : words.networks)
      for (int batch : words.batches) {
        sim::JobQuestion job = words.question;
        job.job.gpu.stated = gpu;
        job.job.network.stated = network;
        job.job.batch_per_gpu = batch;
        for (std::size_t i = 0; i < 2; ++i) {
          const sim::PlanPoint& point = plan.points[at];
          INFO(point.setting.dump());
          CHECK(point.setting ==
                Json({{"GPU", gpu}, {"network", network}, {"batch", batch}, {"nodes", words.nodes[i]}}));
          job.gpus = {8 * words.nodes[i]};
          const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
          const Json file = sim::job_scenario(predicted, catalogue());
          const sim::Scenario of_job = sim::ScenarioTemplate::parse(file.dump(), "job").with({}).variants.front();
          CHECK(compared(sim::scenario_with(plan, point.settings).variants.front()) == compared(of_job));
          sim::Task task;
          task.point = at++;
          task.fidelity = sim::Fidelity::fast;
          const sim::Outcome outcome = sim::evaluate(plan, task);
          const sim::JobRow& row = predicted.largest();
          CHECK(outcome.samples_per_s() == Approx(row.samples_per_s.predicted).epsilon(1e-9));
          CHECK(outcome.time_s == Approx(row.training->predicted).epsilon(1e-9));
        }
      }
}

TEST_CASE("a plan of splits: each point is the prediction of simulate job with the same split") {
  sim::JobPlan words;
  words.question.job.model.stated = "llama3_8b";
  words.tokens = "3B";
  words.question.job.split.give("tensor", 2);
  words.question.job.split.give("sequence", true);
  words.question.job.split.give("sharding", "zero1");
  words.question.job.global_batch = 256;
  words.gpus_by_name = {"H100", "A100"};
  words.nodes = {4, 8};
  const sim::PlanSpec plan = plan_of(words);
  REQUIRE(plan.points.size() == 4);
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    sim::JobQuestion job = words.question;
    job.job.gpu.stated = words.gpus_by_name[i / 2];
    job.gpus = {words.nodes[i % 2] * 8};
    const sim::QuantityPrediction samples = sim::predict_job(job, catalogue(), 1).rows.front().samples_per_s;
    sim::Task task;
    task.point = i;
    task.fidelity = sim::Fidelity::analytic;
    const sim::Outcome outcome = sim::evaluate(plan, task);
    INFO(outcome.why);
    CHECK(outcome.samples_per_s() == Approx(samples.predicted).epsilon(1e-9));
    CHECK(outcome.global_batch == 256);
    // Unknown properties of the GPU have the same error for both numbers of nodes.
    CHECK(outcome.spread_compute > 0.01);
  }
}

TEST_CASE("failures take time, and narrow no interval") {
  for (const bool has_adapters : {false, true}) {
    sim::JobPlan words;
    words.question.job.model.stated = "llama3_8b";
    words.tokens = "1B";
    if (has_adapters) words.question.job.split.give("lora_rank", 16);
    words.question.job.global_batch = 64;
    words.gpus_by_name = {"H100"};
    words.nodes = {1};
    const auto outcome = [&](bool has_failures) {
      words.has_failures = has_failures;
      const sim::PlanSpec plan = plan_of(words);
      REQUIRE(plan.points.size() == 1);
      sim::Task task;
      task.fidelity = sim::Fidelity::analytic;
      return sim::evaluate(plan, task);
    };
    const sim::Outcome undisturbed = outcome(false), failing = outcome(true);
    CAPTURE(has_adapters, failing.why);
    CHECK(failing.time_s > undisturbed.time_s);
    CHECK(failing.time_s_low / failing.time_s < 1.001 * undisturbed.time_s_low / undisturbed.time_s);
    CHECK(failing.time_s_high / failing.time_s > 0.999 * undisturbed.time_s_high / undisturbed.time_s);
  }
}

// Balanced stages of 27 layers: 3 with the embedding, six times 4, and the output alone on the eighth.
TEST_CASE("a plan with a stage without layers: each point is the prediction of simulate job") {
  sim::JobPlan words;
  words.question.job.model.stated = "deepseek_v2_lite";
  words.tokens = "1B";
  words.question.job.split.give("tensor", 2);
  words.question.job.split.give("pipeline", 8);
  words.question.job.split.give("context", 2);
  words.question.job.split.give("expert", 1);
  words.question.job.split.give("micro_batch", 1);
  words.question.job.split.give("sharding", "zero3");
  words.question.job.global_batch = 128;
  words.gpus_by_name = {"h800-sxm", "v100-sxm2"};
  words.nodes = {4};
  const sim::PlanSpec plan = plan_of(words);
  REQUIRE(plan.points.size() == 2);
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    sim::JobQuestion job = words.question;
    job.job.gpu.stated = words.gpus_by_name[i];
    job.gpus = {32};
    sim::Task task;
    task.point = i;
    task.fidelity = sim::Fidelity::analytic;
    const sim::Outcome outcome = sim::evaluate(plan, task);
    INFO(outcome.why);
    const sim::QuantityPrediction samples = sim::predict_job(job, catalogue(), 1).rows.front().samples_per_s;
    CHECK(outcome.samples_per_s() == Approx(samples.predicted).epsilon(1e-9));
    CHECK(outcome.exposed_communication_s < 2 * outcome.compute_s);  // of the order of the links' times, not arbitrary
  }
}

TEST_CASE("a plan that searches splits has the fastest at each size, and says it") {
  sim::JobPlan words;
  words.question.job.model.stated = "llama3_8b";
  words.tokens = "3B";
  words.question.job.global_batch = 256;
  words.question.job.split.give("sharding", "zero1");
  words.question.job.split.is_searched = true;
  words.gpus_by_name = {"H100", "A100"};
  words.nodes = {4, 8};
  const sim::PlanSpec plan = plan_of(words);
  REQUIRE(plan.points.size() == 4);
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    sim::JobQuestion job = words.question;
    job.job.gpu.stated = words.gpus_by_name[i / 2];
    job.gpus = {words.nodes[i % 2] * 8};
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    sim::Task task;
    task.point = i;
    task.fidelity = sim::Fidelity::analytic;
    const sim::Outcome outcome = sim::evaluate(plan, task);
    INFO(outcome.why);
    CHECK(outcome.samples_per_s() == Approx(predicted.rows.front().samples_per_s.predicted).epsilon(1e-9));
    CHECK(outcome.gpus == job.gpus.front());
    const std::string split = plan.points[i].setting.at("split");
    CHECK(split == sim::split_text(predicted.rankings.front().best.front().spec));
    CHECK_THAT(split, Contains("zero1"));
  }
  // Splits are not given, so simulate job decides the same way.
  words.question.job.split.is_searched = false;
  words.question.job.split = {};
  words.question.job.global_batch = 0;
  CHECK(plan_of(words).points.front().setting.contains("split"));
}

TEST_CASE("searched splits of several sizes are variants of the job's scenario, each predicted as the job is") {
  sim::JobQuestion job;
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.gpus = {16, 64};
  job.job.global_batch = 128;
  job.job.split.is_searched = true;
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  REQUIRE(predicted.rankings.size() == 2);
  const TemporaryFolder folder;
  const std::string path = folder.write("job.json", sim::job_scenario(predicted, catalogue()).dump());
  const sim::Report report = sim::predict(sim::load_scenario(path, {}), 1, {});
  REQUIRE(report.points.size() == 2);
  for (const sim::ReportPoint& row : report.points) {
    const auto of_job = std::find_if(predicted.rows.begin(), predicted.rows.end(),
                                     [&](const sim::JobRow& one) { return one.gpus == row.point.gpus; });
    REQUIRE(of_job != predicted.rows.end());
    CHECK(row.variant == std::to_string(row.point.gpus) + " GPUs");
    CHECK(row.point.samples_per_s() == Approx(of_job->samples_per_s.predicted).epsilon(1e-9));
  }
}

TEST_CASE("what does not vary is not among a point's settings, and the GPU is") {
  sim::JobPlan words = small_words();
  words.gpus_by_name = {"V100"};
  words.networks = {"10 GbE"};
  words.batches = {32};
  CHECK(plan_of(words).points[1].setting == Json({{"GPU", "V100"}, {"nodes", 4}}));
  words.nodes.clear();
  words.question.gpus = {2, 16};
  CHECK(plan_of(words).points[1].setting == Json({{"GPU", "V100"}, {"GPUs", 16}}));
}

TEST_CASE("on one node networks are one machine: none of them is the runner-up of another") {
  sim::JobPlan words = small_words();
  words.gpus_by_name = {"V100"};
  words.batches = {32};
  words.nodes = {1};
  const sim::PlanSpec one_node = plan_of(words);
  const sim::PlanResult alike = worked_out(one_node);
  REQUIRE(alike.rows.size() == 2);
  CHECK(alike.rows[0].outcome.time_s == alike.rows[1].outcome.time_s);
  CHECK(!alike.runner_up);
  words.nodes = {1, 2};
  const sim::PlanSpec two_nodes = plan_of(words);
  CHECK(worked_out(two_nodes).runner_up);
}

TEST_CASE("tokens are sequences of the model's length") {
  sim::JobPlan words;
  words.question.job.model.stated = "BERT-large";
  words.tokens = "3B";
  words.gpus_by_name = {"A100"};
  words.batches = {16};
  words.nodes = {2};
  const sim::PlanSpec plan = plan_of(words);
  const int length = sim::scenario_with(plan, plan.points[0].settings).variants.front().model.tokens;
  REQUIRE(length > 0);
  CHECK(plan.work.samples == std::ceil(3e9 / length));
  CHECK(sim::count_of("--tokens", "1.5T") == 1.5e12);
  CHECK(sim::count_of("--tokens", "40M") == 4e7);
  CHECK(sim::count_of("--tokens", "2e9") == 2e9);
  for (const char* wrong : {"many", "-3B", "3 B", "3b", "0", ""}) {
    INFO(wrong);
    CHECK_THROWS_AS(sim::count_of("--tokens", wrong), InputError);
  }
}

TEST_CASE("prices in words: each GPU's own, one currency, signs and codes alike") {
  sim::JobPlan words = small_words();
  words.networks = {"10 GbE"};
  words.batches = {32};
  words.prices = {"2/h", "NVIDIA V100=$3/h"};
  sim::PlanSpec plan = plan_of(words);
  CHECK(plan.prices.currency == "USD");
  CHECK(plan.objective.kind == sim::ObjectiveKind::least_cost);
  REQUIRE(plan.prices.gpu_price_per_s.size() == 2);
  CHECK(plan.prices.gpu_price_per_s[0].value == 3. / 3600);  // its own price comes before that of all
  CHECK(plan.prices.gpu_price_per_s[0].gpu ==
        sim::scenario_with(plan, plan.points[0].settings).variants[0].cluster.gpu.name);
  CHECK(plan.prices.gpu_price_per_s[1].gpu.empty());
  words.prices = {"V100=3 EUR/h", "P100=1\u20ac/h"};
  words.deadline = "3d";
  plan = plan_of(words);
  CHECK(plan.prices.currency == "EUR");
  CHECK(plan.objective.deadline_s == 3 * 86400);
  words.deadline.clear();
  words.budget = "500 EUR";
  CHECK(plan_of(words).objective.budget == 500);
  words.budget = "500 USD";
  CHECK_THAT(refusal(words), Contains("USD beside the EUR of") && Contains("allowed: one currency"));
}

TEST_CASE("a plan to a loss has the tokens, time and interval of simulate job at each batch") {
  sim::JobPlan words;
  words.question.job.model.stated = "llama3_8b";
  words.question.loss = 2.2;
  words.global_batches = {128, 512};
  words.gpus_by_name = {"H100"};
  words.question.gpus = {64};
  const sim::PlanSpec plan = plan_of(words);
  REQUIRE(plan.points.size() == 2);
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    sim::JobQuestion job = words.question;
    job.job.gpu.stated = "H100";
    job.job.global_batch = words.global_batches[i];
    const Json of_job = sim::job_tokens_json(sim::predict_job(job, catalogue(), 1)).front();
    sim::Task task;
    task.point = i;
    task.fidelity = sim::Fidelity::analytic;
    const sim::Outcome outcome = sim::evaluate(plan, task);
    INFO(outcome.why);
    // In whole iterations, some 10,000.
    CHECK(outcome.time_s == Approx(of_job.at("training_s").get<double>()).epsilon(1e-3));
    CHECK(outcome.time_s_low == Approx(of_job.at("training_s_low").get<double>()).epsilon(1e-2));
    CHECK(outcome.time_s_high == Approx(of_job.at("training_s_high").get<double>()).epsilon(1e-2));
  }
}

TEST_CASE("a plan over a family compares its sizes; those that do not reach the loss are refused points") {
  sim::JobPlan words;
  words.model_family = "llama3";
  words.question.loss = 2.1;
  words.global_batches = {256};
  words.gpus_by_name = {"H100"};
  words.question.gpus = {64};
  const Json plan = sim::read_job_plan(words, catalogue()).plan;
  int refused = 0;  // because of the loss
  std::set<std::string> models;
  for (const Json& value : plan.at("axes").at(0).at("values")) {
    if (value.contains("refused") &&
        value.at("refused").get<std::string>().find("with endless data") != std::string::npos)
      ++refused;
    models.insert(value.at("shown").at("model").get<std::string>());
  }
  CHECK(models.size() >= 12);
  CHECK(refused >= 1);
  CHECK(refused < static_cast<int>(models.size()));
}

TEST_CASE("a plan to a loss without numbers of GPUs compares usual ones and says so") {
  sim::JobPlan words;
  words.question.job.model.stated = "llama3_2_1b";
  words.question.loss = 2.6;
  words.global_batches = {256};
  words.gpus_by_name = {"H100"};
  const sim::ReadJobPlan read = sim::read_job_plan(words, catalogue());
  CHECK(read.plan.at("axes").at(0).at("values").size() == 5);
  CHECK_THAT(read.assumed, Contains("nodes 1, 4, 16, 64, 256 (not stated; --nodes or --gpus compares others)"));
  words.question.loss = 0;
  words.tokens = "1T";
  CHECK_THAT(refusal(words), Contains("how many GPUs is not given; allowed: --nodes or --gpus"));
  words.nodes = {1};
  words.question.gpus = {8};
  CHECK_THAT(refusal(words), Contains("--nodes and --gpus both say how many GPUs"));
}

TEST_CASE("a plan by operations trains each model for their tokens") {
  sim::JobPlan words;
  words.question.job.model.stated = "llama3_8b";
  words.flops = "1e20";
  words.question.job.global_batch = 256;
  words.gpus_by_name = {"H100"};
  words.question.gpus = {64};
  const double samples = sim::read_job_plan(words, catalogue()).plan.at("work").at("samples").at("value");
  // 6 N D with 8.03e9 parameters. With attention and all else, training needs a fifth more operations than that.
  CHECK(samples * 8192 * 6 * 8.03e9 < 1e20);
  CHECK(samples * 8192 * 6 * 8.03e9 > 0.7e20);
}

TEST_CASE("what is wrong with a plan in words is said by its option") {
  using W = sim::JobPlan;
  CHECK_THAT(refusal_with([](W& w) { w.gpus_by_name = {"V1000"}; }),
             Contains("--gpu \"V1000\"") && Contains("nearest"));
  CHECK_THAT(refusal_with([](W& w) { w.networks = {"10 furlongs"}; }), Contains("--network \"10 furlongs\""));
  CHECK_THAT(refusal_with([](W& w) { w.nodes = {2, 2}; }), Contains("--nodes: the same number twice"));
  CHECK_THAT(refusal_with([](W& w) { w.question.gpus = {8}; }), Contains("--nodes and --gpus both"));
  CHECK_THAT(refusal_with([](W& w) { w.nodes.clear(); }), Contains("--nodes or --gpus"));
  CHECK_THAT(refusal_with([](W& w) { w.question.job.epochs = 0; }),
             Contains("--epochs, --samples, --tokens, --loss or --flops"));
  CHECK_THAT(refusal_with([](W& w) {
               w.question.job.epochs = 0;
               w.tokens = "3B";
             }),
             Contains("--tokens: ") && Contains("does not train on tokens"));
  CHECK_THAT(refusal_with([](W& w) { w.prices = {"A100=1/h"}; }),
             Contains("--price \"A100\": none of the plan's GPUs"));
  CHECK_THAT(refusal_with([](W& w) { w.prices = {"1/h", "2/h"}; }), Contains("a second price of all GPUs"));
  CHECK_THAT(refusal_with([](W& w) { w.prices = {"1 FRF/h"}; }), Contains("\"FRF/h\" is unknown"));
  CHECK_THAT(refusal_with([](W& w) { w.deadline = "3d"; }), Contains("--deadline") && Contains("with --price"));
  CHECK_THAT(refusal_with([](W& w) {
               w.prices = {"1/h"};
               w.deadline = "3 fortnights";
             }),
             Contains("--deadline \"3 fortnights\": unit \"fortnights\" is unknown"));
  CHECK_THAT(refusal_with([](W& w) {
               w.prices = {"1/h"};
               w.deadline = "3d";
               w.budget = "5 USD";
             }),
             Contains("--budget") && Contains("one of the two"));
  CHECK_THAT(refusal_with([](W& w) { w.question.rate_samples_per_s = 500; }), Contains("--rate: on which GPU"));
}

TEST_CASE("plan job: the file that it writes gives the same answer; a deadline that is missed ends with 1") {
  const TemporaryFolder folder;
  const auto plan = [&](const std::string& arguments) { return run_program(folder.path("."), "plan", arguments); };
  const std::string words =
      "job --model resnet50 --gpu V100,P100 --nodes 1,2 --network '10 GbE' --batch 32 --epochs 2 --price "
      "V100=3/h,P100=1/h ";
  const Outcome said = plan(words + "--deadline 3d --plan my_plan.json --json words.json");
  INFO(said.err);
  CHECK(said.code == 0);
  CHECK_THAT(said.out, Contains("Read: ") && Contains("cost within 3.00 d"));
  CHECK_THAT(said.out, Contains("The time of epochs is ") && Contains(" times that of their iterations"));
  const Outcome again = plan("my_plan.json --json file.json");
  CHECK(again.code == 0);
  Json a = Json::parse(slurp(folder.path("words.json"))), b = Json::parse(slurp(folder.path("file.json")));
  // Values without a source of their own are "given in" the file or on the command line.
  for (const char* of_the_file : {"provenance", "assumptions"}) {
    a.erase(of_the_file);
    b.erase(of_the_file);
  }
  CHECK(a == b);
  CHECK(said.out.find(again.out) != std::string::npos);

  const Outcome late = plan(words + "--deadline '2 min'");
  CHECK(late.code == 1);
  CHECK_THAT(late.out, Contains("No point meets the objective") && Contains("later than the deadline"));
  const Outcome dear = plan(words + "--budget '1 USD'");
  CHECK(dear.code == 1);
  CHECK_THAT(dear.out, Contains("over the budget"));
  const Outcome piped = plan("my_plan.json --json -");
  CHECK(piped.code == 0);
  CHECK(Json::parse(piped.out).at("answer") == a.at("answer"));
  CHECK(plan("my_plan.json job --model resnet50").code == 2);
  CHECK(plan("").code == 2);
}

}  // namespace lockstep::tests
