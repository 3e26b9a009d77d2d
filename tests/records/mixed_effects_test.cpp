// Shrinkage by the number of sources that show an effect, compared with closed forms.
#include "sim/validation/mixed_effects.hpp"

#include <cmath>

#include "tests/catch.hpp"

namespace lockstep::tests {

TEST_CASE("one effect, n observations: their mean times n / (n + noise^2 / spread^2)") {
  for (const int n : {1, 2, 10}) {
    std::vector<sim::Observation> all;
    for (int i = 0; i < n; ++i) all.push_back({0.1 + 0.01 * (i % 2), {{0, 1}}});
    double mean = 0;
    for (const sim::Observation& one : all) mean += one.residual / n;
    const double spread = 0.2, noise = 0.3;
    const sim::Effects effects = sim::solve_effects(all, {{spread}}, noise);
    CHECK(effects.values[0] == Approx(mean * n / (n + noise * noise / (spread * spread))));
    CHECK(effects.deviations[0] == Approx(1 / std::sqrt(n / (noise * noise) + 1 / (spread * spread))));
  }
}

TEST_CASE("an observation with twice the noise counts a quarter") {
  std::vector<sim::Observation> all{{0.2, {{0, 1}}}, {0.0, {{0, 1}}}};
  all[1].noise_factor = 2;
  const double spread = 10, noise = 0.3;
  CHECK(sim::solve_effects(all, {{spread}}, noise).values[0] == Approx(0.2 / 1.25).epsilon(0.01));
}

TEST_CASE("a hundred rows of one source count as one, not as a hundred") {
  // Effect 0 is a constant's, effects 1 ... are the sources'.
  const auto constant = [](int sources, int rows) {
    std::vector<sim::Observation> all;
    std::vector<sim::Spread> spreads{{0.2}};
    for (int s = 0; s < sources; ++s) {
      spreads.push_back({0.2});
      for (int row = 0; row < rows; ++row) all.push_back({0.3, {{0, 1}, {static_cast<std::size_t>(s) + 1, 1}}});
    }
    return sim::solve_effects(all, spreads, 0.1).values[0];
  };
  CHECK(constant(1, 100) == Approx(0.15).epsilon(0.01));  // divided equally between the constant and the only source
  CHECK(constant(1, 100) < constant(1, 1) * 1.2);
  CHECK(constant(8, 100) == Approx(0.3 * 8 / 9).epsilon(0.01));
}

TEST_CASE("a narrower class stays at its wider one where nothing was measured, and leaves it where much was") {
  // Effect 0 is the class's, 1 and 2 its members'; member 1 differs by 0.4, member 2 was seen twice without difference.
  std::vector<sim::Observation> all;
  for (int i = 0; i < 20; ++i) all.push_back({0.4, {{0, 1}, {1, 1}}});
  for (int i = 0; i < 20; ++i) all.push_back({0, {{0, 1}, {2, 1}}});
  const sim::Effects effects = sim::solve_effects(all, {{0.3}, {0.3}, {0.3}, {0.3}}, 0.05);
  CHECK(effects.values[0] + effects.values[1] == Approx(0.4).epsilon(0.05));
  CHECK(effects.values[0] + effects.values[2] == Approx(0).margin(0.02));
  CHECK(effects.values[3] == 0);
  CHECK(effects.deviations[3] == Approx(0.3));
}

TEST_CASE("a wrong record does not decide") {
  std::vector<sim::Observation> all(9, {0.1, {{0, 1}}});
  all.push_back({5, {{0, 1}}});
  CHECK(sim::solve_effects(all, {{1.0}}, 0.05).values[0] < 0.12);
}

TEST_CASE("a source that is far off moves a constant by 1.5 s0^2 / s1, however far it is") {
  // s0 is the constant's spread and s1 the source's: beyond 1.5 s1, the source's own effect costs the same for every
  // step.
  for (const double off : {1.0, 2.0, 5.0}) {
    const std::vector<sim::Observation> all(20, {off, {{0, 1}, {1, 1}}});
    const sim::Effects effects = sim::solve_effects(all, {{0.2}, {0.2, true}}, 0.05);
    CHECK(effects.values[0] == Approx(1.5 * 0.2 * 0.2 / 0.2).epsilon(0.001));
    CHECK(effects.values[0] + effects.values[1] == Approx(off).epsilon(0.01));
    // Without the weights, the two effects divide any deviation equally.
    CHECK(sim::solve_effects(all, {{0.2}, {0.2}}, 0.05).values[0] == Approx(off / 2).epsilon(0.01));
  }
}

}  // namespace lockstep::tests
