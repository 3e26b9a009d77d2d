#include "calib/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calib/quality.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

constexpr int kWidth = 48;

struct Point {
  double x, measured_s, fitted_s, known_to;
  bool is_spread_known;
};

std::vector<Point> points_of(const Profile& profile, const Fit& fit) {
  const std::string id = fit.id();
  std::vector<Point> points;
  for (const Sample& sample : profile.samples) {
    if (sample.probe != fit.probe) continue;
    Json key = sample.key;
    key.erase(fit.variable);
    if (canonical_id(sample.probe, key) != id) continue;
    const double x = sample.key.at(fit.variable).get<double>();
    points.push_back({x, sample.median_s(), fit.line.at(x), quality_of(sample).relative(), sample.seconds.size() > 1});
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  return points;
}

// The column of a time between the smallest and the largest, on a logarithmic scale.
std::size_t column(double seconds, double least_s, double most_s) {
  if (!(most_s > least_s)) return 0;
  const double share = std::log(seconds / least_s) / std::log(most_s / least_s);
  return static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * (kWidth - 1)));
}

std::string row(const std::string& x, const std::string& measured, const std::string& known, const std::string& fit,
                const std::string& drawing) {
  char text[160];
  std::snprintf(text, sizeof text, "    %10s %10s %10s %9s   ", x.c_str(), measured.c_str(), known.c_str(),
                fit.c_str());
  std::string line = text + drawing;
  while (line.back() == ' ') line.pop_back();
  return line + "\n";
}

}  // namespace

std::string chart_text(const Profile& profile, const Fit& fit) {
  const std::vector<Point> points = points_of(profile, fit);
  if (points.size() < 2) return "";
  double least_s = points.front().measured_s, most_s = least_s;
  for (const Point& point : points) {
    least_s = std::min({least_s, point.measured_s, point.fitted_s});
    most_s = std::max({most_s, point.measured_s, point.fitted_s});
  }
  if (!(least_s > 0)) return "";
  std::string text = row(fit.variable, "measured", "known to", "fit", "");
  for (const Point& point : points) {
    std::string drawing(kWidth, ' ');
    const std::size_t fitted = column(point.fitted_s, least_s, most_s),
                      measured = column(point.measured_s, least_s, most_s);
    drawing[fitted] = '|';
    drawing[measured] = fitted == measured ? '*' : 'o';
    text += row(fit.variable == "bytes" ? format_bytes(point.x) : short_number(point.x),
                format_seconds(point.measured_s), point.is_spread_known ? percent(point.known_to, "%.1f %%") : "once",
                percent(point.fitted_s / point.measured_s - 1, "%+.1f %%"), drawing);
  }
  return text;
}

}  // namespace lockstep::calib
