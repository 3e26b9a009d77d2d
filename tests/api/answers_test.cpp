// Answers in this process. Options by their keys have the names, answers and errors of the command line.
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

// Options of `app` that are not part of the question.
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

TEST_CASE("api: the length of sequences and the switch of sequence parallelism, under all their names") {
  const auto words = [](const Json& options) { return sim::command_words(options, sim::job_option_texts()); };
  CHECK(words({{"sequence", 4096}}) == std::vector<std::string>{"--sequence=4096"});
  CHECK(words({{"sequence", true}}) == std::vector<std::string>{"--sequence"});
  CHECK(words({{"sequence_parallel", false}}) == std::vector<std::string>{"--no-sequence-parallel"});
  const auto answered = [](const Json& changes) {
    Json options{{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", {8}}, {"tensor", 2}, {"global_batch", 32}};
    options.update(changes);
    return sim::answer("job", options, catalogue()).dump();
  };
  const std::string shorter = answered({{"model", "llama3_8b@4096"}});
  CHECK(answered({{"sequence", 4096}}) == shorter);
  CHECK(answered({{"seq_length", 4096}}) == shorter);
  CHECK(answered({{"sequence", true}, {"seq_length", 4096}}) ==
        answered({{"sequence_parallel", true}, {"sequence", 4096}}));
  CHECK(answered({{"sequence", false}}) == answered({{"sequence_parallel", false}}));
  CHECK(answered({{"sequence", false}}) != answered({{"sequence", true}}));
  CHECK(refusal("job", {{"model", "llama3_8b@2048"}, {"gpu", "H100"}, {"gpus", 8}, {"sequence", 4096}}) ==
        "--seq-length 4096: --model llama3_8b@2048 gives another length; allowed: one of the two");
}

TEST_CASE("api: a price is the same in every way of writing it") {
  const auto usd = [](const Json& price) {
    return sim::answer("job",
                       {{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", 8}, {"tokens", "1B"}, {"price", price}},
                       catalogue())
        .at("tokens")
        .at(0)
        .at("usd")
        .get<double>();
  };
  const double expected = usd(2.5);
  for (const char* price : {"2.5", "2.5/h", "$2.5/h", "2.5 USD/h", " 2.5/h "}) {
    INFO(price);
    CHECK(usd(price) == expected);
  }
  CHECK(
      refusal("job", {{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", 8}, {"tokens", "1B"}, {"price", "2 EUR/h"}}) ==
      "--price: \"2 EUR/h\" is not in USD; allowed: USD, or plan job, which compares in any one currency");
}

// The default global batch is rounded up to a number of sequences that the GPUs divide, so that no GPU is idle.
TEST_CASE("api: more GPUs train the same tokens in less time, whatever divides their number") {
  double gpus_before = 0, time_before = 0;
  for (const int gpus : {64, 80, 88, 96}) {
    INFO(gpus);
    const Json answer =
        sim::answer("job", {{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", gpus}, {"tokens", "15T"}}, catalogue());
    const double time_s = answer.at("tokens").at(0).at("training_s");
    if (gpus_before > 0) {
      CHECK(time_s < time_before);
      CHECK(time_s * gpus == Approx(time_before * gpus_before).epsilon(0.05));
    }
    gpus_before = gpus;
    time_before = time_s;
  }
  const std::string table =
      sim::answer("table", {{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", 88}, {"tokens", "15T"}}, catalogue());
  CHECK(table.find("global_batch 704 (not stated; ") != std::string::npos);
}

TEST_CASE("api: options of the split are marked, except those that say what is trained") {
  std::set<std::string> split;
  for (const Json& option : sim::answer("options", Json::object(), catalogue()))
    if (option.at("split").get<bool>()) split.insert(option.at("key").get<std::string>());
  for (const sim::SplitFieldName& field : sim::split_fields()) {
    if (field.option.empty()) continue;
    INFO(field.key);
    std::string key = field.option.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    CHECK(split.erase(key) == (field.says_what_trains ? 0 : 1));
  }
  CHECK(split.empty());
  const auto options = sim::answer("options", Json::object(), catalogue());
  for (const char* key : {"lora_rank", "frozen_weights", "model", "gpus"})
    for (const Json& option : options)
      if (option.at("key") == key) CHECK_FALSE(option.at("split").get<bool>());
}

TEST_CASE("api: a slow job's samples/s have three digits, and one GPU is called so") {
  const std::string table = sim::answer(
      "table", {{"model", "gpt3_175b"}, {"gpu", "A100"}, {"gpus", 32}, {"tokens", "1B"}, {"ignore_memory", true}},
      catalogue());
  const std::size_t row = table.find("\n  32 ");
  REQUIRE(row != std::string::npos);
  const std::string cells = table.substr(row, table.find('\n', row + 1) - row);
  INFO(cells);
  CHECK(cells.find(" 0 ") == std::string::npos);
  CHECK(cells.find('.') < cells.find('%'));
  const std::string one =
      sim::answer("table", {{"model", "llama3_8b"}, {"gpu", "B200"}, {"gpus", 1}, {"global_batch", 1}}, catalogue());
  CHECK(one.find("1 GPUs") == std::string::npos);
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

TEST_CASE("api: tokens/s and MFU of a plan have the interval of its samples/s") {
  const Json plan =
      sim::answer("plan_job", {{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", {64}}, {"tokens", "1T"}}, catalogue());
  const Json& point = plan.at("points").at(0);
  for (const char* end : {"_low", "_high"}) {
    const double share =
        point.at(std::string("samples_per_s") + end).get<double>() / point.at("samples_per_s").get<double>();
    for (const std::string key : {"tokens_per_s", "mfu"})
      CHECK(point.at(key + end).get<double>() == Approx(share * point.at(key).get<double>()).epsilon(1e-11));
  }
}

TEST_CASE("api: predictions have their batch and their split") {
  const Json searched = sim::answer("job", {{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", {32, 64}}}, catalogue());
  for (const Json& one : searched.at("predictions")) {
    const std::size_t ranking = one.at("gpus") == 32 ? 0 : 1;
    const Json& used = searched.at("splits").at(ranking).at("splits").at(0).at("parallel");
    for (const auto& [key, value] : used.items()) CHECK(one.at("split").at(key) == value);
    CHECK(one.at("split").at("sharding").is_string());
    CHECK(one.at("batch_per_gpu") == one.at("split").at("micro_batch"));
    CHECK(one.at("global_batch") == one.at("split").at("global_batch"));
  }
  const Json whole =
      sim::answer("job", {{"model", "resnet50"}, {"gpu", "H100"}, {"gpus", {8}}, {"batch", 128}}, catalogue());
  CHECK(whole.at("predictions").at(0).at("batch_per_gpu") == 128);
  CHECK(whole.at("predictions").at(0).at("global_batch") == 1024);
  CHECK_FALSE(whole.at("predictions").at(0).contains("split"));
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
  CHECK(refusal("job", {{"model", "resnet50"}, {"gpu", "H100"}, {"gpus", Json::array({0})}}).find("1048576") !=
        std::string::npos);
  CHECK(refusal("job", {{"sequence_parallel", 3}}).find("allowed: true or false") != std::string::npos);
  CHECK(refusal("job", {{"model", true}}).find("is no string") != std::string::npos);
  CHECK(refusal("job", {{"model", "resnet50"}}).find("--gpu, --gpus are missing") != std::string::npos);
}

TEST_CASE("api: a global batch that no split can have is refused, and not replaced") {
  const auto refused = [](int gpus, const char* key, std::int64_t batch) {
    return refusal("job", {{"model", "llama3_8b"}, {"gpu", "H100"}, {"gpus", Json::array({gpus})}, {key, batch}});
  };
  CHECK(refused(64, "global_batch", 300'000'000)
            .find("300000000 sequences an iteration on 64 GPUs; allowed: up to 268435456") != std::string::npos);
  // 2^20 GPUs with 2^12 sequences each.
  CHECK(refused(1 << 20, "batch", 4096)
            .find("4294967296 sequences an iteration on 1048576 GPUs; allowed: up to 268435456") != std::string::npos);
}

}  // namespace
}  // namespace lockstep::tests
