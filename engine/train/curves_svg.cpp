#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "engine/base/svg.hpp"
#include "engine/base/text.hpp"
#include "engine/train/curves.hpp"

namespace lockstep::train {
namespace {

// Colours of Okabe and Ito, which people with colour blindness can distinguish. After the last one, they repeat with
// another dash.
constexpr std::array<const char*, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#e69f00", "#56b4e9", "#000000"};
constexpr std::array<const char*, 3> kDashes{"none", "6 3", "2 3"};

constexpr double kWidth = 900;
constexpr double kLegendLine = 18;
constexpr double kLeft = 70, kRight = 870;

/// Maps values to a panel of the picture, in the picture's units.
struct Panel {
  double top, bottom;
  double from, to;  ///< values at its bottom and its top
  double last;      ///< at the right end of the x axis, which begins at 0
  double x(double value) const { return kLeft + (kRight - kLeft) * value / last; }
  double y(double value) const { return bottom - (bottom - top) * (value - from) / (to - from); }
};

double along(const CurvePoint& p, Over over) {
  switch (over) {
    case Over::epochs:
      return p.epoch;
    case Over::iterations:
      return p.iterations;
    case Over::images:
      return p.images;
    case Over::seconds:
      return p.train_s;
  }
  return p.epoch;
}

const char* name_of_axis(Over over) {
  switch (over) {
    case Over::epochs:
      return "epochs";
    case Over::iterations:
      return "iterations";
    case Over::images:
      return "images";
    case Over::seconds:
      return "seconds of training";
  }
  return "";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" + svg::escaped(text) +
         "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
         "\"/>\n";
}

std::string axes(const Panel& panel, const std::string& title, const std::string& below) {
  std::string grid = "<g stroke=\"#ddd\">\n", text;
  const double step = svg::step_of(panel.to - panel.from, 6);
  for (double v = std::ceil(panel.from / step) * step; v <= panel.to + 1e-9 * step; v += step) {
    grid += line(kLeft, panel.y(v), kRight, panel.y(v));
    text += label(kLeft - 6, panel.y(v) + 4, "end", short_number(std::abs(v) < 1e-12 ? 0 : v));
  }
  const double along_step = svg::step_of(panel.last, 8);
  for (double v = 0; v <= panel.last * (1 + 1e-9); v += along_step) {
    grid += line(panel.x(v), panel.top, panel.x(v), panel.bottom);
    text += label(panel.x(v), panel.bottom + 16, "middle", short_number(v));
  }
  return grid + "</g>\n" + text + label(kLeft, panel.top - 8, "start", title) +
         label(kRight, panel.bottom + 32, "end", below);
}

std::string curve(const Panel& panel, const RunCurve& run, std::size_t index, Over over, double CurvePoint::*value) {
  std::string points, dots;
  for (const CurvePoint& p : run.points) {
    if (!std::isfinite(p.*value)) continue;
    const std::string x = number(panel.x(along(p, over))), y = number(panel.y(p.*value));
    points += (points.empty() ? "" : " ") + x + "," + y;
    dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"2\"/>\n";
  }
  const std::string colour = kColours[index % kColours.size()];
  return "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + colour + "\" stroke-dasharray=\"" +
         kDashes[index / kColours.size() % kDashes.size()] + "\" points=\"" + points + "\"/>\n<g fill=\"" + colour +
         "\">\n" + dots + "</g>\n";
}

/// Fills from the smallest to the largest value of a cell's seeds; empty for a run without a cell.
std::string band(const Panel& panel, const SeedBand& seeds, std::size_t index, Over over, double CurvePoint::*value) {
  std::string points;
  const auto add = [&](const CurvePoint& p) {
    if (!std::isfinite(p.*value)) return;
    points += (points.empty() ? "" : " ") + number(panel.x(along(p, over))) + "," + number(panel.y(p.*value));
  };
  std::for_each(seeds.high.begin(), seeds.high.end(), add);
  std::for_each(seeds.low.rbegin(), seeds.low.rend(), add);
  if (points.empty()) return "";
  return std::string("<polygon fill-opacity=\"0.15\" fill=\"") + kColours[index % kColours.size()] + "\" points=\"" +
         points + "\"/>\n";
}

/// Smallest and largest value of all runs; {0, 0} if there are none.
std::pair<double, double> extent(const std::vector<RunCurve>& runs, double CurvePoint::*value) {
  double low = 0, high = 0;
  bool has_any = false;
  for (const RunCurve& run : runs)
    for (const CurvePoint& p : run.points) {
      if (!std::isfinite(p.*value)) continue;
      low = has_any ? std::min(low, p.*value) : p.*value;
      high = has_any ? std::max(high, p.*value) : p.*value;
      has_any = true;
    }
  return {low, high};
}

bool has_loss(const RunCurve& run) {
  return std::any_of(run.points.begin(), run.points.end(),
                     [](const CurvePoint& p) { return std::isfinite(p.train_loss); });
}

/// Widens a range that is too narrow to draw: a single value has such a range.
std::pair<double, double> widened(std::pair<double, double> range) {
  const double least = std::max(1e-3, 0.02 * std::abs(range.second));
  if (range.second - range.first >= least) return range;
  return {range.first - least / 2, range.second + least / 2};
}

}  // namespace

std::string curves_svg(const std::vector<RunCurve>& all_runs, Over over) {
  const std::vector<SeedBand> bands = make_seed_bands(all_runs);
  std::vector<RunCurve> runs;
  for (const SeedBand& one : bands) runs.push_back(one.median);
  double last = 0;
  for (const RunCurve& run : runs)
    for (const CurvePoint& p : run.points) last = std::max(last, along(p, over));
  if (!(last > 0)) throw InputError("plot: none of the records has an epoch; allowed: records of runs that have begun");
  const auto accuracy = widened(extent(all_runs, &CurvePoint::test_accuracy));
  const auto loss = widened(extent(all_runs, &CurvePoint::train_loss));
  const Panel above{30, 290, accuracy.first, accuracy.second, last};
  const Panel below{360, 590, loss.first, loss.second, last};
  const double height = 640 + kLegendLine * static_cast<double>(runs.size());
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(kWidth) + "\" height=\"" +
                    number(height) + "\" viewBox=\"0 0 " + number(kWidth) + " " + number(height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n<title>Learning curves</title>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  svg += axes(above, "test accuracy", name_of_axis(over)) + axes(below, "training loss", name_of_axis(over));
  if (std::none_of(all_runs.begin(), all_runs.end(), has_loss))
    svg += label((kLeft + kRight) / 2, (below.top + below.bottom) / 2, "middle",
                 "no training loss: it is recorded at the end of each epoch, and no run has finished one");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    svg += band(above, bands[i], i, over, &CurvePoint::test_accuracy);
    svg += band(below, bands[i], i, over, &CurvePoint::train_loss);
    svg += curve(above, runs[i], i, over, &CurvePoint::test_accuracy);
    svg += curve(below, runs[i], i, over, &CurvePoint::train_loss);
    const double y = 645 + kLegendLine * static_cast<double>(i);
    svg += "<line x1=\"70\" x2=\"100\" y1=\"" + number(y - 4) + "\" y2=\"" + number(y - 4) +
           "\" stroke-width=\"2\" stroke=\"" + kColours[i % kColours.size()] + "\" stroke-dasharray=\"" +
           kDashes[i / kColours.size() % kDashes.size()] + "\"/>\n" + label(108, y, "start", runs[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace lockstep::train
