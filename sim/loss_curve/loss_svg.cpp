#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/svg.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/loss_curve/loss_question.hpp"

namespace lockstep::sim::loss_curve {
namespace {

constexpr double kWidth = 760, kHeight = 420, kLeft = 64, kRight = 200, kTop = 24, kBottom = 52;
constexpr int kPoints = 60;   // points of a line
constexpr double kSpan = 10;  // a line extends from a tenth of the row's tokens to ten times them
constexpr std::size_t kMostLines = 8;
constexpr const char* kGrid = "#dddddd";

struct Line {
  std::string label;
  std::vector<std::pair<double, double>> points;  ///< x (days or tokens), loss
  std::pair<double, double> row;                  ///< the requested point
};

std::string label_of(const LossAnswer& answer, const LossRow& row) {
  std::string label = answer.question.model_family.empty() ? "" : format_count(row.parameters) + ", ";
  if (row.gpus > 0) label += std::to_string(row.gpus) + " GPUs, ";
  return label + "batch " + (row.batch_tokens > 0 ? format_count(row.batch_tokens) : "small");
}

Line line_of(const LossAnswer& answer, const LossRow& row) {
  const double calendar = row.calendar_s ? row.calendar_s->middle / row.seconds.middle : 1;
  const double per_x = row.gpus > 0 ? row.tokens_per_s.middle * kDay_s / calendar : 1;
  Line line{label_of(answer, row), {}, {row.tokens.middle / per_x, row.loss.middle}};
  for (int i = 0; i <= kPoints; ++i) {
    const double tokens = row.tokens.middle * std::pow(kSpan, 2.0 * i / kPoints - 1);
    line.points.emplace_back(tokens / per_x, loss_of(answer.law, row.parameters, tokens, row.batch_tokens));
  }
  return line;
}

/// Returns a line for each size, number of GPUs and batch, the best first.
std::vector<Line> lines_of(const LossAnswer& answer) {
  std::map<std::string, int> seen;
  std::vector<Line> lines;
  for (const LossRow& row : answer.rows) {
    if (!row.refused.empty() || lines.size() == kMostLines || seen[label_of(answer, row)]++ > 0) continue;
    lines.push_back(line_of(answer, row));
  }
  return lines;
}

/// Scales x logarithmically and the loss linearly.
struct Axes {
  double least_x = 1e300, most_x = 0, least_loss = 1e300, most_loss = 0;
  double x(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * std::log(value / least_x) / std::log(most_x / least_x);
  }
  double y(double loss) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (loss - least_loss) / (most_loss - least_loss);
  }
};

Axes axes_of(const std::vector<Line>& lines) {
  Axes axes;
  for (const Line& line : lines)
    for (const auto& [x, loss] : line.points) {
      axes.least_x = std::min(axes.least_x, x);
      axes.most_x = std::max(axes.most_x, x);
      axes.least_loss = std::min(axes.least_loss, loss);
      axes.most_loss = std::max(axes.most_loss, loss);
    }
  return axes;
}

std::string grid_of(const Axes& axes, bool is_days) {
  std::string svg;
  for (double decade = std::pow(10, std::floor(std::log10(axes.least_x))); decade < axes.most_x; decade *= 10)
    for (const double step : {1, 2, 5}) {
      const double x = decade * step;
      if (x < axes.least_x || x > axes.most_x) continue;
      svg += svg::line(axes.x(x), kTop, axes.x(x), kHeight - kBottom, kGrid) +
             svg::text(axes.x(x), kHeight - kBottom + 18, "middle", format_count(x));
    }
  const double step = std::max(0.05, std::round((axes.most_loss - axes.least_loss) / 8 / 0.05) * 0.05);
  for (double loss = std::ceil(axes.least_loss / step) * step; loss <= axes.most_loss; loss += step)
    svg += svg::line(kLeft, axes.y(loss), kWidth - kRight, axes.y(loss), kGrid) +
           svg::text(kLeft - 8, axes.y(loss) + 4, "end", formatted("%.2f", loss));
  svg += svg::text((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", is_days ? "days of training" : "tokens");
  return svg + svg::text(kLeft, kTop - 8, "start", "loss (nats per token)");
}

}  // namespace

std::string loss_svg(const LossAnswer& answer) {
  const std::vector<Line> lines = lines_of(answer);
  const Axes axes = axes_of(lines);
  std::string body = grid_of(axes, answer.question.has_machine());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& colour = svg::colours()[i % svg::colours().size()];
    std::vector<std::pair<double, double>> points;
    for (const auto& [x, loss] : lines[i].points) points.emplace_back(axes.x(x), axes.y(loss));
    const double y = kTop + 16 + 18 * static_cast<double>(i);
    body += svg::polyline(points, colour) + svg::dot(axes.x(lines[i].row.first), axes.y(lines[i].row.second), colour) +
            svg::square(kWidth - kRight + 12, y - 9, 10, colour) +
            svg::text(kWidth - kRight + 28, y, "start", lines[i].label);
  }
  const std::string over = answer.question.has_machine() ? "days" : "tokens";
  return svg::document(kWidth, kHeight, "Loss over " + over, body);
}

}  // namespace lockstep::sim::loss_curve
