// `simulate job --mlperf-target`: the time to MLPerf's target, by the law of its reference runs at the job's batch.
#include "sim/convergence/reference_points.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/measured_critical.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {
namespace {

sim::JobQuestion mlperf_job(const std::string& model, int global_batch) {
  sim::JobQuestion question = small_job();
  question.job.model.stated = model;
  question.job.software.stated = "mlperf";
  question.job.gpu.stated = "H100";
  question.job.precision.reset();
  question.job.batch_per_gpu = 0;
  question.job.global_batch = global_batch;
  question.gpus = {8, 16};
  question.trains_to_mlperf_target = true;
  return question;
}

}  // namespace

TEST_CASE("the time to MLPerf's target is that of the samples of its reference runs at the batch", "[job]") {
  for (const auto& [model, batch] :
       {std::pair("retinanet", 512), std::pair("unet3d", 64), std::pair("deepcam", 512), std::pair("cosmoflow", 256),
        std::pair("ssd300_resnet34", 2048), std::pair("stable_diffusion_2_base", 512)}) {
    INFO(model);
    const sim::JobPrediction predicted = sim::predict_job(mlperf_job(model, batch), catalogue(), 1);
    const double samples = sim::samples_to_target(*catalogue().reference_points->profile_of_model(model), batch).middle;
    for (const sim::JobRow& row : predicted.rows) {
      REQUIRE(row.training);
      const double trained = row.training->predicted * row.samples_per_s.predicted;
      CHECK(trained > samples);  // evaluations
      CHECK(trained < 1.1 * samples);
      CHECK(row.training->low < row.training->predicted);
      CHECK(row.training->predicted < row.training->high);
    }
  }
}

TEST_CASE("a target of MLPerf needs its software, its batch, reference runs, and no other work", "[job]") {
  sim::JobQuestion other = mlperf_job("retinanet", 512);
  other.job.software.stated = "pytorch";
  CHECK(why_refused(other).find("has no target; allowed: with --software mlperf") != std::string::npos);
  CHECK(why_refused(mlperf_job("retinanet", 0)).find("allowed: with --global-batch") != std::string::npos);
  CHECK(why_refused(mlperf_job("vgg16", 512)).find("--mlperf-target: no law of epochs and batch for vgg16") !=
        std::string::npos);
  sim::JobQuestion twice = mlperf_job("retinanet", 512);
  twice.job.epochs = 3;
  CHECK(why_refused(twice).find("the work is given twice") != std::string::npos);
}

TEST_CASE("MLPerf's benchmark of a model has its sequences and its adapters; the refusal's options work", "[job]") {
  sim::JobQuestion job = mlperf_job("llama2_70b", 64);
  job.gpus = {64};
  const std::string remedy = "allowed: --model llama2_70b@8192 --task lora";
  CHECK(why_refused(job).find(remedy) != std::string::npos);
  job.job.model.stated = "llama2_70b@8192";
  CHECK(why_refused(job).find(remedy) != std::string::npos);
  job.job.split.task = sim::kAdapters;
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  const sim::JobRow& row = predicted.rows.front();
  REQUIRE(row.training);
  CHECK(row.training->high > 1.2 * row.training->predicted);
}

TEST_CASE("a critical batch is a number, or a noise scale of a file with its interval", "[job]") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& name, const std::string& text) {
    sim::JobQuestion question;
    sim::set_critical_batch(folder.write(name, text), question);
    return question;
  };
  sim::JobQuestion number;
  sim::set_critical_batch("870k", number);
  CHECK(number.critical_batch_tokens == 870e3);
  CHECK(number.critical_batch_deviation == 0);
  const std::string noise =
      R"({"noise_scale": {"critical_batch": 800, "low": 400, "high": 1600, "tokens_per_sample": 1024}})";
  const sim::JobQuestion log = read("noise.jsonl", "{\"run\": 1}\n" + noise + "\n");
  CHECK(log.critical_batch_tokens == 800 * 1024.0);
  // A factor of 2 to either end of 80 %, with the factor of 3.2 between noise scales and critical batches.
  CHECK(log.critical_batch_deviation == Approx(std::hypot(std::log(2) / 1.28155, std::log(3.2))).epsilon(1e-4));
  CHECK(read("profile.json", R"({"device": {"facts": {"torch": )" + noise + "}}}").critical_batch_tokens == 819200);
  const auto error = [&](const std::string& name, const std::string& text) {
    return error_of([&] { read(name, text); });
  };
  CHECK(error("a.json", R"({"schema": "lockstep/run/1", "noise_scale": {}})").find("is in images") !=
        std::string::npos);
  CHECK(error("b.json", "{}").find("no noise_scale") != std::string::npos);
  CHECK(error("c.json", R"({"noise_scale": {"critical_batch": 8, "low": 4, "high": 9}})")
            .find("no sequences of tokens") != std::string::npos);
  CHECK(error("d.json", R"({"noise_scale": {"critical_batch": null, "low": 4, "high": null, "tokens_per_sample": 8}})")
            .find("no upper bound") != std::string::npos);
}

}  // namespace lockstep::tests
