// Measured points, drawn next to their fit.
#include "calib/chart.hpp"

#include <sstream>

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

Profile profile_of_points(const std::vector<std::pair<double, double>>& points) {
  Profile profile;
  for (const auto& [batch, seconds] : points)
    profile.samples.push_back({"iteration",
                               {{"model", "net"}, {"batch", batch}},
                               {seconds, 0.9 * seconds, 1.1 * seconds},
                               "measured",
                               "test",
                               {},
                               {}});
  profile.fits = fit_curves(profile.samples);
  return profile;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("points on their line are drawn as one, equal ratios apart") {
  const Profile profile = profile_of_points({{1, 1e-3}, {10, 10e-3}, {100, 100e-3}});
  const std::vector<std::string> lines = lines_of(chart_text(profile, profile.fits[0]));
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[1], Contains("1.00 ms") && Contains("10.0 %"));
  const std::size_t first = lines[1].find('*'), second = lines[2].find('*'), third = lines[3].find('*');
  REQUIRE(third != std::string::npos);
  CHECK(third - first == 47);
  CHECK(std::abs(static_cast<int>(second - first) - static_cast<int>(third - second)) <= 1);
}

TEST_CASE("a point off the line is drawn apart from it, with how far the fit is off") {
  Profile profile = profile_of_points({{8, 1e-3}, {16, 2e-3}, {32, 4e-3}});
  for (double& seconds : profile.samples[1].seconds) seconds *= 1.25;  // 2.5 ms where the line has 2
  const std::vector<std::string> lines = lines_of(chart_text(profile, profile.fits[0]));
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[2], Contains("-20.0 %") && Contains("|") && Contains("o"));
  CHECK(lines[2].find('|') < lines[2].find('o'));
}

TEST_CASE("one point is no curve, and one time tells no spread") {
  const Profile one = profile_of_points({{8, 1e-3}});
  CHECK(chart_text(one, one.fits[0]).empty());
  Profile once = profile_of_points({{8, 1e-3}, {16, 2e-3}});
  for (Sample& sample : once.samples) sample.seconds.resize(1);
  CHECK_THAT(chart_text(once, once.fits[0]), Contains("once"));
}
