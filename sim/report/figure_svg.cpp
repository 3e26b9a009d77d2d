#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/svg.hpp"
#include "engine/base/text.hpp"
#include "sim/report/figure.hpp"

namespace lockstep::sim::report {
namespace {

constexpr double kPanelWidth = 600, kPanelHeight = 340, kHeadHeight = 56;
constexpr double kPlotTop = 44, kPlotBottom = 296, kPlotLeft = 56, kPlotRight = 400, kRowsLeft = 230, kRowsRight = 580;
constexpr double kMostPerLog = 16;  // an axis over more than this factor is logarithmic, where all values are above 0
constexpr std::size_t kMostNameLength = 27, kMostRows = 14, kMostLines = 8;
constexpr const char* kGrid = "#dddddd";

std::string shortened(const std::string& name, std::size_t most) {
  return name.size() <= most ? name : name.substr(0, most - 3) + "...";
}

// Values to pixels.
class Axis {
 public:
  Axis(const std::vector<double>& values, double from_px, double to_px, bool may_be_log = true)
      : from_px_(from_px), to_px_(to_px) {
    least_ = *std::min_element(values.begin(), values.end());
    most_ = *std::max_element(values.begin(), values.end());
    is_log_ = may_be_log && least_ > 0 && most_ > kMostPerLog * least_;
    if (!is_log_) least_ = std::min(0.0, least_);
    if (most_ <= least_) most_ = least_ + 1;
  }

  double at(double value) const {
    const double share =
        is_log_ ? std::log(value / least_) / std::log(most_ / least_) : (value - least_) / (most_ - least_);
    return from_px_ + share * (to_px_ - from_px_);
  }

  std::vector<double> ticks() const {
    std::vector<double> all;
    if (!is_log_) {
      const double step = svg::step_of(most_ - least_, 6);
      for (double v = std::ceil(least_ / step) * step; v <= most_ + 1e-9 * step; v += step)
        all.push_back(std::abs(v) < 1e-9 * step ? 0 : v);
      return all;
    }
    const bool is_wide = most_ > 1000 * least_;
    for (double decade = std::pow(10, std::floor(std::log10(least_))); decade <= most_; decade *= 10)
      for (const double digit : {1.0, 2.0, 5.0})
        if (const double v = decade * digit; v >= least_ && v <= most_ && (digit == 1 || !is_wide)) all.push_back(v);
    return all;
  }

 private:
  double least_, most_, from_px_, to_px_;
  bool is_log_;
};

std::vector<double> values_of(const FigurePanel& panel) {
  std::vector<double> values;
  for (const FigureSeries& series : panel.series) {
    for (const FigurePoint& p : series.predicted) values.insert(values.end(), {p.value, p.low, p.high});
    for (const auto& [x, value] : series.published) values.push_back(value);
  }
  return values;
}

std::vector<double> xs_of(const FigurePanel& panel) {
  std::set<double> xs;
  for (const FigureSeries& series : panel.series) {
    for (const FigurePoint& p : series.predicted) xs.insert(p.x);
    for (const auto& [x, value] : series.published) xs.insert(x);
  }
  return {xs.begin(), xs.end()};
}

const std::string& colour_of(std::size_t i) {
  return svg::colours()[i % svg::colours().size()];
}

std::string lines_panel(const FigurePanel& panel) {
  const std::vector<double> xs = xs_of(panel);
  constexpr std::size_t kMostNamed = 12;  // so few values of x are ticks themselves, more are on a linear axis
  const bool has_few = xs.size() <= kMostNamed;
  const Axis x(xs, kPlotLeft, kPlotRight, has_few), y(values_of(panel), kPlotBottom, kPlotTop);
  std::string body;
  for (const double value : has_few ? xs : x.ticks())
    body += svg::line(x.at(value), kPlotTop, x.at(value), kPlotBottom, kGrid) +
            svg::text(x.at(value), kPlotBottom + 16, "middle", short_number(value));
  for (const double value : y.ticks())
    body += svg::line(kPlotLeft, y.at(value), kPlotRight, y.at(value), kGrid) +
            svg::text(kPlotLeft - 6, y.at(value) + 4, "end", short_number(value));
  if (panel.is_ideal_x)
    for (std::size_t i = 1; i < xs.size(); ++i)
      if (y.at(xs[i]) >= kPlotTop - 1)
        body += svg::dashed_line(x.at(xs[i - 1]), y.at(xs[i - 1]), x.at(xs[i]), y.at(xs[i]), "#888888");
  const std::size_t lines = std::min(kMostLines, panel.series.size());
  for (std::size_t i = 0; i < lines; ++i) {
    const FigureSeries& series = panel.series[i];
    std::vector<std::pair<double, double>> line, band;
    for (const FigurePoint& p : series.predicted) {
      line.emplace_back(x.at(p.x), y.at(p.value));
      band.emplace_back(x.at(p.x), y.at(p.high));
    }
    for (auto p = series.predicted.rbegin(); p != series.predicted.rend(); ++p)
      band.emplace_back(x.at(p->x), y.at(p->low));
    body += svg::area(band, colour_of(i)) + svg::polyline(line, colour_of(i));
    for (const auto& [at, value] : series.published) body += svg::ring(x.at(at), y.at(value), colour_of(i));
    const double row = kPlotTop + 10 + 18 * double(i);
    if (!series.name.empty())
      body += svg::square(kPlotRight + 12, row - 9, 10, colour_of(i)) +
              svg::text(kPlotRight + 27, row, "start", shortened(series.name, kMostNameLength));
  }
  if (lines < panel.series.size())
    body += svg::text(kPlotRight + 27, kPlotTop + 10 + 18 * double(lines), "start",
                      "and " + std::to_string(panel.series.size() - lines) + " more, not drawn");
  return body + svg::text((kPlotLeft + kPlotRight) / 2, kPlotBottom + 34, "middle", panel.x_name) +
         svg::text(kPlotLeft - 40, kPlotTop - 8, "start", panel.y_name);
}

std::string rows_panel(const FigurePanel& panel) {
  const Axis x(values_of(panel), kRowsLeft, kRowsRight);
  std::string body;
  for (const double value : x.ticks())
    body += svg::line(x.at(value), kPlotTop, x.at(value), kPlotBottom, kGrid) +
            svg::text(x.at(value), kPlotBottom + 16, "middle", short_number(value));
  const std::size_t rows = std::min(kMostRows, panel.series.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const FigureSeries& series = panel.series[i];
    const double y = kPlotTop + (kPlotBottom - kPlotTop) * (double(i) + 0.5) / double(rows);
    body += svg::text(kRowsLeft - 8, y + 4, "end", shortened(series.name, kMostNameLength + 8));
    for (const FigurePoint& p : series.predicted)
      body += svg::line(x.at(p.low), y, x.at(p.high), y, colour_of(0)) + svg::dot(x.at(p.value), y, colour_of(0));
    for (const auto& [at, value] : series.published) body += svg::ring(x.at(value), y, colour_of(1));
  }
  if (rows < panel.series.size())
    body += svg::text(kRowsLeft - 8, kPlotBottom + 16, "end",
                      "and " + std::to_string(panel.series.size() - rows) + " more");
  return body + svg::text((kRowsLeft + kRowsRight) / 2, kPlotBottom + 34, "middle", panel.y_name);
}

std::string panel_svg(const FigurePanel& panel, double left, double top) {
  constexpr std::size_t kMostTitleLength = 72;
  return "<g transform=\"translate(" + svg::number(left) + " " + svg::number(top) + ")\">\n<g font-weight=\"bold\">\n" +
         svg::text(16, 18, "start", shortened(panel.title, kMostTitleLength)) + "</g>\n" +
         (panel.has_rows() ? rows_panel(panel) : lines_panel(panel)) + "</g>\n";
}

bool has_rings(const FigurePanel& panel) {
  return std::any_of(panel.series.begin(), panel.series.end(),
                     [](const FigureSeries& series) { return !series.published.empty(); });
}

// A scenario lists published speeds, times and gains. Published arrivals and staleness are in its description, because
// papers give them as ranges or by another count of the layers.
std::string legend_of(const std::vector<FigurePanel>& panels) {
  const bool has_published = std::any_of(panels.begin(), panels.end(), has_rings);
  const bool has_all = std::all_of(panels.begin(), panels.end(), has_rings);
  return std::string("Predicted: lines, dots, with 80 % intervals. ") + (has_published ? "Published: rings. " : "") +
         (has_all ? "" : "No rings: what the paper says is in the scenario's description. ") +
         "Dashed: a speed-up without loss.";
}

}  // namespace

std::string figure_svg(const std::string& title, const std::vector<FigurePanel>& panels) {
  const std::size_t columns = std::min<std::size_t>(2, panels.size());
  const std::size_t rows = (panels.size() + columns - 1) / columns;
  std::string body = "<g font-size=\"16\" font-weight=\"bold\">\n" + svg::text(16, 24, "start", title) + "</g>\n" +
                     svg::text(16, 44, "start", legend_of(panels));
  for (std::size_t i = 0; i < panels.size(); ++i)
    body += panel_svg(panels[i], kPanelWidth * double(i % columns), kHeadHeight + kPanelHeight * double(i / columns));
  return svg::document(kPanelWidth * double(columns), kHeadHeight + kPanelHeight * double(rows), title, body);
}

}  // namespace lockstep::sim::report
