#include "calib/line_fit.hpp"

#include <cmath>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

TEST_CASE("two points give the line through them") {
  // 3 us at 1 kB and 12 us at 10 kB give 1 us per kB and a latency of 2 us.
  const Line line = fit_line({{1e3, 3e-6}, {1e4, 12e-6}});
  CHECK(line.latency_s == Approx(2e-6));
  CHECK(line.seconds_per_unit == Approx(1e-9));
}

TEST_CASE("neither latency nor slope is ever negative") {
  // Falling times: only a constant fits. min over c of (c/2 - 1)^2 + (c/1 - 1)^2: c = (1/2 + 1) / (1/4 + 1) = 1.2.
  const Line falling = fit_line({{1, 2}, {2, 1}});
  CHECK(falling.seconds_per_unit == 0);
  CHECK(falling.latency_s == Approx(1.2));
  // Times that rise faster than in proportion give a line through the origin. min over s of (s/1 - 1)^2 + (2s/4 - 1)^2:
  // s = 1.5/1.25.
  const Line steep = fit_line({{1, 1}, {2, 4}});
  CHECK(steep.latency_s == 0);
  CHECK(steep.seconds_per_unit == Approx(1.2));
}

TEST_CASE("one size gives a constant") {
  CHECK(fit_line({{8, 2e-6}, {8, 2e-6}}).at(1e9) == Approx(2e-6));
  CHECK(fit_pieces({{8, 2e-6}}).at(8) == Approx(2e-6));
}

TEST_CASE("planted latency and bandwidth come back within 1 % under noise") {
  std::vector<Measured> points;
  int n = 0;
  for (double bytes = 8; bytes < 2e9; bytes *= 2)
    points.push_back({bytes, (5e-6 + bytes / 200e9) * (1 + 0.005 * random_normal(1, 2, n++))});
  const LineFit fit = fit_pieces(points);
  REQUIRE(fit.pieces.size() == 1);
  CHECK(fit.pieces[0].line.latency_s == Approx(5e-6).epsilon(0.01));
  CHECK(1 / fit.pieces[0].line.seconds_per_unit == Approx(200e9).epsilon(0.01));
  CHECK(fit.worst_residual < 0.02);
  CHECK(fit.leave_one_out < 0.01);
  CHECK(fit.covers(1e6));
  CHECK_FALSE(fit.covers(1e10));
}

TEST_CASE("a change of protocol is found where it is") {
  // The truth is 2 us + 10 GB/s below 64 KiB, and 20 us + 100 GB/s from there on.
  std::vector<Measured> points;
  const auto truth = [](double bytes) { return bytes < 65536 ? 2e-6 + bytes / 10e9 : 20e-6 + bytes / 100e9; };
  for (double bytes = 256; bytes < 1e9; bytes *= 2) points.push_back({bytes, truth(bytes)});
  const LineFit fit = fit_pieces(points);
  REQUIRE(fit.pieces.size() == 2);
  CHECK(fit.pieces[1].from_x == 65536);
  CHECK(fit.worst_residual < 1e-9);
  for (double bytes : {300.0, 40000.0, 1e5, 3e8}) CHECK(fit.at(bytes) == Approx(truth(bytes)));
}

TEST_CASE("more pieces never fit worse, and noise alone does not ask for them") {
  std::vector<Measured> curved;
  for (double x = 1; x < 2000; x *= 2) curved.push_back({x, 1e-3 * std::pow(x, 0.7)});
  double worst = 1e9;
  for (int pieces = 1; pieces <= 4; ++pieces) {
    const LineFit fit = fit_pieces(curved, {pieces, 1e-6});
    CHECK(fit.median_residual <= worst * (1 + 1e-9));
    worst = fit.median_residual;
  }
  std::vector<Measured> noisy;
  for (int i = 1; i <= 40; ++i) noisy.push_back({double(i), (1 + i) * (1 + 0.03 * random_normal(9, 9, i))});
  CHECK(fit_pieces(noisy).pieces.size() == 1);
}

TEST_CASE("sizes that were measured twice count twice, and are left out together") {
  // Every size twice, 1 % above and below the truth of 1 + x: the left-out error is the 1 % itself, not what the other
  // of the two tells.
  std::vector<Measured> points;
  for (double x : {1.0, 2.0, 4.0, 8.0, 16.0})
    for (double factor : {0.99, 1.01}) points.push_back({x, factor * (1 + x)});
  const LineFit fit = fit_pieces(points);
  CHECK(fit.points == 10);
  CHECK(fit.at(3) == Approx(4).epsilon(1e-3));
  CHECK(fit.leave_one_out == Approx(0.01).epsilon(0.02));
  // Two sizes are no interior, however often they were measured.
  CHECK(fit_pieces({{1, 2}, {1, 2.2}, {2, 3}, {2, 3.3}}).leave_one_out == 0);
}

TEST_CASE("times and sizes that cannot be fitted are refused") {
  CHECK_THROWS_AS(fit_line({}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({{1, 0}}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({{-1, 1}}), std::invalid_argument);
  CHECK_THROWS_AS(fit_line({{1, std::nan("")}}), std::invalid_argument);
}
