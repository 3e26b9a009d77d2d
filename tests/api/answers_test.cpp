// Questions asked in process: options by their keys are those of the command line, and so are the answers and the errors.
#include <set>

#include "sim/api/answers.hpp"
#include "sim/api/command_words.hpp"
#include "sim/api/plan_options.hpp"
#include "tests/catalogue/catalogue.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

std::string refusal(const std::string& question, const Json& options) {
  try {
    (void)sim::answer(question, options, catalogue());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// The options of `app` that say nothing of the question.
const std::set<std::string> kOthers{"help"};

void check_described(const CLI::App& app, const sim::OptionTexts& texts) {
  std::set<std::string> described;
  for (const sim::OptionText& text : texts.all()) REQUIRE(described.insert(text.option.substr(2)).second);
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_lnames().front();
    INFO(name);
    CHECK(described.count(name) + kOthers.count(name) == 1);
  }
}

TEST_CASE("api: every option of a job and of a plan is described") {
  CLI::App job_app, plan_app;
  sim::JobCommand job;
  sim::JobPlan plan;
  check_described(job_app, sim::declare_job_command(job_app, job));
  check_described(plan_app, sim::declare_plan_words(plan_app, plan));
}

TEST_CASE("api: options by their keys are the words of a command line") {
  const Json options{{"model", "llama3_70b"}, {"gpus", {64, 128}},      {"sequence", false}, {"price", 2.5},
                     {"network", nullptr},    {"ignore_memory", false}, {"tokens", 15e12}};
  const std::vector<std::string> words = sim::command_words(options, sim::job_option_texts());
  CHECK(words == std::vector<std::string>{"--model=llama3_70b", "--gpus=64,128", "--no-sequence", "--price=2.5",
                                          "--tokens=15000000000000"});
}

TEST_CASE("api: an answer in process is that of the functions below it") {
  const Json options{{"model", "resnet50"}, {"gpu", "H100"}, {"gpus", {8, 64}}, {"batch", 128}, {"epochs", 90}};
  sim::JobQuestion question;
  question.job.model.stated = "resnet50";
  question.job.gpu.stated = "H100";
  question.job.batch_per_gpu = 128;
  question.job.epochs = 90;
  question.gpus = {8, 64};
  const sim::JobPrediction predicted = sim::predict_job(question, catalogue(), 1);
  CHECK(sim::answer("job", options, catalogue()).dump() == sim::job_json(predicted, catalogue()).dump());
  CHECK(sim::answer("table", options, catalogue()) == sim::job_table(predicted, catalogue()));
}

TEST_CASE("api: the result of a job has the rate of the job") {
  const Json options{{"model", "bert_large"}, {"gpu", "A100"}, {"gpus", {16}}, {"batch", 16}};
  const Json job = sim::answer("job", options, catalogue());
  const Json result = sim::answer("result", options, catalogue());
  const double rate = job.at("predictions").at(0).at("predicted");
  CHECK(result.at("points").at(0).at("samples_per_s").get<double>() == Approx(rate).epsilon(1e-9));
  const Json layers = sim::answer("layers", options, catalogue());
  double parameters = 0;
  for (const Json& layer : layers) parameters += layer.at("parameters").get<double>();
  CHECK(parameters > 330e6);
  CHECK(parameters < 345e6);
}

TEST_CASE("api: a plan in process has a point for every combination, the fastest first by its objective") {
  const Json plan = sim::answer("plan_job",
                                {{"model", "resnet50"},
                                 {"gpu", {"H100", "A100"}},
                                 {"nodes", {1, 2}},
                                 {"batch", 128},
                                 {"epochs", 90},
                                 {"price", {"H100=2.5/h", "A100=1.5/h"}}},
                                catalogue());
  CHECK(plan.at("points").size() == 4);
}

TEST_CASE("api: a loss in process has the rate of its job") {
  const Json options{
      {"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", {64}}, {"loss", {2.2}}, {"batch_tokens", {"4194304"}}};
  const Json rows = sim::answer("loss", options, catalogue()).at("rows");
  const Json job = sim::answer(
      "job", {{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", {64}}, {"loss", 2.2}, {"global_batch", 512}},
      catalogue());
  CHECK(rows.at(0).at("tokens_per_s").at("value") == job.at("tokens").at(0).at("tokens_per_s"));
  CHECK(rows.at(0).at("tokens").at("value").get<double>() ==
        Approx(job.at("tokens").at(0).at("tokens").get<double>()).epsilon(1e-9));
}

TEST_CASE("api: what is not understood is refused as on the command line") {
  CHECK(refusal("jobs", Json::object()).find("allowed: job, scenario") != std::string::npos);
  CHECK(refusal("job", {{"modle", "resnet50"}}).find("nearest: model") != std::string::npos);
  CHECK(refusal("job", {{"model", "resnet50"}, {"gpu", "H100"}, {"gpus", Json::array({0})}}).find("16384") !=
        std::string::npos);
  CHECK(refusal("job", {{"sequence", 3}}).find("allowed: true or false") != std::string::npos);
  CHECK(refusal("job", {{"model", true}}).find("is no string") != std::string::npos);
  CHECK(refusal("job", {{"model", "resnet50"}}).find("--gpus is missing") != std::string::npos);
}

}  // namespace
}  // namespace lockstep::tests
