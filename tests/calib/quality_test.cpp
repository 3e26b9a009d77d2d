// The uncertainty of a measured time, and of a fit through such times.
#include "calib/quality.hpp"

#include <cmath>

#include "calib/second_look.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

// 1.00 to 1.10 in turns above and below the median, 1.05: no neighbour tells the next.
const std::vector<double> kScattered{1.05, 1.00, 1.10, 1.01, 1.09, 1.02, 1.08, 1.03, 1.07, 1.04, 1.06};

Sample iteration(double batch, const std::vector<double>& seconds, const std::vector<std::string>& flags = {}) {
  return {"iteration", {{"model", "net"}, {"devices", 1}, {"batch", batch}}, seconds, "measured", "test", flags, {}};
}

Profile profile_of(const std::vector<Sample>& samples) {
  Profile profile;
  profile.samples = samples;
  profile.fits = fit_curves(samples);
  return profile;
}

}  // namespace

TEST_CASE("a time that was taken once tells nothing of its spread, and equal times have none") {
  CHECK(quality_of(iteration(8, {1})).relative() == 0);
  CHECK(quality_of(iteration(8, std::vector<double>(20, 0.5))).relative() == 0);
  CHECK(quality_of(iteration(8, {1})).text().empty());
}

TEST_CASE("the interval of the median counts, by hand") {
  // Among 11 samples, the 2nd and the 10th are the bounds of the median: 1.01 and 1.09 around 1.05.
  CHECK(quality_of(iteration(8, kScattered)).interval == Approx(0.04 / 1.05));
  CHECK(quality_of(iteration(8, {0.8, 1.0, 1.2})).interval == Approx(0.2));  // the whole range
}

TEST_CASE("what is flagged counts beside the interval, in quadrature") {
  const std::vector<double> rising{1, 1, 1, 1, 1, 1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1};
  const SeriesQuality drifted = quality_of(iteration(8, rising, {"drift"}));
  CHECK(drifted.drift == Approx(0.05));
  CHECK(quality_of(iteration(8, rising)).drift == 0);
  CHECK(drifted.relative() == Approx(std::hypot(drifted.interval, drifted.drift)));

  Sample twice = iteration(8, std::vector<double>(11, 1.0), {kDisagrees});
  twice.set_aside.push_back({"first", {1.2, 1.2, 1.2}});
  CHECK(quality_of(twice).relative() == Approx(0.1));
  CHECK(quality_of(twice).text() == "its two measurements are 20 % apart");

  // Four outliers above 0.92, 0.93, ..., 1.08: the median of 21 is 1.02, and a share of 4/21 of all lies between the
  // quantiles at 0.5 -+ 2/21, which are 1.00095 and 1.03905.
  std::vector<double> with_outliers(4, 30.0);
  for (int i = 0; i < 17; ++i) with_outliers.push_back(0.92 + 0.01 * i);
  CHECK(quality_of(iteration(8, with_outliers, {"outliers"})).outliers == Approx(0.01905 / 1.02).epsilon(1e-3));
  CHECK(quality_of(iteration(8, with_outliers)).outliers == 0);
}

TEST_CASE("between two measured points the worse one counts, beyond them the nearest") {
  const Profile profile = profile_of(
      {iteration(8, {0.8, 0.8}), iteration(16, kScattered), iteration(32, {3.2, 3.2}), iteration(64, {6.4, 6.4})});
  const Fit& fit = profile.fits.front();
  const double worse = 0.04 / 1.05;
  CHECK(quality_at(profile, fit, 8).series == 0);
  CHECK(quality_at(profile, fit, 12).series == Approx(worse));
  CHECK(quality_at(profile, fit, 16).series == Approx(worse));
  CHECK(quality_at(profile, fit, 20).series == Approx(worse));
  CHECK(quality_at(profile, fit, 40).series == 0);
  CHECK(quality_at(profile, fit, 1000).series == 0);
  // 1.05 where 1.6 lay on the line of the others: where the line misses what was measured, it says so.
  CHECK(quality_at(profile, fit, 16).fit == Approx(std::abs(fit.line.at(16) / 1.05 - 1)));
  CHECK(quality_at(profile, fit, 20).fit >= fit.line.leave_one_out);
}

TEST_CASE("members of a key may stand in any order, and other curves have no say") {
  Sample other = iteration(8, {1, 9});
  other.key["model"] = "another";
  Sample turned = iteration(16, {0.9, 1.0, 1.1});
  turned.key = Json{{"batch", 16.0}, {"devices", 1.0}, {"model", "net"}};
  Profile profile = profile_of({iteration(8, {0.5, 0.5}), other});
  profile.samples.push_back(turned);
  CHECK(quality_at(profile, profile.fits.front(), 16).series == Approx(0.1));
  CHECK(quality_at(profile, profile.fits.front(), 8).series == 0);
}

TEST_CASE("series that are not known are counted, layers and single times are not") {
  Sample layer = iteration(8, {1, 2, 3});
  layer.probe = "layer";
  const Profile profile = profile_of({iteration(8, {0.8, 1.0, 1.2}), iteration(16, {1, 1}), iteration(32, {1}), layer});
  const ImpreciseSeries count = imprecise_series(profile, 0.05);
  CHECK(count.imprecise == 1);
  CHECK(count.of == 2);
}
