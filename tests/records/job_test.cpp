// A job in words: laws first, then what a measured rate and the facts left open do, then what is refused.
#include "sim/records/job.hpp"

#include "engine/base/json.hpp"
#include "sim/records/job_scenario.hpp"
#include "sim/report/result.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

sim::Job small_job() {
  sim::Job job;
  job.model = "ResNet-50";
  job.gpu = "V100";
  job.gpus = {1, 8, 64};
  job.batch_per_gpu = 64;
  return job;
}

// Images/s of each number of GPUs; the other quantities lie between them.
std::vector<double> rates(const sim::Job& job) {
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  const std::size_t quantities = job.epochs > 0 ? 3 : 2;
  std::vector<double> rates;
  for (std::size_t i = 0; i < predicted.predictions.size(); i += quantities)
    rates.push_back(predicted.predictions[i].predicted);
  return rates;
}

std::string why_refused(const sim::Job& job) {
  try {
    sim::predict_job(job, catalogue(), 1);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("more GPUs train faster, but not by more than their number", "[job]") {
  const std::vector<double> of = rates(small_job());
  REQUIRE(of.size() == 3);
  CHECK(of[0] < of[1]);
  CHECK(of[1] <= 8 * of[0]);
  CHECK(of[1] < of[2]);
  CHECK(of[2] <= 8 * of[1]);
}

TEST_CASE("a slower network between the nodes slows only jobs of several nodes", "[job]") {
  sim::Job fast = small_job(), slow = small_job();
  fast.network = "100 GbE";
  slow.network = "10 GbE";
  const std::vector<double> of_fast = rates(fast), of_slow = rates(slow);
  CHECK(of_fast[1] == of_slow[1]);
  CHECK(of_fast[2] > of_slow[2]);
}

TEST_CASE("a measured rate is that of one GPU, and narrows the bounds", "[job]") {
  sim::Job measured = small_job();
  measured.rate_samples_per_s = 700;
  const sim::JobPrediction with = sim::predict_job(measured, catalogue(), 1);
  const sim::JobPrediction without = sim::predict_job(small_job(), catalogue(), 1);
  CHECK(with.predictions[0].predicted == Approx(700).epsilon(1e-6));
  const auto width = [](const sim::Prediction& p) { return (p.high - p.low) / p.predicted; };
  CHECK(width(with.predictions[0]) < width(without.predictions[0]));
  // Efficiency is the rate per GPU over that of one.
  for (std::size_t i = 0; i < with.predictions.size(); i += 2) {
    const double gpus = with.predictions[i].record->gpus;
    CHECK(with.predictions[i + 1].predicted == Approx(with.predictions[i].predicted / gpus / 700).epsilon(1e-6));
  }
}

TEST_CASE("epochs take their samples over the rate", "[job]") {
  sim::Job job = small_job();
  job.epochs = 90;
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  REQUIRE(predicted.predictions.size() == 9);
  for (std::size_t i = 0; i < 9; i += 3)  // 90 epochs of ImageNet's 1,281,167 images
    CHECK(predicted.predictions[i + 2].predicted * predicted.predictions[i].predicted ==
          Approx(90.0 * 1281167).epsilon(1e-6));
}

TEST_CASE("the table has a row per number of GPUs and says what was left open", "[job]") {
  sim::Job job = small_job();
  job.epochs = 90;
  const std::string text = sim::job_table(job, sim::predict_job(job, catalogue(), 1));
  CHECK(text.find("ResNet-50") == 0);
  CHECK(text.find("90 epochs") != std::string::npos);
  CHECK(text.find("\n  64         64") != std::string::npos);
  CHECK(text.find("network 4x InfiniBand EDR (not stated; usual for Tesla V100 SXM2)") != std::string::npos);
  job.network = "100 GbE";
  const std::string stated = sim::job_table(job, sim::predict_job(job, catalogue(), 1));
  CHECK(stated.find("network 4x") == std::string::npos);
}

TEST_CASE("what has no place in the catalogue is refused by name", "[job]") {
  sim::Job job = small_job();
  job.gpu = "H900";
  CHECK(why_refused(job).find("gpu \"H900\" is not in the catalogue; allowed: ") != std::string::npos);
  job = small_job();
  job.model = "NoNet";
  CHECK(why_refused(job).find("model \"NoNet\" is not in the catalogue") != std::string::npos);
  job = small_job();
  job.network = "a wet string";
  CHECK(why_refused(job).find("network \"a wet string\" is not in the catalogue") != std::string::npos);
  job = small_job();
  job.precision = "tf32";
  CHECK(why_refused(job).find("precision tf32: Tesla V100 SXM2 does not have it") != std::string::npos);
  job = small_job();
  job.batch_per_gpu = 0;
  job.rate_samples_per_s = 700;
  CHECK(why_refused(job).find("allowed: with --batch") != std::string::npos);
  job = small_job();
  job.gpus_per_node = 6;
  CHECK(why_refused(job) == "--gpus: 8 GPUs do not fill whole nodes; allowed: up to 6, or a multiple of it");
}

TEST_CASE("servers have eight GPUs unless the job says otherwise", "[job]") {
  sim::Job job = small_job();
  job.gpus = {4, 16};
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  CHECK(predicted.predictions.front().mapped.target.front().scenario.cluster.gpus_per_node == 4);
  CHECK(predicted.predictions.back().mapped.target.front().scenario.cluster.gpus_per_node == 8);
  CHECK(predicted.predictions.back().mapped.target.front().scenario.cluster.nodes == 2);
  CHECK_THAT(sim::job_table(job, predicted),
             Contains("gpus_per_node 8 (not stated; at most 8, as is usual of servers)"));
  job.gpus_per_node = 16;
  const sim::JobPrediction larger = sim::predict_job(job, catalogue(), 1);
  CHECK(larger.predictions.back().mapped.target.front().scenario.cluster.nodes == 1);
  job = small_job();
  job.gpus = {12};
  CHECK(why_refused(job) == "--gpus: 12 GPUs do not fill whole nodes; allowed: up to 8, or a multiple of it");
}

// The file as simulate reads it.
sim::Report simulated(const Json& file) {
  const TemporaryFolder folder;
  return sim::predict(sim::load_scenario(folder.write("job.json", file.dump()), {}), 1, {});
}

TEST_CASE("a job's scenario gives what the job gives, and its values say where they are from", "[job]") {
  sim::Job images = small_job();
  images.gpus = {64};
  images.epochs = 90;
  sim::Job measured = images;
  measured.rate_samples_per_s = 700;
  sim::Job pcie = images;
  pcie.model = "VGG-16";
  pcie.gpu = "P100";
  pcie.precision = "fp32";
  pcie.gpus_per_node = 4;
  pcie.intra_node_link = "PCIe 3";
  pcie.network = "10 GbE";
  sim::Job tokens = images;
  tokens.model = "BERT-large";
  tokens.gpu = "H100";
  tokens.batch_per_gpu = 32;
  tokens.epochs = 0;
  sim::Job sharded = tokens;
  sharded.model = "GPT-2 XL";
  sharded.algorithm = "FSDP";
  sim::Job one_node = images;
  one_node.gpus = {4};
  for (const sim::Job& job : {images, measured, pcie, tokens, sharded, one_node}) {
    INFO(job.model << " on " << job.gpus[0] << " " << job.gpu << " " << job.algorithm << job.rate_samples_per_s);
    const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
    const Json file = sim::job_scenario(job, predicted, catalogue());
    const sim::Report report = simulated(file);
    REQUIRE(report.points.size() == 1);
    const sim::PointResult& point = report.points[0].point;
    CHECK(point.samples_per_s() == Approx(predicted.predictions[0].predicted).epsilon(1e-6));
    CHECK(report.points[0].scaling_efficiency == Approx(predicted.predictions[1].predicted).epsilon(1e-6));
    if (job.epochs > 0)
      CHECK(report.points[0].accuracy.seconds == Approx(predicted.predictions[2].predicted).epsilon(1e-3));
    // Parts of an iteration are off independently: at most as far as the job, at least as three alike ones are.
    const double half =
        (predicted.predictions[0].high - predicted.predictions[0].low) / (2 * predicted.predictions[0].predicted);
    CHECK(point.relative_high - 1 <= 1.2 * half);  // slower links bring to light what was hidden
    CHECK(point.relative_high - 1 >= half / std::sqrt(3));
  }
  const Json file = sim::job_scenario(measured, sim::predict_job(measured, catalogue(), 1), catalogue());
  CHECK(file.at("compute").at("rates")[0].at("rate").at("kind") == "measured");
  CHECK(file.at("cluster").at("gpu").at("peak").at("fp16").at("kind") == "published");
  CHECK(file.at("cluster").at("intra_node").at("gpu_link").at("bandwidth").at("kind") == "fitted");
}

TEST_CASE("a job without a scenario is refused", "[job]") {
  const auto refusal = [](const sim::Job& job) {
    return error_of([&] { sim::job_scenario(job, sim::predict_job(job, catalogue(), 1), catalogue()); });
  };
  sim::Job alone = small_job();
  alone.gpus = {1};
  CHECK(refusal(alone) == "--scenario: a scenario is of a cluster; allowed: with --gpus of two or more");
  sim::Job servers = small_job();
  servers.algorithm = "parameter server";
  CHECK(refusal(servers) ==
        "--scenario: a job of the algorithm \"parameter-server\" is not written; allowed: jobs with all-reduces, or "
        "sharded");
}

TEST_CASE("names are listed with what they are", "[job]") {
  const std::string names = sim::names_text(catalogue());
  CHECK(names.find("models: alexnet_") == 0);
  CHECK(names.find(", h100-sxm,") != std::string::npos);
}

}  // namespace
}  // namespace lockstep::tests
