// Tests --storage of `simulate job` and `plan job`, and the scenarios of `simulate --scenario-template`.
#include "sim/job_plan/job_plan.hpp"
#include "sim/job_prediction/algorithm_template.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/job_plan/plan_in_words.hpp"

namespace lockstep::tests {

TEST_CASE("slow storage makes a training's calendar time longer, and its plan's") {
  const auto calendar_s = [](const std::string& storage) {
    sim::JobQuestion job;
    job.job.model.stated = "llama3_70b";
    job.job.gpu.stated = "H100";
    job.gpus = {1024};
    job.tokens = 1e12;
    job.storage = storage;
    return sim::job_json(sim::predict_job(job, catalogue(), 1), catalogue())
        .at("tokens")
        .at(0)
        .at("calendar_s")
        .get<double>();
  };
  const double usual = calendar_s("");
  CHECK(calendar_s("1000 TB/s") == usual);  // each node's 2 GB/s are the limit
  CHECK(calendar_s("1 GB/s") > 1.01 * usual);
  CHECK(calendar_s("20 MB/s per node") > 1.01 * usual);
  CHECK(calendar_s("20 GB/s per node") < usual);

  const auto checkpoint_s = [](const std::string& storage) {
    sim::JobPlan words;
    words.question.job.model.stated = "ResNet-50";
    words.question.job.epochs = 90;
    words.gpus_by_name = {"V100"};
    words.nodes = {16};
    words.question.storage = storage;
    const sim::PlanSpec plan = plan_of(words);
    return worked_out(plan).rows.front().outcome.checkpoint_s;
  };
  CHECK(checkpoint_s("") == 0);  // no failures
  CHECK(checkpoint_s("10 MB/s") == Approx(100 * checkpoint_s("1 GB/s")));
  const TemporaryFolder folder;
  const Outcome refused =
      run_program(folder.path("."), "simulate", "job --model resnet50 --gpu H100 --gpus 8 --storage fast");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Contains("--storage") && Contains("200 GB/s"));
}

TEST_CASE("plan job --failures takes as long as simulate job's calendar, with a searched split and a given one") {
  for (const bool is_given : {false, true}) {
    sim::JobPlan words;
    words.question.job.model.stated = "llama3_70b";
    words.question.job.global_batch = 1024;
    words.question.storage = "50 GB/s";
    words.question.tokens = 1e12;
    words.tokens = "1T";
    words.gpus_by_name = {"H100"};
    words.has_failures = true;
    if (is_given) {
      words.question.job.split.give("tensor", 8);
      words.question.job.split.give("pipeline", 4);
    }
    sim::JobQuestion job = words.question;
    job.job.gpu.stated = "H100";
    words.question.gpus = job.gpus = {1024};
    const auto outcome = worked_out(plan_of(words)).rows.front().outcome;
    const Json row = sim::job_tokens_json(sim::predict_job(job, catalogue(), 1)).at(0);
    CHECK(outcome.time_s == Approx(row.at("calendar_s").get<double>()).epsilon(1e-6));
    CHECK(outcome.interruptions == Approx(row.at("interruptions").get<double>()).epsilon(1e-6));
    // Nodes that stand by are counted, and so is the wait for a repair without them.
    words.spares = 0;
    CHECK(worked_out(plan_of(words)).rows.front().outcome.time_s > 1.005 * outcome.time_s);
    words.spares = 4;
    CHECK(worked_out(plan_of(words)).rows.front().outcome.time_s == Approx(outcome.time_s).epsilon(1e-4));
  }
}

TEST_CASE("each algorithm has a scenario to start from, which runs as it is") {
  const TemporaryFolder folder;
  CHECK(sim::template_algorithms().size() >= 20);
  for (const std::string& algorithm : sim::template_algorithms()) {
    INFO(algorithm);
    const std::string path =
        folder.write(algorithm + ".json", sim::make_scenario_template(algorithm, catalogue()).dump());
    const Outcome outcome = run_program(folder.path("."), "simulate", path + " --fidelity fast --quiet");
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Contains("efficiency"));
  }
}

TEST_CASE("a template names its algorithm, and an algorithm without options points to it") {
  const TemporaryFolder folder;
  const Outcome made = run_program(folder.path("."), "simulate", "--scenario-template local-sgd");
  REQUIRE(made.code == 0);
  CHECK(Json::parse(made.out).at("algorithm") == "local-sgd");
  CHECK(Json::parse(made.out).at("local_sgd").at("period") == 8);
  const Outcome refused =
      run_program(folder.path("."), "simulate", "job --model resnet50 --gpu H100 --gpus 8 --algorithm local-sgd");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Contains("simulate --scenario-template local-sgd"));
  CHECK_THROWS_WITH(sim::make_scenario_template("magic", catalogue()),
                    Contains("--scenario-template \"magic\"") && Contains("sma"));
}

}  // namespace lockstep::tests
