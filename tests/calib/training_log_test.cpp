#include "calib/import/training_log.hpp"

#include "tests/base/input_error.hpp"
#include "tests/calib/training_logs.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

std::vector<LoggedStep> steps_of(const std::vector<double>& seconds) {
  std::vector<LoggedStep> steps;
  for (double s : seconds) steps.push_back({static_cast<std::int64_t>(steps.size()) + 1, s, 0});
  return steps;
}

int left_out(const SteadySteps& steady, const std::string& why) {
  for (const LeftOutSteps& group : steady.left_out)
    if (group.why == why) return group.lines;
  return 0;
}

std::string error_of_log(const std::string& text, const Json& facts = Json::object()) {
  return error_of([&] { read_training_log(text, "a.log", "", facts); });
}

const tests::LogExample& example(const std::string& format) {
  for (const tests::LogExample& one : tests::log_examples())
    if (one.format == format) return one;
  throw std::logic_error(format);
}

}  // namespace

TEST_CASE("which steps are steady does not depend on the unit of time, and every line is kept or left out") {
  std::vector<double> seconds = tests::usual_steps(2);
  seconds[40] = 5, seconds[41] = 0.7;
  const SteadySteps one = steady_steps(steps_of(seconds));
  for (double& s : seconds) s *= 1e-6;
  const SteadySteps other = steady_steps(steps_of(seconds));
  CHECK(other.seconds.size() == one.seconds.size());
  CHECK(other.median_s == Approx(1e-6 * one.median_s));
  std::size_t lines = one.seconds.size();
  for (const LeftOutSteps& group : one.left_out) lines += static_cast<std::size_t>(group.lines);
  CHECK(lines == seconds.size());
  CHECK(left_out(one, "warm-up") == 1);
  CHECK(left_out(one, "slow") == 1);
  CHECK(left_out(one, "fast") == 1);
  CHECK(one.median_s == Approx(2));
}

TEST_CASE("times that all differ by scatter are all steady, and one alone is") {
  CHECK(steady_steps(steps_of({3})).median_s == 3);
  const std::vector<double> seconds{9, 1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.0, 1.04};
  CHECK(steady_steps(steps_of(seconds)).seconds.size() == 9);
}

TEST_CASE("each run of a training that was started again has a warm-up of its own") {
  std::vector<LoggedStep> steps = steps_of(tests::usual_steps(1, 20));
  for (const LoggedStep& step : steps_of(tests::usual_steps(1, 20)))
    steps.push_back({step.number + 10, step.seconds, 0});
  const SteadySteps steady = steady_steps(steps);
  CHECK(steady.restarts == 1);
  CHECK(left_out(steady, "warm-up") == 2);
  CHECK(steady.seconds.size() == 38);
}

TEST_CASE("a step beside a checkpoint is left out for it if it is slow, and kept if it is not") {
  std::vector<LoggedStep> steps = steps_of(tests::usual_steps(1, 30));
  steps[10].interruption = steps[20].interruption = "checkpoint";
  steps[20].seconds = 4;
  const SteadySteps steady = steady_steps(steps);
  CHECK(left_out(steady, "checkpoint") == 1);
  CHECK(steady.seconds.size() == 28);
  CHECK(steady.mean_of_all_s > 1.09);
}

TEST_CASE("a slowdown that lasts until the end is the state that is compared, one that ends is left out") {
  std::vector<double> seconds = tests::usual_steps(7.2, 100);
  for (std::size_t i = 52; i < 100; ++i) seconds[i] *= 2;
  seconds[70] = 7.2;  // one step of 48 is as fast as before
  std::vector<LoggedStep> steps = steps_of(seconds);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].line = static_cast<int>(i) + 1;
  const SteadySteps lasting = steady_steps(steps);
  CHECK(lasting.slower_since_line == 53);
  CHECK(lasting.median_s == Approx(14.4).epsilon(0.01));
  CHECK(left_out(lasting, "before line 53") == 51);  // and one of warm-up
  CHECK(left_out(lasting, "fast") == 1);
  for (std::size_t i = 80; i < 100; ++i) steps[i].seconds /= 2;
  const SteadySteps ended = steady_steps(steps);
  CHECK(ended.slower_since_line == 0);
  CHECK(ended.median_s == Approx(7.2).epsilon(0.01));
  CHECK(left_out(ended, "slow") == 27);
}

TEST_CASE("the log of every program gives the time of a steady step, whatever launchers print before its lines") {
  CHECK(tests::log_examples().size() == training_formats().size());
  for (const tests::LogExample& one : tests::log_examples()) {
    INFO(one.format);
    const std::string text = tests::log_of(one, tests::usual_steps(2.5));
    const TrainingLog log = read_training_log(text, "a.log", "", one.facts);
    CHECK(log.format == one.format);
    REQUIRE(log.step_seconds().has_value());
    CHECK(*log.step_seconds() == Approx(2.5).epsilon(0.005));
    CHECK(log.job["gpus"] == 16);
    CHECK(log.job["global_batch"] == 64);
    CHECK(left_out(log.steady, "warm-up") == 1);
    std::string labelled;
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
      end = text.find('\n', at);
      labelled += "0: " + text.substr(at, end - at) + "\r\n";
    }
    CHECK(read_training_log(labelled, "a.log", "", one.facts).step_seconds() == log.step_seconds());
  }
}

TEST_CASE("Megatron-LM's list of arguments, torchtitan's mesh and the table of llm.c tell the job") {
  const Json megatron = read_training_log(log_of(example("megatron"), {3, 2, 2}), "a.log").job;
  CHECK(megatron["tp"] == 2);
  CHECK(megatron["pp"] == 2);
  CHECK(megatron["layers"] == 32);
  CHECK(megatron["sharding"] == "zero1");
  CHECK(megatron["precision"] == "bf16");
  CHECK(megatron["sequence_parallel"] == true);
  CHECK_FALSE(megatron.contains("virtual_stages"));
  const Json titan = read_training_log(log_of(example("torchtitan"), {3, 2, 2}), "a.log").job;
  CHECK(titan["sharding"] == "zero3");
  CHECK(titan["recompute"] == "alternate-matrices");
  CHECK(titan["microbatch"] == 4);
  CHECK(titan["gpu"] == "NVIDIA H100 80GB HBM3");
  const std::string old_mesh = "INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]\n";
  const Json older = read_training_log(old_mesh + example("torchtitan").line(1, 2), "a.log").job;
  CHECK(older["gpus"] == 8);
  CHECK(older["tp"] == 2);
  CHECK(read_training_log(log_of(example("llm.c"), {3, 2, 2}), "a.log").job["params"] == 124475904);
  CHECK(read_training_log(log_of(example("llm.c"), {3, 2, 2}), "a.log").job["gpu"] == "NVIDIA A100-SXM4-80GB");
}

TEST_CASE("DeepSpeed's breakdown is a time, and its rate counts where both are logged") {
  const std::string parts =
      "[INFO] [Rank 0] time (ms) | fwd: 500.00 | bwd: 1000.00 | bwd_inner: 900.00 | bwd_allreduce: 100.00 | step: "
      "500.00\n";
  const TrainingLog log = read_training_log(parts + parts + parts, "a.log");
  CHECK(log.steady.median_s == Approx(2));
  CHECK(log.parts.size() == 4);
  const std::string rate = example("deepspeed").line(1, 4);
  CHECK(read_training_log(parts + rate, "a.log").unit == StepUnit::sample);
}

TEST_CASE("the Trainer's state has the mean of the whole training, which is said, and no time without one") {
  const std::string state =
      R"({"log_history": [{"step": 10, "loss": 2.0}, {"step": 20, "train_runtime": 50.0, "train_samples_per_second": 12.8,
          "train_steps_per_second": 0.4}]})";
  const TrainingLog log = read_training_log(state, "trainer_state.json");
  CHECK(log.steady.median_s == Approx(2.5));
  CHECK(log.job["global_batch"] == 32);
  CHECK(log.said.size() == 1);
  CHECK_THAT(error_of_log(R"({"log_history": [{"step": 10, "loss": 2.0}]})"), Contains("/log_history: no entry has"));
}

TEST_CASE("evaluations of torchtitan are no steps, and steps before the last change of the batch are none of it") {
  const std::string titan = example("torchtitan").line(1, 2);
  std::string evaluation = titan;
  evaluation.replace(evaluation.find("step:"), 5, "validate step:");
  CHECK(read_training_log(titan + evaluation + titan, "a.log").steps.size() == 2);
  std::string small = example("megatron").line(1, 1);
  small.replace(small.find("size:    64"), 11, "size:    32");
  const TrainingLog ramp = read_training_log(small + example("megatron").line(2, 2), "a.log");
  CHECK(ramp.steps.size() == 1);
  CHECK(ramp.job["global_batch"] == 64);
  CHECK(ramp.said.size() == 1);
}

TEST_CASE("a log without times, of two programs, or that contradicts a given fact is refused") {
  CHECK_THAT(error_of_log("loss 3.1\n"), Contains("a.log: no time of a training step; allowed: logs of megatron"));
  CHECK_THAT(error_of_log(example("megatron").line(1, 1) + example("nanogpt").line(1, 1)),
             Contains("has steps of megatron and of nanogpt"));
  CHECK_THAT(error_of_log(log_of(example("megatron"), {1, 1}), {{"gpus", 8}}),
             Contains("has gpus 16, and gpus=8 is given"));
  CHECK_THAT(error_of([] { read_training_log("", "a.log", "word"); }), Contains("--format word: unknown"));
}

TEST_CASE("a record names what its log lacks, and its model replaces the shape") {
  const std::string text = log_of(example("megatron"), tests::usual_steps(2));
  CHECK(error_of([&] { training_record(read_training_log(text, "a.log"), "us"); }) ==
        "a.log: megatron does not log gpu here; allowed: --fact gpu=...");
  const Json record =
      training_record(read_training_log(text, "a.log", "", {{"gpu", "H100"}, {"model", "llama3-8b"}}), "us");
  CHECK(record["metric"] == "iteration_s");
  CHECK(record["value"].get<double>() == Approx(2));
  CHECK_FALSE(record.contains("layers"));
  CHECK_THAT(record["notes"].get<std::string>(), Contains("1 warm-up"));
}
