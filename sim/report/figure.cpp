#include "sim/report/figure.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/text.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim::report {
namespace {

const Scenario& scenario_of(const Report& report, const std::string& variant) {
  for (const Scenario& scenario : report.loaded.variants)
    if (scenario.variant == variant) return scenario;
  return report.loaded.variants.front();
}

// The metric of most published results; without any the time to accuracy or the throughput.
PublishedMetric metric_of(const Report& report) {
  std::map<PublishedMetric, int> counts;
  for (const Comparison& c : report.comparisons) ++counts[c.published.metric];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != counts.end()) return most->first;
  const bool has_accuracy =
      std::all_of(report.points.begin(), report.points.end(), [](const ReportPoint& row) { return row.has_accuracy; });
  return has_accuracy ? PublishedMetric::time_to_accuracy : PublishedMetric::samples_per_s;
}

// From SI to what the axis shows.
struct AxisUnit {
  std::string name;
  double in_si = 1;
};

AxisUnit unit_of_seconds(double most_s) {
  if (most_s < 1) return {"ms", 1e-3};
  if (most_s < 120) return {"s", 1};
  if (most_s < 7200) return {"min", 60};
  return most_s < 2 * 86400 ? AxisUnit{"hours", 3600} : AxisUnit{"days", 86400};
}

// The values of one metric that a panel draws. The gain over another row cannot be drawn.
class Quantity {
 public:
  Quantity(const Report& report, PublishedMetric metric) : report_(report), metric_(metric) {
    std::set<int> counts;
    for (const ReportPoint& row : report.points) counts.insert(row.point.gpus);
    is_speed_up_ = metric == PublishedMetric::scaling_efficiency && counts.size() > 1;
    double most = 0;
    for (const ReportPoint& row : report.points) most = std::max(most, point_of(row).value);
    if (metric == PublishedMetric::time_to_accuracy || metric == PublishedMetric::iteration)
      unit_ = unit_of_seconds(most);
    if (metric == PublishedMetric::scaling_efficiency && !is_speed_up_) unit_ = {"%", 0.01};
  }

  bool is_speed_up() const { return is_speed_up_; }

  std::string name() const {
    switch (metric_) {
      case PublishedMetric::scaling_efficiency:
        return is_speed_up_ ? "speed-up" : "scaling efficiency, %";
      case PublishedMetric::time_to_accuracy:
        return "time to the target, " + unit_.name;
      case PublishedMetric::iteration:
        return "iteration, " + unit_.name;
      case PublishedMetric::throughput_gain:
      case PublishedMetric::samples_per_s:
        break;
    }
    return "samples/s";
  }

  FigurePoint point_of(const ReportPoint& row) const {
    FigurePoint p = value_of(row);
    p.x = row.point.gpus;
    for (double* value : {&p.value, &p.low, &p.high}) *value *= factor_of(row.variant, row.point.gpus) / unit_.in_si;
    return p;
  }

  double published_value(const Comparison& c) const {
    return c.published.value * factor_of(c.variant, c.published.gpus) / unit_.in_si;
  }

 private:
  double factor_of(const std::string& variant, int gpus) const {
    return is_speed_up_ ? double(gpus) / scenario_of(report_, variant).baseline_gpus : 1;
  }

  FigurePoint value_of(const ReportPoint& row) const {
    const double rate = row.point.samples_per_s(), iteration_s = row.point.mean_iteration_s();
    const double faster = row.point.interval.low, slower = row.point.interval.high;
    switch (metric_) {
      case PublishedMetric::scaling_efficiency:
        return {0, row.scaling_efficiency, row.scaling_efficiency, row.scaling_efficiency};
      case PublishedMetric::time_to_accuracy:
        return {0, row.accuracy.seconds, row.accuracy.low_s, row.accuracy.high_s};
      case PublishedMetric::iteration:
        return {0, iteration_s, iteration_s * faster, iteration_s * slower};
      case PublishedMetric::throughput_gain:
      case PublishedMetric::samples_per_s:
        break;
    }
    return {0, rate, rate / slower, rate / faster};
  }

  const Report& report_;
  PublishedMetric metric_;
  bool is_speed_up_ = false;
  AxisUnit unit_;
};

FigureSeries& series_of(std::vector<FigureSeries>& all, const std::string& name) {
  for (FigureSeries& series : all)
    if (series.name == name) return series;
  all.push_back({name, {}, {}});
  return all.back();
}

bool has_several_counts(const Report& report) {
  return std::any_of(report.points.begin(), report.points.end(),
                     [&](const ReportPoint& row) { return row.point.gpus != report.points.front().point.gpus; });
}

// A row for each published gain, since each may be over another variant.
FigurePanel panel_of_gains(const std::string& title, const Report& report) {
  FigurePanel panel{title, "GPUs", "more samples/s, %", false, {}};
  for (const Comparison& c : report.comparisons) {
    if (c.published.metric != PublishedMetric::throughput_gain) continue;
    const double gain = 100 * c.predicted;
    FigureSeries& series =
        series_of(panel.series, c.variant + " over " + c.published.over +
                                    (has_several_counts(report) ? ", " + gpus_text(c.published.gpus) : ""));
    series.predicted = {{double(c.published.gpus), gain, gain, gain}};
    series.published.emplace_back(c.published.gpus, 100 * c.published.value);
  }
  return panel;
}

FigurePanel panel_of_results(const std::string& title, const Report& report) {
  const PublishedMetric metric = metric_of(report);
  if (metric == PublishedMetric::throughput_gain) return panel_of_gains(title, report);
  const Quantity quantity(report, metric);
  FigurePanel panel{title, "GPUs", quantity.name(), quantity.is_speed_up(), {}};
  for (const ReportPoint& row : report.points)
    series_of(panel.series, row.variant).predicted.push_back(quantity.point_of(row));
  for (const Comparison& c : report.comparisons)
    if (c.published.metric == metric)
      series_of(panel.series, c.variant).published.emplace_back(c.published.gpus, quantity.published_value(c));
  for (FigureSeries& series : panel.series)
    std::sort(series.predicted.begin(), series.predicted.end(),
              [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; });
  return panel;
}

const WorkersDetails* workers_of(const ReportPoint& row) {
  return row.point.details.workers ? &*row.point.details.workers : nullptr;
}

FigurePanel panel_of_arrivals(const std::string& title, const Report& report) {
  FigurePanel panel{title + ": arrival of gradients", "k-th gradient", "mean seconds after the parameters", false, {}};
  for (const ReportPoint& row : report.points) {
    const WorkersDetails* const workers = workers_of(row);
    if (workers == nullptr || !workers->arrivals_s) continue;
    FigureSeries& series = series_of(panel.series, row.variant);
    for (const GradientArrival& arrival : *workers->arrivals_s)
      series.predicted.push_back({double(arrival.k), arrival.mean, arrival.mean, arrival.mean});
  }
  return panel;
}

FigurePanel panel_of_staleness(const std::string& title, const Report& report) {
  FigurePanel panel{title + ": staleness",
                    "shard of the parameters, the first layer's first",
                    "updates between read and update, mean and standard deviation",
                    false,
                    {}};
  for (const ReportPoint& row : report.points) {
    const WorkersDetails* const workers = workers_of(row);
    if (workers == nullptr || !workers->staleness) continue;
    FigureSeries& series = series_of(panel.series, row.variant);
    for (const ShardStaleness& shard : *workers->staleness) {
      const SampleSummary& of = shard.summary;
      series.predicted.push_back({double(series.predicted.size() + 1), of.mean, of.mean - of.sd, of.mean + of.sd});
    }
  }
  return panel;
}

}  // namespace

bool FigurePanel::has_rows() const {
  return std::all_of(series.begin(), series.end(), [](const FigureSeries& s) { return s.predicted.size() <= 1; });
}

std::vector<FigurePanel> figure_panels(const std::string& title, const Report& report) {
  std::vector<FigurePanel> panels;
  for (const FigurePanel& panel : {panel_of_arrivals(title, report), panel_of_staleness(title, report)})
    if (!panel.series.empty()) panels.push_back(panel);
  // A panel with a single number is left out if there are other panels.
  if (panels.empty() || report.points.size() > 1) panels.insert(panels.begin(), panel_of_results(title, report));
  return panels;
}

}  // namespace lockstep::sim::report
