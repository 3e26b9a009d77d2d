// Fits of laws of the loss: planted truth, runs that went wrong, few runs, held-out sizes, files.
#include "sim/loss/loss_fit.hpp"

#include <cmath>

#include "engine/base/json.hpp"
#include "engine/base/statistics.hpp"
#include "sim/loss/law_json.hpp"
#include "sim/loss/loss_report.hpp"
#include "tests/catch.hpp"
#include "tests/loss/laws.hpp"

namespace lockstep::sim {
namespace {

/// Returns a law close to the truth, with wide uncertainty.
LossLaw other_law() {
  LossLaw law = tests::simple_law();
  law.parameters[kLogE] += 0.1;
  law.parameters[kLogA] -= 0.3;
  law.parameters[kLogB] += 0.3;
  law.parameters[kLogCritical] += 0.5;
  return law;
}

constexpr double kPlantedSpread = 0.005;

LossLaw catalogue_law(const std::string& id) {
  const JsonDocument document =
      JsonDocument::load(std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/catalogue/loss_laws.json");
  for (const JsonNode& node : document.root().at("laws").items())
    if (node.at("id").text() == id) return read_loss_law(node);
  throw std::invalid_argument(id);
}

LossFitReport report_of(const char* table, const LossLaw& prior) {
  return fit_with_report(read_loss_points(std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/loss/" + table), prior);
}

const LossFitReport& chinchilla_report() {
  static const LossFitReport report = report_of("chinchilla.csv", catalogue_law("besiroglu_2024"));
  return report;
}

const LossFitReport& step_law_report() {
  static const LossFitReport report = report_of("step_law.csv", catalogue_law("besiroglu_2024"));
  return report;
}

}  // namespace

TEST_CASE("a fit finds the law that its runs come from") {
  const LossLaw truth = tests::simple_law();
  const LossLaw law = fit_loss_law(tests::runs_of(truth, 0.001, {2e5, 1e6, 4e6}, 5), other_law());
  for (const double parameters : {2e8, 8e9})
    for (const double tokens : {5e9, 3e11})
      CHECK(loss_of(law, parameters, tokens, 1e6) == Approx(loss_of(truth, parameters, tokens, 1e6)).epsilon(0.003));
  CHECK(critical_batch(law, 2e10) == Approx(critical_batch(truth, 2e10)).epsilon(0.15));
  CHECK(law.spread == Approx(0.001).epsilon(0.3));
  CHECK(law.parameter_range.low == 2e8);
  CHECK(law.batch_range.high == 4e6);
}

TEST_CASE("three runs that went wrong hardly move a fit") {
  const LossLaw truth = tests::simple_law();
  std::vector<LossPoint> points = tests::runs_of(truth, 0.001, {2e5}, 6);
  for (const std::size_t i : {3U, 9U, 14U}) points[i].loss *= 1.3;
  const LossLaw law = fit_loss_law(points, other_law());
  CHECK(loss_of(law, 1e9, 2e10, 2e5) == Approx(loss_of(truth, 1e9, 2e10, 2e5)).epsilon(0.004));
}

TEST_CASE("two runs move the level of the loss, not the exponents") {
  const LossLaw prior = tests::simple_law();
  const auto shifted = [&](double parameters, double tokens) {
    return LossPoint{parameters, tokens, 0, 1.1 * loss_of(prior, parameters, tokens, 0)};
  };
  const LossLaw law = fit_loss_law({shifted(1e9, 2e10), shifted(1e9, 8e10)}, prior);
  CHECK(loss_of(law, 1e9, 4e10, 0) == Approx(1.1 * loss_of(prior, 1e9, 4e10, 0)).epsilon(0.01));
  CHECK(law.parameters[kAlpha] == Approx(prior.parameters[kAlpha]).margin(0.03));
  CHECK(law.parameters[kBeta] == Approx(prior.parameters[kBeta]).margin(0.05));
  CHECK_THROWS_AS(fit_loss_law({shifted(1e9, 2e10)}, prior), InputError);
}

TEST_CASE("sizes are left out only where two runs remain") {
  const LossLaw law = tests::simple_law();
  const auto run = [&](double parameters, double tokens, double batch = 0) {
    return LossPoint{parameters, tokens, batch, 1.1 * loss_of(law, parameters, tokens, batch)};
  };
  LossTable two_sizes;
  two_sizes.points = {run(1e9, 2e10), run(2e9, 4e10)};
  const LossFitReport two = fit_with_report(two_sizes, law);
  CHECK(two.sizes.empty());
  CHECK(loss_of(two.law, 1.5e9, 3e10, 0) == Approx(1.1 * loss_of(law, 1.5e9, 3e10, 0)).epsilon(0.01));
  CHECK_THAT(fit_report_text(two), Contains("Too few runs of other sizes: no size can be left out"));
  LossTable three_runs;
  three_runs.points = {run(1e9, 2e10), run(1e9, 4e10), run(2e9, 4e10)};
  const LossFitReport three = fit_with_report(three_runs, law);
  REQUIRE(three.sizes.size() == 1);
  CHECK(three.sizes.front().parameters == 2e9);
  LossTable batches;
  batches.points = {run(1e9, 2e10, 1e5), run(1e9, 2e10, 2e5), run(1e9, 2e10, 4e5), run(1e9, 2e10, 8e5), run(2e9, 4e10)};
  CHECK(fit_with_report(batches, law).batches.empty());
}

TEST_CASE("runs of one batch leave the critical batch as it is, and the report says so") {
  const LossLaw truth = tests::simple_law(), start = other_law();
  const auto report_at = [&](const std::vector<double>& batches) {
    LossTable table;
    table.points = tests::runs_of(truth, 0.001, batches, 9);
    return fit_with_report(table, start);
  };
  const LossFitReport one = report_at({4e6}), none = report_at({0}), two = report_at({4e5, 4e6});
  CHECK(critical_batch(one.law, 2e10) == Approx(critical_batch(start, 2e10)).epsilon(1e-9));
  CHECK(one.law.covariance(kLogCritical, kLogCritical) >= std::pow(prior_deviations()[kLogCritical], 2) * (1 - 1e-9));
  CHECK(critical_batch(two.law, 2e10) == Approx(critical_batch(truth, 2e10)).epsilon(0.15));
  CHECK_THAT(fit_report_text(one), Contains("(of simple: the runs have one batch)"));
  CHECK_THAT(fit_report_text(none), Contains("(of simple: the runs' batches are not known)"));
  CHECK_THAT(fit_report_text(two), Contains("(fitted on the same runs)"));
}

TEST_CASE("the same runs give the same law, in any order") {
  std::vector<LossPoint> points = tests::runs_of(tests::simple_law(), 0.004, {2e5, 1e6}, 7);
  const LossLaw one = fit_loss_law(points, other_law());
  std::reverse(points.begin(), points.end());
  const LossLaw two = fit_loss_law(points, other_law());
  for (int i = 0; i < kLossParameters; ++i) CHECK(one.parameters[i] == Approx(two.parameters[i]).epsilon(1e-5));
}

TEST_CASE("intervals of the shipped tables' laws hold four of five points of sizes that were left out") {
  // Chinchilla's 240 points and Step Law's runs. Users request tokens to a loss.
  const LossFitReport& chinchilla = chinchilla_report();
  int inside = 0, points = 0;
  for (const LeftOutSize& size : chinchilla.sizes) {
    inside += size.inside;
    points += static_cast<int>(size.log_errors.size());
  }
  CHECK(points == 240);
  CHECK(inside >= 0.75 * points);
  CHECK(inside <= 0.85 * points);
  CHECK(chinchilla.median_error < 0.10);
  CHECK(chinchilla.median_loss_error > 0);
  CHECK(chinchilla.median_loss_error < 0.005);
}

TEST_CASE("few runs do not make the spread too small") {
  LossLaw start = other_law();
  start.spread = kPlantedSpread / 10;  // so that only the runs can tell
  double squares = 0;
  constexpr int kDraws = 60;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<LossPoint> points =
        tests::runs_of(tests::simple_law(), kPlantedSpread, {1e6}, static_cast<std::uint64_t>(100 + draw));
    points.resize(8);
    squares += std::pow(fit_loss_law(points, start).spread / kPlantedSpread, 2) / kDraws;
  }
  // Without the degrees of freedom that the parameters take, it would be 0.5. Student's t has a smaller scale than the
  // normal distribution that it is fitted to: 0.8.
  CHECK(std::sqrt(squares) > 0.65);
  CHECK(std::sqrt(squares) < 1.1);
}

TEST_CASE("a law fitted to ten runs of a table that no shipped law knows predicts its others") {
  double share = 0;
  const std::vector<std::string> tables{"gadre_c4.csv", "gadre_redpajama.csv", "gadre_refinedweb.csv"};
  for (const std::string& table : tables) {
    INFO(table);
    std::vector<LossPoint> points =
        read_loss_points(std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/loss/" + table).points;
    std::sort(points.begin(), points.end(),
              [](const LossPoint& a, const LossPoint& b) { return a.parameters * a.tokens < b.parameters * b.tokens; });
    const std::vector<LossPoint> cheapest(points.begin(), points.begin() + 10),
        others(points.begin() + 10, points.end());
    const LossLaw law = fit_calibrated_law(cheapest, catalogue_law("chinchilla"), kLossCoverage);
    std::vector<double> errors;
    int inside = 0;
    for (const LossPoint& point : others) {
      const BoundedValue loss = predict_loss(law, point.parameters, point.tokens, point.batch_tokens, kLossCoverage);
      errors.push_back(std::abs(loss.middle / point.loss - 1));
      inside += point.loss >= loss.low && point.loss <= loss.high ? 1 : 0;
    }
    CHECK(median(errors) < 0.025);
    share += static_cast<double>(inside) / static_cast<double>(others.size()) / static_cast<double>(tables.size());
  }
  CHECK(share > 0.75);
}

TEST_CASE("the critical batch of sizes that were left out is within a factor of 1.5 in the median, of 2 in each") {
  const LossFitReport& report = step_law_report();
  CHECK(report.batches.size() == 14);
  std::vector<double> factors;
  for (const CriticalBatchCheck& check : report.batches)
    factors.push_back(std::exp(std::abs(std::log(check.predicted / check.measured))));
  CHECK(median(factors) < 1.5);
  CHECK(quantile(factors, 1) < 2);
  CHECK(report.median_error < 0.10);
}

TEST_CASE("the catalogue's laws are what their tables give") {
  for (const LossFitReport* report : {&chinchilla_report(), &step_law_report()}) {
    const LossLaw shipped = catalogue_law(report == &chinchilla_report() ? "chinchilla" : "step_law");
    for (const double tokens : {5e9, 1e11})
      CHECK(loss_of(shipped, 1e9, tokens, 0) == Approx(loss_of(report->law, 1e9, tokens, 0)).epsilon(1e-3));
    CHECK(shipped.spread == Approx(report->law.spread).epsilon(1e-3));
  }
}

TEST_CASE("Chinchilla's law has the critical batch of the runs at several batches") {
  for (const double tokens : {1e9, 1e11, 1e13})
    CHECK(critical_batch(catalogue_law("chinchilla"), tokens) ==
          Approx(critical_batch(catalogue_law("step_law"), tokens)).epsilon(1e-9));
}

TEST_CASE("batches below the best one are left out where three were tried") {
  const std::vector<LossPoint> points{{1e9, 1e10, 1e5, 2.7},
                                      {1e9, 1e10, 4e5, 2.6},
                                      {1e9, 1e10, 2e6, 2.65},
                                      {2e9, 1e10, 1e5, 2.5},
                                      {2e9, 1e10, 4e5, 2.4}};
  const std::vector<LossPoint> kept = without_small_batches(points);
  REQUIRE(kept.size() == 4);
  CHECK(kept.front().batch_tokens == 4e5);
}

TEST_CASE("a table says which rows it cannot read") {
  const LossTable table = parse_loss_points(
      "# runs\nparameters,tokens,batch_tokens,loss\n1.3B,26B,512k,2.51\n1.3B,26B,,2.50\n8B,many,512k,2.1\n",
      "runs.csv");
  REQUIRE(table.points.size() == 2);
  CHECK(table.points[0].parameters == 1.3e9);
  CHECK(table.points[1].batch_tokens == 0);
  REQUIRE(table.refused.size() == 1);
  CHECK_THAT(table.refused.front(), Contains("runs.csv line 5: "));
  CHECK_THROWS_WITH(parse_loss_points("parameters,loss\n1B,2\n", "a.csv"), Contains("\"tokens\""));
  CHECK_THROWS_WITH(parse_loss_points("parameters,tokens,loss,colour\n", "a.csv"), Contains("\"colour\""));
  CHECK_THROWS_WITH(parse_loss_points("parameters,tokens,loss\n1B,1B,nan\n", "a.csv"), Contains("no usable row"));
}

TEST_CASE("a law is written and read back") {
  const LossLaw law = fit_loss_law(tests::runs_of(tests::simple_law(), 0.004, {2e5, 1e6}, 8), other_law());
  const JsonDocument document = JsonDocument::parse(loss_law_json(law).dump(), "law.json");
  const LossLaw back = read_loss_law(document.root());
  for (int i = 0; i < kLossParameters; ++i) CHECK(back.parameters[i] == Approx(law.parameters[i]).margin(1e-8));
  CHECK((back.covariance - law.covariance).cwiseAbs().maxCoeff() < 1e-9);
  CHECK(back.spread == Approx(law.spread));
  CHECK(back.token_range.high == law.token_range.high);
}

}  // namespace lockstep::sim
