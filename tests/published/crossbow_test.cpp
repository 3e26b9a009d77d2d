// Crossbow (Koliousis et al. 2019, arXiv:1901.02244): every scenario file runs at small scale, and what of the paper's
// throughput it predicts.
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
      CHECK(p.samples_per_iteration == p.gpus * p.batch_per_gpu * p.details["learners_per_gpu"].get<int>());
      CHECK(p.details["learners_per_gpu"].get<int>() <= p.details["memory"]["most_learners"].get<int>());
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
  CHECK(point_of(report, "auto-tuner").details["learners_per_gpu"].get<int>() >= 2);
  int compared = 0;
  for (const sim::Comparison& c : report.comparisons) compared += c.published.metric == "throughput_gain";
  CHECK(compared == 3);
}

// In direction only: the paper's gains of 19 % (never, sections 5.6) and up to 31 % (tau, 5.5) are far more than the
// exchange of ResNet-32's 1.9 MB explains, which takes 1 ms and hides behind learning tasks of 28 ms. Without overlap
// the prediction comes to 4 %.
TEST_CASE("published: rarer synchronisation never trains slower, and costs most where it does not overlap") {
  const sim::Report report = predict_file("resnet32_tau");
  CHECK(rate_of(report, "never") == Approx(18500).epsilon(0.005));  // the input
  CHECK(rate_of(report, "never") > rate_of(report, "tau 1"));
  for (const char* tau : {"tau 2", "tau 3", "tau 4"}) CHECK(rate_of(report, tau) > rate_of(report, "tau 1"));
  CHECK(rate_of(report, "2 learners, never") > rate_of(report, "2 learners, tau 1"));
  const double strict = rate_of(report, "tau 1, no overlap");
  CHECK(strict < rate_of(report, "tau 1"));
  CHECK(rate_of(report, "never") / strict - 1 > 0.02);
  CHECK(rate_of(report, "EA-SGD") >= rate_of(report, "tau 1"));
}

TEST_CASE("published: ResNet-50 on 8 GPUs gains from a second learner, and both fit") {
  const sim::Report report = predict_file("resnet50");
  CHECK(rate_of(report, "2 learners") > rate_of(report, "1 learner"));
  CHECK(point_of(report, "1 learner").details["learning_s"].get<double>() == Approx(0.22).epsilon(0.01));
  CHECK(point_of(report, "2 learners").details["memory"]["most_learners"].get<int>() >= 2);
}

TEST_CASE("published: LeNet's learning task takes less than a millisecond and gains most from learners") {
  const sim::Report lenet = predict_file("lenet");
  CHECK(point_of(lenet, "1 learner").details["learning_s"].get<double>() <= 1e-3);
  const sim::Report vgg = predict_file("vgg16", {1});
  CHECK(rate_of(lenet, "4 learners") / rate_of(lenet, "1 learner") >
        rate_of(vgg, "4 learners") / rate_of(vgg, "1 learner"));
}

}  // namespace lockstep::tests
