#include "sim/loss/loss_report.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::sim::loss {
namespace {

constexpr std::size_t kMostRefused = 5;

bool has_batches(const std::vector<LossPoint>& points) {
  return std::any_of(points.begin(), points.end(), [](const LossPoint& point) { return point.batch_tokens > 0; });
}

std::string law_text(const LossLaw& law) {
  const auto& p = law.parameters;
  std::string text = "L = " + formatted("%.4f", std::exp(p[kLogE])) + " + " + formatted("%.4g", law.amplitude_a()) +
                     " / N^" + formatted("%.4f", p[kAlpha]) + " + " + formatted("%.4g", law.amplitude_b()) +
                     " / D_min^" + formatted("%.4f", p[kBeta]) + "\n";
  return text + "critical batch = " + format_count(std::exp(p[kLogCritical])) + " tokens (D_min / 1e10)^" +
         formatted("%.3f", p[kCriticalExponent]) + " (" + law.critical_source + ")\n" + "spread of the loss " +
         formatted("%.2f", 100 * law.spread) + " %\n";
}

std::vector<double> absolute_errors(const std::vector<double>& log_errors) {
  std::vector<double> errors;
  for (const double log_error : log_errors) errors.push_back(std::expm1(std::abs(log_error)));
  return errors;
}

double median_error_of(const std::vector<LeftOutSize>& sizes, std::vector<double> LeftOutSize::*log_errors) {
  std::vector<double> all;
  for (const LeftOutSize& size : sizes)
    for (const double error : absolute_errors(size.*log_errors)) all.push_back(error);
  return all.empty() ? 0 : median(all);
}

std::string sizes_text(const LossFitReport& report) {
  if (report.sizes.empty()) return "Too few runs of other sizes: no size can be left out to check the law.\n";
  std::size_t inside = 0, points = 0;
  std::string rows;
  for (const LeftOutSize& size : report.sizes) {
    rows += "  " + format_count(size.parameters) + " parameters: median error " +
            percent(median(absolute_errors(size.log_errors))) + ", bias " +
            formatted("%+.1f %%", 100 * std::expm1(median(size.log_errors))) + ", " + std::to_string(size.inside) +
            " of " + std::to_string(size.log_errors.size()) + " inside\n";
    inside += static_cast<std::size_t>(size.inside);
    points += size.log_errors.size();
  }
  return "Tokens to the loss of each size, by a law of the other sizes: median error " + percent(report.median_error) +
         ", of the loss " + formatted("%.2f %%", 100 * report.median_loss_error) + "; " + std::to_string(inside) +
         " of " + std::to_string(points) + " losses inside the 80 % interval\n" + rows;
}

std::string batches_text(const std::vector<CriticalBatchCheck>& checks) {
  std::string text;
  for (const CriticalBatchCheck& check : checks)
    text += "  " + format_count(check.parameters) + " parameters, " + format_count(check.tokens) +
            " tokens: critical batch " + format_count(check.measured) + ", predicted " + format_count(check.predicted) +
            "\n";
  return text.empty() ? "" : "Critical batch of runs at several batches, by a law of the other sizes:\n" + text;
}

}  // namespace

LossFitReport fit_with_report(const LossTable& table, const LossLaw& prior) {
  const std::vector<LossPoint> points = without_small_batches(table.points);
  LossFitReport report;
  report.prior = prior;
  report.refused = table.refused;
  report.rows = static_cast<int>(table.points.size() + table.refused.size());
  report.used = static_cast<int>(points.size());
  report.law = fit_calibrated_law(points, prior, kLossCoverage);
  report.law.counts = prior.counts;
  report.law.critical_source =
      has_several_batches(points)
          ? "fitted on the same runs"
          : "of " + prior.id + ": " +
                (has_batches(points) ? "the runs have one batch" : "the runs' batches are not known");
  const double widening = report.law.spread / fit_loss_law(points, prior).spread;
  report.sizes = leave_out_sizes(points, prior, kLossCoverage, widening);
  report.median_error = median_error_of(report.sizes, &LeftOutSize::log_errors);
  report.median_loss_error = median_error_of(report.sizes, &LeftOutSize::log_loss_errors);
  report.batches = check_critical_batches(points, prior);
  return report;
}

std::string fit_report_text(const LossFitReport& report) {
  std::string text = "Fitted to " + std::to_string(report.used) + " of " + std::to_string(report.rows) +
                     " runs, starting from " + report.prior.id + "\n";
  if (report.used + static_cast<int>(report.refused.size()) < report.rows)
    text += "Left out: runs at a smaller batch than the best one of their size and tokens\n";
  for (std::size_t i = 0; i < std::min(kMostRefused, report.refused.size()); ++i)
    text += "Refused: " + report.refused[i] + "\n";
  return text + "\n" + law_text(report.law) + "\n" + sizes_text(report) + batches_text(report.batches);
}

}  // namespace lockstep::sim::loss
