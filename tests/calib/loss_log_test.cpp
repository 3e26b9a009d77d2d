// Final losses of training logs, of every program, with planted losses and schedules.
#include "calib/import/loss_log.hpp"

#include <fstream>

#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/event_writer.hpp"
#include "tests/calib/training_logs.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

std::string written(const std::string& text, const char* name = "run.log") {
  static const TemporaryFolder folder;
  const std::string path = folder.path(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

const tests::LogExample& example(const std::string& format) {
  for (const tests::LogExample& one : tests::log_examples())
    if (one.format == format) return one;
  throw std::logic_error(format);
}

// nanoGPT's log of 1000 iterations with the loss 2 + 100 / (iteration + 1), a learning rate of one's own in each line.
std::string nanogpt_log(const std::string& evaluations) {
  std::string text = "tokens per iteration will be: 262,144\nnumber of parameters: 123.59M\n";
  for (int i = 0; i <= 1000; ++i)
    text += "iter " + std::to_string(i) + ": loss " + tests::printed("%.6f", 2 + 100.0 / (i + 1)) +
            ", time 135.31ms, mfu 43.40%\n";
  return text + evaluations;
}

}  // namespace

TEST_CASE("loss log: the log of every program that prints a loss gives parameters, tokens, batch and loss") {
  struct Expected {
    std::string format;
    double loss, batch_tokens, tokens;
    LossFacts facts;
  };
  const double batch = 64 * 4096;
  for (const Expected& one : std::vector<Expected>{{"megatron", 10.43863, batch, 100 * batch, {1e9, 0, 0}},
                                                   {"nemo", 11.96, batch, 100 * batch, {1e9, 0, batch}},
                                                   {"torchtitan", 12.2254, batch, 100 * batch, {1e9, 0, 0}},
                                                   {"huggingface", 2.6031, batch, 100 * batch, {1e9, 0, batch}},
                                                   {"nanogpt", 10.9, batch, 100 * batch, {}},
                                                   {"llm.c", 11.007906, batch, 100 * batch, {}},
                                                   {"nanotron", 5.32, batch, 512e3, {1e9, 0, 0}}}) {
    INFO(one.format);
    const LossLog log = read_loss_log(written(tests::log_of(example(one.format), tests::usual_steps(2.5))), one.facts);
    CHECK(log.loss == Approx(one.loss));
    CHECK(log.batch_tokens == Approx(one.batch_tokens));
    CHECK(log.tokens == Approx(one.tokens));
    CHECK(log.parameters > 1e8);
  }
  CHECK(read_loss_log(written(tests::log_of(example("llm.c"), tests::usual_steps(1))), {}).parameters == 124475904);
  CHECK(read_loss_log(written(nanogpt_log("")), {}).parameters == Approx(123.59e6));
}

TEST_CASE("loss log: a late evaluation is the loss; without one, the mean of the last 1 % of training losses") {
  CHECK(read_loss_log(written(nanogpt_log("step 1000: train loss 2.0511, val loss 2.1234\n")), {}).loss == 2.1234);
  const LossLog early = read_loss_log(written(nanogpt_log("step 500: train loss 2.2, val loss 2.3\n")), {});
  double mean = 0;
  for (int i = 991; i <= 1000; ++i) mean += (2 + 100.0 / (i + 1)) / 10;
  CHECK(early.loss == Approx(mean).epsilon(1e-6));
  CHECK(early.loss_source == "mean of the last 10 training losses");
}

TEST_CASE("loss log: a learning rate that has not decayed is said") {
  const auto log_with = [](double last) {
    std::string text = tests::megatron_head();
    for (int i = 1; i <= 100; ++i)
      text += " iteration " + std::to_string(i) + "/ 100 | consumed samples: " + std::to_string(64 * i) +
              " | elapsed time per iteration (ms): 100.0 | learning rate: " +
              tests::printed("%.6E", 1e-3 * (1 - (1 - last) * i / 100)) +
              " | global batch size: 64 | lm loss: 2.5E+00 |\n";
    return read_loss_log(written(text), {1e9, 0, 0}).said;
  };
  CHECK(log_with(0.1).empty());
  REQUIRE(log_with(0.6).size() == 1);
  CHECK(log_with(0.6).front().find("ended at 60 % of its peak") != std::string::npos);
}

TEST_CASE("loss log: Megatron's parameters are the sum over its ranks, if all are in the log") {
  const std::string lines = tests::log_of(example("megatron"), tests::usual_steps(1));
  std::string ranks;
  for (const char* rank : {"(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"})
    ranks += std::string(" > number of parameters on (tensor, pipeline) model parallel rank ") + rank + ": 250000000\n";
  CHECK(read_loss_log(written(ranks + lines), {}).parameters == 1e9);
  const std::string one = ranks.substr(0, ranks.find('\n') + 1);
  CHECK(error_of([&] { read_loss_log(written(one + lines), {}); }).find("does not log parameters; allowed: ") !=
        std::string::npos);
}

TEST_CASE("loss log: the state of HuggingFace's Trainer and event files") {
  const std::string state =
      R"({"log_history": [{"epoch": 0.5, "loss": 3.1, "learning_rate": 1e-3, "step": 500},
          {"epoch": 1.0, "eval_loss": 2.8, "step": 1000, "eval_runtime": 3.0},
          {"epoch": 1.0, "step": 1000, "train_loss": 3.3, "train_runtime": 100.0, "train_steps_per_second": 10.0,
           "train_samples_per_second": 640.0}]})";
  const LossLog log = read_loss_log(written(state, "trainer_state.json"), {1e9, 0, 262144});
  CHECK(log.loss == 2.8);
  CHECK(log.tokens == 1000 * 262144.0);
  tests::EventWriter writer;
  for (int i = 1; i <= 200; ++i) {
    writer.add_scalar("lm loss", i, 1.7e9 + i, 3.0F);
    writer.add_scalar("learning-rate", i, 1.7e9 + i, 1e-3F * (i < 100 ? 1.0F : 0.05F));
  }
  const LossLog events = read_loss_log(written(writer.bytes(), "events.out.tfevents.1"), {1e9, 0, 262144});
  CHECK(events.loss == Approx(3.0));
  CHECK(events.tokens == 200 * 262144.0);
  CHECK(events.said.empty());
}

TEST_CASE("loss log: files without losses or facts are refused with what to add") {
  CHECK(error_of([&] { read_loss_log(written("hello\n"), {}); }).find("no loss as megatron") != std::string::npos);
  const std::string deepspeed = tests::log_of(example("deepspeed"), tests::usual_steps(1));
  CHECK(error_of([&] { read_loss_log(written(deepspeed), {}); }).find("or a CSV of parameters,tokens,loss") !=
        std::string::npos);
  const std::string bare = "iter 10: loss 4.1, time 135.31ms, mfu 43.40%\n";
  CHECK(error_of([&] { read_loss_log(written(bare), {}); }).find("does not log parameters, batch_tokens; allowed: ") !=
        std::string::npos);
}
