// Final losses of training logs, of every program, with planted losses and schedules.
#include "calib/import/loss_log.hpp"

#include <cmath>
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

double falling(double step) {
  return 2 + 100 / (step + 1);
}

// The mean of falling() over the steps of a range.
double mean_of(int from, int to) {
  double sum = 0;
  for (int i = from; i <= to; ++i) sum += falling(i) / (to - from + 1);
  return sum;
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) throw std::logic_error(part);
  return text.replace(at, part.size(), by);
}

// How a program prints losses: the example's constant loss, the number's format, and the line of an evaluation.
struct Printed {
  std::string format, constant, number;
  std::string (*evaluation)(int step, double loss);
};

const std::vector<Printed>& programs() {
  static const std::vector<Printed> all{
      {"megatron", "lm loss: 1.043863E+01", "lm loss: %.6E",
       [](int step, double loss) {
         return " validation loss at iteration " + std::to_string(step) +
                " | lm loss value: " + tests::printed("%.6E", loss) + " | lm loss PPL: 8.1E+00 |\n";
       }},
      {"nemo", "reduced_train_loss: 11.96", "reduced_train_loss: %.6f", nullptr},
      {"torchtitan", "loss: 12.2254", "loss: %.6f",
       [](int step, double loss) {
         return "[rank0]:[titan] 2026-06-04 08:51:48,074 - root - INFO - validate step: " + std::to_string(step) +
                "  loss: " + tests::printed("%.4f", loss) + "  memory: 27.34GiB(28.78%)  tps: 900\n";
       }},
      {"nanogpt", "loss 10.9,", "loss %.6f,",
       [](int step, double loss) {
         return "step " + std::to_string(step) + ": train loss 2.0, val loss " + tests::printed("%.4f", loss) + "\n";
       }},
      {"llm.c", "loss 11.007906", "loss %.6f",
       [](int, double loss) { return "val loss " + tests::printed("%.6f", loss) + "\n"; }},
      {"nanotron", "lm_loss: 5.32", "lm_loss: %.6f", nullptr}};
  return all;
}

constexpr double kBatch = 64 * 4096;

LossFacts facts_of(const std::string& format) {
  return {format == "nanogpt" || format == "llm.c" ? 0 : 1e9, 0, format == "nemo" ? kBatch : 0};
}

// 200 steps with the falling loss, the last `diverged` of them "nan", and an evaluation after each given step.
std::string falling_log(const Printed& program, const std::vector<std::pair<int, double>>& evaluations = {},
                        int diverged = 0) {
  const tests::LogExample& layout = example(program.format);
  std::string text = layout.head;
  for (int i = 1; i <= 200; ++i) {
    const std::string loss = i > 200 - diverged
                                 ? replaced(program.number, program.number.substr(program.number.find('%'), 4), "nan")
                                 : tests::printed(program.number.c_str(), falling(i));
    text += replaced(layout.line(i, 2.5 * (1 + 0.002 * (i % 5 - 2))), program.constant, loss);
    for (const auto& [step, value] : evaluations)
      if (step == i) text += program.evaluation(step, value);
  }
  return text;
}

// What HuggingFace's Trainer prints: a bar after each of 200 steps of two epochs, the falling loss at every second, and
// evaluations with bars of their own, which have more steps than the training.
std::string huggingface_log(const std::vector<std::pair<int, double>>& evaluations, bool has_bars = true) {
  std::string text = "Map: 100%|##########| 10000/10000 [00:09<00:00, 1041.1 examples/s]\n";
  const auto bar = [&](const std::string& done) {
    if (has_bars) text += "\r 5%|#         | " + done + " [00:10<10:00,  2.51s/it]";
  };
  for (int i = 1; i <= 200; ++i) {
    bar(std::to_string(i) + "/200");
    const std::string epoch = ", 'epoch': " + tests::printed("%.2f", i / 100.0) + "}\n";
    if (i % 2 == 0)
      text += "\r{'loss': " + tests::printed("%.6f", falling(i)) + ", 'grad_norm': 1.8, 'learning_rate': 5e-07" + epoch;
    for (const auto& [step, loss] : evaluations) {
      if (step != i) continue;
      for (int k = 1; k <= 400; ++k) bar(std::to_string(k) + "/400");
      text += "\r{'eval_loss': " + tests::printed("%.4f", loss) + ", 'eval_runtime': 9.5" + epoch;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("loss log: the log of every program gives parameters, tokens, batch and the losses of its end") {
  for (const Printed& one : programs()) {
    INFO(one.format);
    const double tokens = one.format == "nanotron" ? 512e3 : 200 * kBatch;
    const LossLog log = read_loss_log(written(falling_log(one)), facts_of(one.format));
    CHECK(log.loss == Approx(mean_of(191, 200)).epsilon(1e-6));
    CHECK(log.loss_source == "mean of the last 10 training losses");
    CHECK(log.batch_tokens == Approx(kBatch));
    CHECK(log.tokens == Approx(tokens));
    CHECK(log.parameters > 1e8);
    if (one.evaluation == nullptr) continue;
    const LossLog late = read_loss_log(written(falling_log(one, {{100, 2.9}, {196, 2.7}})), facts_of(one.format));
    CHECK(late.loss == Approx(2.7));
    CHECK(late.loss_source == "last evaluation, at step 196 of 200");
    CHECK(read_loss_log(written(falling_log(one, {{100, 2.9}})), facts_of(one.format)).loss ==
          Approx(log.loss).epsilon(1e-6));
  }
  CHECK(read_loss_log(written(tests::log_of(example("llm.c"), tests::usual_steps(1))), {}).parameters == 124475904);
  CHECK(read_loss_log(written(nanogpt_log("")), {}).parameters == Approx(123.59e6));
}

TEST_CASE("loss log: NeMo repeats an evaluation on later lines, which is none of their steps") {
  const auto log_with = [](int begin) {
    std::string text;
    for (int i = 1; i <= 200; ++i) {
      const std::string loss = tests::printed("reduced_train_loss: %.6f", falling(i));
      const std::string evaluation = i >= begin ? " | val_loss: 2.75" : i >= 50 ? " | val_loss: 2.95" : "";
      text += replaced(example("nemo").line(i, 2.5), "reduced_train_loss: 11.96", loss + evaluation);
    }
    return read_loss_log(written(text), {1e9, 0, kBatch});
  };
  CHECK(log_with(100).loss == Approx(mean_of(191, 200)).epsilon(1e-6));
  CHECK(log_with(194).loss == 2.75);
  CHECK(log_with(194).loss_source == "last evaluation, at step 194 of 200");
}

TEST_CASE("loss log: HuggingFace's evaluations have the step of the training's progress bar, or the epoch's") {
  const LossFacts facts{1e9, 0, kBatch};
  const LossLog late = read_loss_log(written(huggingface_log({{100, 2.9}, {196, 2.7}})), facts);
  CHECK(late.loss == 2.7);
  CHECK(late.loss_source == "last evaluation, at step 196 of 200");
  CHECK(late.tokens == 200 * kBatch);
  const LossLog early = read_loss_log(written(huggingface_log({{100, 2.9}})), facts);
  CHECK(early.loss == Approx((falling(192) + falling(194) + falling(196) + falling(198) + falling(200)) / 5));
  CHECK_THAT(early.said.front(), Contains("5 training losses in the last 5 % of the steps"));

  const LossFacts with_tokens{1e9, 1e9, 0};
  CHECK(read_loss_log(written(huggingface_log({{196, 2.7}}, false)), with_tokens).loss == 2.7);
  CHECK(read_loss_log(written(huggingface_log({{100, 2.7}}, false)), with_tokens).loss == Approx(early.loss));
  const std::string head =
      "  Num examples = 6,400\n  Total train batch size (w. parallel, distributed & accumulation) = 64\n";
  const LossLog counted = read_loss_log(written(head + huggingface_log({{196, 2.7}}, false)), facts);
  CHECK(counted.tokens == 200 * kBatch);
  CHECK(counted.loss_source == "last evaluation, at step 196 of 200");
}

TEST_CASE("loss log: few losses are not averaged over the whole run") {
  const auto log_every = [](int steps) {
    std::string text = "tokens per iteration will be: 262,144\nnumber of parameters: 123.59M\n";
    for (int i = steps; i <= 1000; i += steps)
      text += "iter " + std::to_string(i) + ": loss " + tests::printed("%.6f", falling(i)) +
              ", time 135.31ms, mfu 43.40%\n";
    return read_loss_log(written(text), {});
  };
  CHECK(log_every(20).loss == Approx((falling(960) + falling(980) + falling(1000)) / 3));  // 951 to 1000 are the end
  CHECK_THAT(log_every(20).said.front(), Contains("3 training losses in the last 5 % of the steps"));
  CHECK(log_every(100).loss == Approx(falling(1000)));
  CHECK(log_every(100).loss_source == "last training loss, at step 1000 of 1000");
  CHECK_THAT(log_every(100).said.front(), Contains("one training loss in the last 5 % of the steps"));
  CHECK(log_every(1).said.size() == 1);  // no learning rate
}

TEST_CASE("loss log: a training that diverged is refused, with what to do") {
  const auto refusal = [](const std::string& text, const LossFacts& facts, const char* name = "run.log") {
    return error_of([&] { read_loss_log(written(text, name), facts); });
  };
  const std::string says = "at step 200 of 200, is no number between 0 and 20 nats: the training diverged; allowed: ";
  for (const Printed& one : programs()) {
    INFO(one.format);
    CHECK_THAT(refusal(falling_log(one, {}, 60), facts_of(one.format)), Contains("its last training loss, " + says));
  }
  CHECK_THAT(refusal(replaced(falling_log(programs()[3], {{200, 2.7}}), "val loss 2.7000", "val loss nan"), {}),
             Contains("its last evaluation, " + says));
  // Megatron-LM prints no loss of iterations without a finite one.
  const std::string silent =
      replaced(example("megatron").line(200, 2.5), "lm loss: 1.043863E+01 |", "number of nan iterations: 100 |");
  const std::string text = falling_log(programs()[0]);
  CHECK_THAT(refusal(text.substr(0, text.find(" [2026-05-01 07:19:37] iteration      101")) + silent, {1e9, 0, 0}),
             Contains("its last training loss, " + says));
  CHECK_THAT(refusal(R"({"log_history": [{"epoch": 0.5, "loss": 3.1, "step": 100},
                         {"epoch": 1.0, "loss": NaN, "step": 200}]})",
                     {1e9, 0, kBatch}, "trainer_state.json"),
             Contains("its last training loss, " + says));
  tests::EventWriter writer;
  for (int i = 1; i <= 200; ++i) writer.add_scalar("lm loss", i, 1.7e9 + i, i > 100 ? NAN : 3.0F);
  CHECK_THAT(refusal(writer.bytes(), {1e9, 0, kBatch}, "events.out.tfevents.2"),
             Contains("its last training loss, " + says));
  // One such loss before the end is left out.
  CHECK(read_loss_log(
            written(replaced(falling_log(programs()[3]), tests::printed("loss %.6f", falling(195)), "loss nan")), {})
            .loss == Approx((10 * mean_of(191, 200) - falling(195) + 0) / 9).epsilon(0.002));
}

TEST_CASE("loss log: a late evaluation is the loss; without one, the mean of the last 1 % of training losses") {
  CHECK(read_loss_log(written(nanogpt_log("step 1000: train loss 2.0511, val loss 2.1234\n")), {}).loss == 2.1234);
  const LossLog early = read_loss_log(written(nanogpt_log("step 500: train loss 2.2, val loss 2.3\n")), {});
  double mean = 0;
  for (int i = 991; i <= 1000; ++i) mean += (2 + 100.0 / (i + 1)) / 10;
  CHECK(early.loss == Approx(mean).epsilon(1e-6));
  CHECK(early.loss_source == "mean of the last 10 training losses");
}

TEST_CASE("loss log: a learning rate that has not decayed is said, and a peak that the log lacks") {
  const auto log_with = [](double last, int first = 1) {
    std::string text = tests::megatron_head();
    for (int i = first; i <= 1000; ++i)
      text += " iteration " + std::to_string(i) + "/ 1000 | consumed samples: " + std::to_string(64 * i) +
              " | elapsed time per iteration (ms): 100.0 | learning rate: " +
              tests::printed("%.6E", 1e-3 * (1 - (1 - last) * i / 1000)) +
              " | global batch size: 64 | lm loss: 2.5E+00 |\n";
    return read_loss_log(written(text), {1e9, 0, 0}).said;
  };
  CHECK(log_with(0.1).empty());
  REQUIRE(log_with(0.6).size() == 1);
  CHECK_THAT(log_with(0.6).front(), Contains("ended at 60 % of its peak"));
  // From step 800 the rate falls from 0.28 to 0.1 of its peak.
  REQUIRE(log_with(0.1, 800).size() == 1);
  CHECK_THAT(log_with(0.1, 800).front(),
             Contains("begins at step 800 of 1000, so the peak of the learning rate is not in the log"));
  CHECK(log_with(0.01, 800).empty());  // decayed by the part that is logged
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
  // The total has two decimals. It counts only if the sum over ranks is not complete, or may count an embedding twice.
  const std::string total = "Total number of parameters in billions: 0.79\n";
  const double embedding = 50304.0 * 4096;
  const auto parameters = [&](const std::string& text) { return read_loss_log(written(text), {}).parameters; };
  const auto with_argument = [&](const char* value) {
    return ranks + total +
           replaced(lines, tests::argument_of("use_distributed_optimizer", "True"),
                    tests::argument_of("untie_embeddings_and_output_weights", value) +
                        tests::argument_of("use_distributed_optimizer", "True"));
  };
  CHECK(parameters(with_argument("False")) == 1e9 - embedding);
  CHECK(parameters(with_argument("True")) == 1e9);
  CHECK(parameters(ranks + total + lines) == Approx(0.79e9));
  CHECK(parameters(one + total + lines) == Approx(0.79e9));
  const std::string without_vocabulary =
      replaced(with_argument("False"), tests::argument_of("padded_vocab_size", "50304"),
               " > padded vocab (size: 50257) with 47 "
               "dummy tokens (new size: 50304)\n");
  CHECK(parameters(without_vocabulary) == 1e9 - embedding);
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
  CHECK(error_of([&] {
          read_loss_log(written("hello\n"), {});
        }).find("no loss as megatron, nemo, torchtitan, huggingface, nanogpt, llm.c, nanotron print it") !=
        std::string::npos);
  const std::string deepspeed = tests::log_of(example("deepspeed"), tests::usual_steps(1));
  CHECK_THAT(error_of([&] { read_loss_log(written(deepspeed), {}); }),
             Contains("or a CSV of parameters,tokens,loss. DeepSpeed prints no loss: give its event file"));
  const std::string bare = "iter 10: loss 4.1, time 135.31ms, mfu 43.40%\n";
  CHECK(error_of([&] { read_loss_log(written(bare), {}); }).find("does not log parameters, batch_tokens; allowed: ") !=
        std::string::npos);
}
