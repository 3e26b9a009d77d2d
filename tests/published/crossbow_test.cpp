// Crossbow (Koliousis et al. 2019, arXiv:1901.02244): every scenario file runs at small scale, and predictions are
// compared with the paper's throughput.
#include <filesystem>

#include "sim/report/result.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

const std::string kFolder = LOCKSTEP_SOURCE_DIR "/scenarios/published/crossbow/";

sim::Report predict_file(const std::string& name, const std::vector<int>& gpus = {}, int iterations = 0) {
  std::vector<std::pair<std::string, std::string>> settings;
  if (iterations > 0) settings.emplace_back("/iterations", std::to_string(iterations));
  return sim::predict(sim::load_scenario(kFolder + name + ".json", settings, gpus), 2, {});
}

const sim::PointResult& point_of(const sim::Report& report, const std::string& variant) {
  for (const sim::ReportPoint& row : report.points)
    if (row.variant == variant) return row.point;
  throw std::logic_error("no variant " + variant);
}

double rate_of(const sim::Report& report, const std::string& variant) {
  return point_of(report, variant).samples_per_s();
}

}  // namespace

TEST_CASE("published: every Crossbow scenario runs, within its bounds") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const std::string name = entry.path().stem().string();
    const sim::Report report = predict_file(name, {name == "lenet" || name == "resnet32_learners" ? 1 : 2}, 2);
    for (const sim::ReportPoint& row : report.points) {
      INFO(name << ", " << row.variant);
      const sim::PointResult& p = row.point;
      CHECK(p.samples_per_s() > 0);
      CHECK(p.samples_per_iteration == p.gpus * p.batch_per_gpu * p.details.learners->learners_per_gpu);
      CHECK(p.details.learners->learners_per_gpu <= p.details.learners->memory.most_learners);
    }
    for (const Assumption& a : report.loaded.assumptions) {
      INFO(name << ": " << a.pointer);
      CHECK(a.source.rfind("given in", 0) != 0);
      CHECK(a.kind != "fitted");
    }
  }
  CHECK(files == 5);
}

TEST_CASE("published: several learners on one GPU train ResNet-32 about 1.4 times as fast as one") {
  const sim::Report report = predict_file("resnet32_learners");
  const double one = rate_of(report, "1 learner");
  for (const char* several : {"2 learners", "3 learners", "4 learners"}) {
    INFO(several);
    CHECK(100 * (rate_of(report, several) / one - 1) == Approx(40).margin(10));
  }
  // The auto-tuner finds the plateau.
  CHECK(rate_of(report, "auto-tuner") >= 0.95 * rate_of(report, "4 learners"));
  CHECK(point_of(report, "auto-tuner").details.learners->learners_per_gpu >= 2);
  int compared = 0;
  for (const sim::Comparison& c : report.comparisons)
    compared += c.published.metric == sim::PublishedMetric::throughput_gain;
  CHECK(compared == 3);
}

// Missed: the paper's gains are 19 % (never, section 5.6) and up to 31 % (tau, 5.5). By streams, as the paper
// describes, the exchange of ResNet-32's 1.9 MB, 0.7 ms, hides behind learning tasks of 28 ms and nothing is gained.
// From the host, as the released program does, 2.2 ms of kernels, all-reduce and waiting are exposed in every
// synchronisation, and the slowest learner's lateness. That is for 64 images per learner. The published batch is not
// readable, and the cost hardly depends on it: 19 % would be that of some 23 images.
TEST_CASE("published: rarer synchronisation trains faster, from the host by 7 %, by streams by nothing") {
  const sim::Report report = predict_file("resnet32_tau");
  const double never = rate_of(report, "never");
  CHECK(never == Approx(18500).epsilon(0.005));  // the input
  double last = rate_of(report, "tau 1");
  CHECK(never / last - 1 == Approx(0.077).margin(0.01));
  for (const char* tau : {"tau 2", "tau 3", "tau 4"}) {
    INFO(tau);
    CHECK(rate_of(report, tau) > 1.005 * last);
    last = rate_of(report, tau);
  }
  CHECK(never > last);
  CHECK(rate_of(report, "2 learners, never") > 1.05 * rate_of(report, "2 learners, tau 1"));
  const auto gain_without = [&](const std::string& variant) {
    return rate_of(report, variant + "never") / rate_of(report, variant + "tau 1") - 1;
  };
  CHECK(gain_without("") < gain_without("32 images, "));
  CHECK(gain_without("32 images, ") < 0.194);  // published, for an unknown batch
  CHECK(gain_without("16 images, ") > 0.194);
  CHECK(gain_without("2 learners, 16 images, ") > gain_without("16 images, "));
  CHECK(point_of(report, "tau 1").details.learners->synchronisation_s.all_reduce ==
        Approx(0.68e-3).epsilon(0.05));  // between DeepBench's 0.25 ms of 0.4 MB and 3.63 ms of 12.4 MB

  const double streams = rate_of(report, "streams, tau 1");
  CHECK(never / streams - 1 == Approx(0).margin(0.005));
  CHECK(rate_of(report, "streams, tau 4") >= streams);
  CHECK(never / rate_of(report, "streams, tau 1, no overlap") - 1 > 0.02);
  CHECK(rate_of(report, "streams, EA-SGD") >= streams);
}

TEST_CASE("published: ResNet-50 on 8 GPUs gains from a second learner, and both fit") {
  const sim::Report report = predict_file("resnet50");
  CHECK(rate_of(report, "2 learners") > rate_of(report, "1 learner"));
  CHECK(point_of(report, "1 learner").details.learners->learning_s == Approx(0.22).epsilon(0.01));
  CHECK(point_of(report, "2 learners").details.learners->memory.most_learners >= 2);
}

TEST_CASE("published: LeNet's learning task takes less than a millisecond and gains most from learners") {
  const sim::Report lenet = predict_file("lenet");
  CHECK(point_of(lenet, "1 learner").details.learners->learning_s <= 1e-3);
  const sim::Report vgg = predict_file("vgg16", {1});
  CHECK(rate_of(lenet, "4 learners") / rate_of(lenet, "1 learner") >
        rate_of(vgg, "4 learners") / rate_of(vgg, "1 learner"));
}

}  // namespace lockstep::tests
