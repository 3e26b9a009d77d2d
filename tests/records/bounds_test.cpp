// Bounds from held-out sources: a small case by hand, and their coverage of sources drawn at random.
#include <cmath>

#include "engine/base/random.hpp"
#include "sim/validation/bounds.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

// Predictions of 1 of transformers' rates, whose reach is in units of a logarithm of 0.15.
class LeftOut {
 public:
  void add(const std::string& source, double off) {
    sim::Record record;
    record.id = source;
    record.source = record.whole_source = source;
    record.value = std::exp(0.15 * off);
    sim::Prediction p;
    p.record = std::make_shared<const sim::Record>(record);
    p.task.interval_class = {{"sequences"}};
    p.predicted = 1;
    predictions.push_back(p);
  }
  std::vector<sim::Prediction> predictions;
};

double of(const std::map<std::string, sim::Constant>& constants, const std::string& side) {
  return constants.at("bounds " + side + "/sequences").value;
}

double normal(std::uint64_t trial, int of_source, int draw) {
  double sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += random_uniform(trial, static_cast<std::uint64_t>(of_source), static_cast<std::uint64_t>(12 * draw + i));
  return sum;
}

}  // namespace

TEST_CASE(
    "of few sources the mean distance counts, each source once, with Student's quantile; of fewer than five nothing") {
  LeftOut five;
  for (int i = 0; i < 4; ++i) five.add("source " + std::to_string(i), i % 2 == 0 ? 1 : -1);
  CHECK(sim::bounds_from(five.predictions).empty());
  five.add("far", 2);
  const double reach = 1.476 * std::sqrt(M_PI / 2) * (4 + 2) / 5;  // t_0.9 of five degrees
  CHECK(of(sim::bounds_from(five.predictions), "below") == Approx(reach).epsilon(1e-3));
  CHECK(of(sim::bounds_from(five.predictions), "above") == Approx(reach).epsilon(1e-3));
  // A source's weight does not grow with its records, and held-out ones are not used.
  for (int i = 0; i < 50; ++i) five.add("far", -2);
  five.add("near", 0);
  CHECK(of(sim::bounds_from(five.predictions, "near"), "above") == Approx(reach).epsilon(1e-3));
}

TEST_CASE("of twenty sources on, a tenth of them and half of the one to come are outside on either side") {
  LeftOut list;
  for (int i = 1; i <= 29; ++i) list.add("source " + std::to_string(i), i <= 9 ? -0.1 * i : 0.05 * (i - 9));
  // Each weighs 1/30, and the source to come 1/60. 1.0 and 0.95 are less than a tenth, 0.9 makes it more. Below: 0.9,
  // 0.8, 0.7.
  CHECK(of(sim::bounds_from(list.predictions), "above") == Approx(0.9));
  CHECK(of(sim::bounds_from(list.predictions), "below") == Approx(0.7));
}

TEST_CASE("four of five records of a new source are inside, or more, however few sources there are") {
  for (const int sources : {5, 8, 12, 19, 20, 40}) {
    double inside = 0, all = 0;
    for (std::uint64_t trial = 0; trial < 300; ++trial) {
      LeftOut list;
      for (int s = 0; s < sources; ++s) {
        const double common = normal(trial, s, 0);
        for (int r = 1; r <= 1 + s % 4; ++r)
          list.add("source " + std::to_string(s), common + 0.5 * normal(trial, s, r));
      }
      const auto constants = sim::bounds_from(list.predictions);
      const double off = normal(trial, sources, 0) + 0.5 * normal(trial, sources, 1);
      inside += off >= -of(constants, "below") && off <= of(constants, "above") ? 1 : 0;
      ++all;
    }
    INFO(sources << " sources");
    CHECK(inside / all > 0.77);  // 0.8, less the uncertainty of 300 draws
    CHECK(inside / all < (sources < 8 ? 0.95 : 0.92));
  }
}

}  // namespace lockstep::tests
