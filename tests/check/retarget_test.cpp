// `calibrate predict`: laws first. A measurement that agrees with the prediction changes nothing; computing is scaled,
// communication is not.
#include "sim/explain/retarget.hpp"

#include <cmath>

#include "sim/explain/predicted_times.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/event_writer.hpp"
#include "tests/calib/kineto_trace.hpp"
#include "tests/catch.hpp"
#include "tests/check/catalogue.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

using calib::StepPart;

sim::JobQuestion job_on(std::vector<int> gpus, std::int64_t global_batch, const std::string& gpu = "H100") {
  sim::JobQuestion question;
  question.job.model.stated = "llama3.2-1b@4096";
  question.job.gpu.stated = gpu;
  question.job.network.stated = "8x NDR";
  question.job.global_batch = global_batch;
  question.job.split.give("micro_batch", 1);
  question.job.split.give("data", gpus.front());
  question.gpus = std::move(gpus);
  return question;
}

sim::RetargetOptions options_of(const sim::JobQuestion& question, const std::vector<std::string>& files) {
  sim::RetargetOptions o;
  o.files = files;
  o.command.question = question;
  return o;
}

sim::JobQuestion retargeted(const sim::RetargetOptions& o) {
  return sim::retargeted_question(o, catalogue(), [](const std::string& option) {
    return option == "--network" || option == "--model" || option == "--gpu";
  });
}

sim::JobQuestion without_data(sim::JobQuestion question) {
  question.job.split = {};
  question.job.split.give("micro_batch", 1);
  return question;
}

double iteration_s(const sim::JobQuestion& question) {
  const sim::JobPrediction predicted = sim::predict_job(question, catalogue(), 1);
  const sim::QuantityPrediction& rate = predicted.rows.front().samples_per_s;
  return rate.task.target.front().samples() / rate.predicted;
}

// The parts that are predicted for 8 GPUs.
calib::PartSeconds predicted_parts(const sim::JobQuestion& question) {
  sim::MeasuredStep step;
  step.question = question;
  step.traced.ranks.emplace_back();
  return sim::predict_step(step, {catalogue()}).parts;
}

// Two ranks of 8, with these parts one after the other in three steps.
std::vector<std::string> traces_of(const TemporaryFolder& folder, const calib::PartSeconds& parts) {
  std::vector<std::string> files;
  for (int rank : {0, 1}) {
    KinetoTrace trace;
    trace.set_rank(rank, 8);
    double step_us = 0;
    for (double seconds : parts) step_us += 1e6 * seconds;
    for (int step = 0; step < 3; ++step) {
      double at_us = step * step_us;
      trace.add_step(step, at_us, step_us);
      for (const auto& [name, part] : {std::pair<const char*, StepPart>{"gemm", StepPart::gemm},
                                       {"flash_fwd", StepPart::attention},
                                       {"elementwise", StepPart::memory}}) {
        trace.add_kernel(name, step * step_us, at_us, 1e6 * part_of(parts, part));
        at_us += 1e6 * part_of(parts, part);
      }
      const double exposed_us = 1e6 * part_of(parts, StepPart::communication);
      trace.add_collective("allreduce", step * step_us, at_us, exposed_us, 1 << 20, 8);
    }
    files.push_back(folder.write("rank" + std::to_string(rank) + ".json", trace.text()));
  }
  return files;
}

}  // namespace

TEST_CASE(
    "traces that agree with the prediction change no other number of GPUs, and slower computing scales it alone") {
  const TemporaryFolder folder;
  const sim::JobQuestion on_8 = job_on({8}, 16), on_64 = without_data(job_on({64}, 128));
  calib::PartSeconds parts = predicted_parts(on_8);
  parts[static_cast<std::size_t>(StepPart::memory)] += part_of(parts, StepPart::host) + part_of(parts, StepPart::idle);
  part_of(parts, StepPart::host) = part_of(parts, StepPart::idle) = 0;

  const sim::JobQuestion same = retargeted(options_of(on_64, traces_of(folder, parts)));
  REQUIRE(same.fitted_step);
  CHECK(same.fitted_step->time_factor == Approx(1).epsilon(1e-3));
  CHECK(same.fitted_step->given.gpus == 8);
  CHECK(same.fitted_step->given.global_batch == 16);
  CHECK(iteration_s(same) == Approx(iteration_s(on_64)).epsilon(1e-3));

  // A slow network of the measured job is not the requested one's.
  calib::PartSeconds slow_network = parts;
  part_of(slow_network, StepPart::communication) += 0.05;
  const sim::JobQuestion of_network = retargeted(options_of(on_64, traces_of(folder, slow_network)));
  CHECK(iteration_s(of_network) == Approx(iteration_s(on_64)).epsilon(1e-3));

  calib::PartSeconds slow = parts;
  for (StepPart part : {StepPart::gemm, StepPart::attention, StepPart::memory}) part_of(slow, part) *= 1.3;
  const sim::JobQuestion slower = retargeted(options_of(on_64, traces_of(folder, slow)));
  CHECK(slower.fitted_step->time_factor == Approx(1.3).epsilon(1e-3));
  const double ratio = iteration_s(slower) / iteration_s(on_64);
  CHECK(ratio > 1.2);
  CHECK(ratio <= 1.301);
}

TEST_CASE("a trace of one type of GPU predicts another by the laws of both, with its factor") {
  const TemporaryFolder folder;
  calib::PartSeconds parts = predicted_parts(job_on({8}, 16));
  for (double& seconds : parts) seconds *= 1.2;
  parts[static_cast<std::size_t>(StepPart::memory)] += part_of(parts, StepPart::host) + part_of(parts, StepPart::idle);
  part_of(parts, StepPart::host) = part_of(parts, StepPart::idle) = 0;
  const sim::JobQuestion on_a100 = without_data(job_on({8}, 16, "A100 SXM4 80GB"));
  const sim::JobQuestion carried = retargeted(options_of(on_a100, traces_of(folder, parts)));
  CHECK(carried.fitted_step->gpu == "h100-sxm");
  CHECK(carried.fitted_step->time_factor == Approx(1.2).epsilon(1e-3));
  const double ratio = iteration_s(carried) / iteration_s(on_a100);
  CHECK(ratio > 1.1);
  CHECK(ratio < 1.201);
}

TEST_CASE("a log predicts as simulate job does with its step time, and what it lacks is named") {
  const TemporaryFolder folder;
  EventWriter events;
  for (int step = 1; step <= 30; ++step) {
    events.add_scalar("world-size", step, 1.7e9 + step, 8);
    events.add_scalar("batch-size", step, 1.7e9 + step, 16);
    events.add_scalar("iteration-time", step, 1.7e9 + step, 1);
  }
  const std::string file = folder.write("events.out.tfevents", events.bytes());
  const sim::JobQuestion on_64 = without_data(job_on({64}, 128));
  sim::JobQuestion by_hand = on_64;
  by_hand.step = {1, 8, 16};
  const sim::JobQuestion by_log = retargeted(options_of(on_64, {file}));
  CHECK(by_log.step.seconds == 1);
  CHECK(by_log.step.gpus == 8);
  CHECK(by_log.step.global_batch == 16);
  sim::JobQuestion megatron = by_hand;
  megatron.job.software = by_log.job.software;
  CHECK(iteration_s(by_log) == Approx(iteration_s(megatron)).epsilon(1e-6));

  // A batch per GPU of the requested job does not replace the batch in the log.
  sim::JobQuestion per_gpu = without_data(job_on({64}, 0));
  per_gpu.job.split = {};
  per_gpu.job.batch_per_gpu = 4;
  CHECK(retargeted(options_of(per_gpu, {file})).step.global_batch == 16);
  CHECK(retargeted(options_of(per_gpu, {file})).job.batch_per_gpu == 4);
  CHECK(retargeted(options_of(without_data(job_on({64}, 0)), {file})).job.global_batch == 16);

  EventWriter nothing;
  for (int step = 1; step <= 30; ++step) nothing.add_scalar("train/loss", step, 1.7e9 + step, 2);
  const std::string bare = folder.write("bare", nothing.bytes());
  CHECK_THAT(error_of([&] { (void)retargeted(options_of(on_64, {bare})); }), Contains("--step-gpus"));
  sim::JobQuestion wrong = on_64;
  wrong.step.gpus = 16;
  CHECK_THAT(error_of([&] { (void)retargeted(options_of(wrong, {file})); }),
             Contains("has gpus 8") && Contains("--step-gpus 16"));
}

TEST_CASE("calibrate predict goes from traces to a table without editing") {
  const TemporaryFolder folder;
  traces_of(folder, {0.3, 0.05, 0.1, 0.05, 0, 0});
  const Outcome outcome =
      run_program(folder.path(""), "calibrate",
                  "predict rank0.json rank1.json --model llama3.2-1b@4096 --gpu H100 --gpus 64,128 --global-batch 256 "
                  "--network \"8x NDR\" --micro-batch 2 --json out.json");
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, Contains("Measured: 500 ms") && Contains("exposed communication 450 ms"));
  // 8 GPUs of the requested 256 samples on 128: an assumption, and listed as one.
  CHECK_THAT(outcome.out, Contains("measured batch 16 (") && Contains("--step-batch gives it"));
  const std::string job = " --model llama3.2-1b@4096 --gpu H100 --gpus 64 --global-batch 256 --network \"8x NDR\" ";
  const Outcome given = run_program(folder.path(""), "calibrate",
                                    "predict rank0.json rank1.json" + job + "--micro-batch 2 --step-batch 16");
  CHECK_THAT(given.out, !Contains("measured batch"));
  const Json json = Json::parse(slurp(folder.path("out.json")));
  CHECK(json.dump().find("predicted_computing_s") != std::string::npos);
  CHECK_THAT(run_program(folder.path(""), "calibrate", "predict rank0.json --step-time 3 --model gpt2 --gpus 8").err,
             Contains("has the time of a step"));
}

}  // namespace lockstep::tests
