// `plan job --options`: machines that differ in several facts at once, and the batch, tokens/s and assumptions of their
// plans.
#include "sim/job_plan/machine_options.hpp"

#include "sim/job_prediction/job_prediction.hpp"
#include "sim/plan/plan_result.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/job_plan/plan_in_words.hpp"

namespace lockstep::tests {
namespace {

sim::JobPlan words_of(const std::vector<std::string>& options) {
  sim::JobPlan words;
  words.question.job.model.stated = "ResNet-50";
  words.question.job.epochs = 2;
  words.options = options;
  return words;
}

std::string wrong_option(const std::string& written) {
  try {
    sim::read_machine_option(written);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an option of plan job is number, GPU, price and network, in the ways people write them") {
  for (const char* written : {"64 H100 2.2/h", " 64x H100 at 2.2", "64 H100 2.2 USD/h", "64 H100 at 2.2/h"}) {
    INFO(written);
    const sim::MachineOption option = sim::read_machine_option(written);
    CHECK(option.gpus == 64);
    CHECK(option.gpu == "H100");
    CHECK(option.price == "2.2 USD/h");
    CHECK(option.network.empty());
  }
  CHECK(sim::read_machine_option("64 H100 $2.2/h").price == "2.2 $/h");
  const sim::MachineOption full = sim::read_machine_option("128 A100 80GB 1.3 EUR/h over 4x HDR");
  CHECK(full.gpu == "A100 80GB");
  CHECK(full.price == "1.3 EUR/h");
  CHECK(full.network == "4x HDR");
  CHECK(sim::read_machine_option("8 scenarios/gpus/l20.json").gpu == "scenarios/gpus/l20.json");
  CHECK(sim::read_machine_option("8 V100 over 100 Gb/s").price.empty());
}

TEST_CASE("an option that cannot be read says which part, and how to write it") {
  CHECK_THAT(wrong_option("H100 2.2/h"),
             Contains("--options \"H100 2.2/h\"") && Contains("number of GPUs") && Contains("write NUMBER GPU PRICE"));
  CHECK_THAT(wrong_option("0 H100"), Contains("number of GPUs"));
  CHECK_THAT(wrong_option("64"), Contains("no GPU is named"));
  CHECK_THAT(wrong_option("64 H100 at dawn"), Contains("\"dawn\" is no price"));
  CHECK_THAT(refusal(words_of({"8 V1000 2/h"})), Contains("--options \"8 V1000 2/h\"") && Contains("nearest"));
  CHECK_THAT(refusal(words_of({"8 V100 2/h over 10 furlongs"})), Contains("--options") && Contains("10 furlongs"));
  CHECK_THAT(refusal(words_of({"8 V100 2/h", "8 P100"})), Contains("\"8 P100\"") && Contains("this one has none"));
  CHECK_THAT(refusal(words_of({"12 V100 2/h"})), Contains("--options \"12 V100 2/h\"") && Contains("whole nodes"));
  sim::JobPlan words = words_of({"8 V100 2/h"});
  words.gpus_by_name = {"V100"};
  CHECK_THAT(refusal(words), Contains("--gpu: --options gives it"));
  words = words_of({"8 V100 2/h"});
  words.nodes = {1};
  CHECK_THAT(refusal(words), Contains("--nodes: --options gives it"));
  words = words_of({"8 V100 2/h"});
  words.networks = {"10 GbE", "4x EDR"};
  CHECK_THAT(refusal(words), Contains("--network") && Contains("write the network into each option"));
}

TEST_CASE("each option is one point: the job of simulate job, at its own price and over its own network") {
  sim::JobPlan words = words_of({"16 V100 3/h over 4x EDR", " 32 P100 1/h", "16 V100 1/h over 10 GbE"});
  words.networks = {"25 GbE"};  // of options without one
  const sim::PlanSpec plan = plan_of(words);
  REQUIRE(plan.points.size() == 3);
  const sim::PlanResult result = worked_out(plan);
  const std::vector<std::string> gpus{"V100", "P100", "V100"}, networks{"4x EDR", "25 GbE", "10 GbE"};
  const std::vector<int> numbers{16, 32, 16};
  const std::vector<double> prices{3, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    sim::JobQuestion job = words.question;
    job.job.gpu.stated = gpus[i];
    job.job.network.stated = networks[i];
    job.gpus = {numbers[i]};
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const sim::PlanRow& row = result.rows[i];
    INFO(row.setting().dump());
    REQUIRE(row.outcome.is_ok());
    CHECK(row.outcome.gpus == numbers[i]);
    CHECK(row.outcome.samples_per_s() == Approx(predicted.rows.front().samples_per_s.predicted).epsilon(0.02));
    CHECK(row.money.cost == Approx(row.outcome.time_s / 3600 * numbers[i] * prices[i]));
    CHECK(row.scaling_efficiency > 0);
    CHECK(row.scaling_efficiency < 1);
  }
  CHECK(plan.objective.kind == sim::ObjectiveKind::least_cost);
}

TEST_CASE("no option is hidden: the same machine at two sizes, more than twelve, and one that cannot run") {
  std::vector<std::string> options;
  for (int gpus = 8; gpus <= 8 * 14; gpus += 8) options.push_back(std::to_string(gpus) + " V100 2/h");
  const sim::PlanSpec many = plan_of(words_of(options));
  const sim::PlanResult result = worked_out(many);
  CHECK(sim::best_of_machines(result).size() == options.size());

  sim::JobPlan words;
  words.question.job.model.stated = "llama3_70b";
  words.tokens = "1B";
  words.options = {"64 H100 2/h", "1 H100 2/h"};
  const sim::PlanSpec large = plan_of(words);
  const std::string table = sim::plan_table(worked_out(large));
  const std::size_t begin = table.find("Best of each machine:"), end = table.find("Frontier");
  REQUIRE(begin != std::string::npos);
  const std::string best = table.substr(begin, end - begin);
  CHECK_THAT(best, Contains("GPUs 64") && Contains("recommended"));
  CHECK_THAT(best, Contains("GPUs 1,") && Contains("refused"));
}

TEST_CASE("the default batch of a plan follows each number of GPUs, and the answer names it as a choice") {
  const TemporaryFolder folder;
  const Outcome said =
      run_program(folder.path("."), "plan", "job --model llama3_8b --gpu H100 --gpus 64,80,88,96 --tokens 15T --quiet");
  INFO(said.err);
  REQUIRE(said.code == 0);
  CHECK_THAT(said.out, Contains("global_batch 512 on 64 GPUs, 640 on 80 GPUs, 704 on 88 GPUs, 768 on 96 GPUs"));
  CHECK_THAT(said.out, Contains("--global-batch sets it, and a list of them compares batches"));
  CHECK_THAT(said.out, Contains("Not given, and assumed:") && Contains("precision mixed"));
  CHECK_THAT(said.out, Contains("tokens/s") && Contains("% MFU)"));
  CHECK_THAT(said.out, !Contains("samples/s"));
  // More GPUs of one machine are faster in a plan and in a job.
  sim::JobQuestion job;
  job.job.model.stated = "llama3_8b";
  job.job.gpu.stated = "H100";
  job.gpus = {64, 80, 88, 96};
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  for (std::size_t i = 1; i < predicted.rows.size(); ++i)
    CHECK(predicted.rows[i].samples_per_s.predicted > predicted.rows[i - 1].samples_per_s.predicted);
  CHECK_THAT(sim::job_table(predicted, catalogue()), Contains("global_batch 512 on 64 GPUs, 640 on 80 GPUs"));
}

TEST_CASE("a given split without a batch has a default batch that each number of GPUs divides") {
  sim::JobPlan words;
  words.question.job.model.stated = "llama3_8b";
  words.tokens = "3B";
  words.question.job.split.give("tensor", 2);
  words.question.job.split.give("sequence", true);
  words.question.job.split.give("sharding", "zero1");
  words.question.job.split.give("recompute", "selective");
  words.question.job.split.give("micro_batch", 1);
  words.gpus_by_name = {"H100"};
  words.question.gpus = {64, 80, 88};
  const sim::PlanSpec plan = plan_of(words);
  const sim::PlanResult result = worked_out(plan);
  REQUIRE(result.rows.size() == 3);
  for (const sim::PlanRow& row : result.rows) {
    INFO(row.outcome.why);
    REQUIRE(row.outcome.is_ok());
    CHECK(std::fmod(row.outcome.global_batch, row.outcome.gpus / 2) == 0);
  }
}

TEST_CASE("a plan of a transformer groups whole layers, and counts them") {
  sim::JobPlan words;
  words.question.job.model.stated = "llama3_8b";
  words.tokens = "3B";
  words.gpus_by_name = {"H100"};
  words.question.gpus = {64};
  const sim::PlanSpec plan = plan_of(words);
  const sim::PlanResult result = worked_out(plan);
  REQUIRE(result.breakdown);
  int layers = 0;
  for (const sim::LayerGroup& group : result.breakdown->layer_groups) layers += group.layers;
  CHECK(layers == 32);
  CHECK_THAT(result.breakdown->layer_groups.front().name, Contains("embedding and layer"));
  CHECK_THAT(result.breakdown->layer_groups.back().name, Contains("head"));
}

}  // namespace lockstep::tests
