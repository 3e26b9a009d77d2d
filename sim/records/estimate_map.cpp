// What follows from given results of the same experiment by a law, without a simulation:
//
//   iterations to converge   S(N) = S_min (1 + N_crit / N), least squares in 1/N over given S at other numbers of
//   workers critical batch           E(B) = E_min (1 + B / B_crit), least squares in B over given epochs at other
//   batches arrival times            a lognormal with a Pareto tail (sim/cost/delay.hpp) through given percentiles
#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/cost/delay.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/measure.hpp"
#include "sim/records/names.hpp"

namespace lockstep::sim {

namespace {

constexpr double kSameOff = 0.15;         // of a result at the same size, with other hyperparameters
constexpr double kLawOff = 0.10;          // of a law through given points, between them
constexpr double kBeyond = 0.25;          // more for every factor of e beyond them
constexpr double kProbabilityOff = 0.10;  // of a share of iterations
constexpr double kIterationsSeen = 1e4;   // of a maximum for which it is not stated

struct Point {
  double x, y;
};

struct Line {
  double intercept, slope;
};

Line line_through(const std::vector<Point>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const double n = static_cast<double>(points.size());
  for (const Point& p : points) {
    x += p.x / n;
    y += p.y / n;
  }
  for (const Point& p : points) {
    xx += (p.x - x) * (p.x - x);
    xy += (p.x - x) * (p.y - y);
  }
  const double slope = xy / xx;
  return {y - slope * x, slope};
}

// The farthest of the points and the wanted place, in the logarithm, beyond the given ones.
double beyond(const std::vector<Point>& points, double x) {
  const auto less = [](const Point& a, const Point& b) { return a.x < b.x; };
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), less);
  return std::max({0.0, std::log(least->x / x), std::log(x / most->x)});
}

void set_estimate(Mapping& m, Quantity quantity, double value, double off) {
  m.result.quantity = quantity;
  m.result.estimate = {value, value * std::max(0.05, 1 - off), value * (1 + off)};
}

bool is_same_experiment(const Record& a, const Record& b) {
  if (a.role != Role::input || !a.value || *a.value <= 0) return false;
  if (!a.group.empty() && a.group == b.group) return true;
  return !a.source.empty() && a.source == b.source && a.system == b.system && a.model == b.model;
}

// "N=100, b=6": the gradients of an update; else all workers.
int aggregated(const Record& record) {
  static const std::regex stated(R"(\bN *= *(\d{1,6}))");
  std::smatch found;
  return std::regex_search(record.algorithm, found, stated) ? std::stoi(found[1].str()) : record.gpus;
}

void map_iterations(Mapping& m) {
  const int workers = aggregated(m.record);
  if (workers <= 0) throw Unmapped{"gpus is not stated"};
  std::vector<Point> points;
  for (const Record& other : m.all) {
    if (other.metric != m.record.metric || !is_same_experiment(other, m.record) || aggregated(other) <= 0) continue;
    points.push_back({double(aggregated(other)), *other.value});
    m.result.assumptions.push_back({other.metric, *other.value, "published", other.id});
  }
  if (points.empty())
    throw Unmapped{"iterations to converge: no input of this experiment gives them at another number of workers"};
  const double n = workers, away = beyond(points, n);
  const bool is_one = std::all_of(points.begin(), points.end(), [&](const Point& p) { return p.x == points[0].x; });
  if (is_one) {
    double sum = 0;
    for (const Point& p : points) sum += std::log(p.y);
    const double there = std::exp(sum / double(points.size())), ratio = points[0].x / n;
    if (ratio == 1) return set_estimate(m, Quantity::iterations, there, kSameOff);
    // Of one point the law leaves open whether the batch is below the critical one (S ~ 1/N) or above it (S = S_min).
    m.result.quantity = Quantity::iterations;
    m.result.estimate = {there * std::sqrt(ratio), there * std::min(1.0, ratio), there * std::max(1.0, ratio)};
    return m.assume("critical batch", "near the given batch", "one number of workers is given");
  }
  std::vector<Point> inverse;
  for (const Point& p : points) inverse.push_back({1 / p.x, p.y});
  const Line law = line_through(inverse);
  double value = law.intercept + law.slope / n;
  if (law.intercept <= 0 || law.slope <= 0) {  // outside of the law: a power of N
    std::vector<Point> logs;
    for (const Point& p : points) logs.push_back({std::log(p.x), std::log(p.y)});
    const Line power = line_through(logs);
    value = std::exp(power.intercept + power.slope * std::log(n));
    m.assume("iterations", "a power of the number of workers", "the given ones do not follow S_min (1 + N_crit / N)");
  }
  set_estimate(m, Quantity::iterations, value, kLawOff + kBeyond * away);
}

void map_critical_batch(Mapping& m) {
  std::vector<Point> points;
  for (const Record& other : m.all) {
    if (metric_of(other) != "epochs_to_accuracy" || other.group != m.record.group || other.group.empty()) continue;
    const double batch = other.global_batch > 0 ? double(other.global_batch) : double(other.batch()) * other.gpus;
    if (other.role != Role::input || !other.value || *other.value <= 0 || batch <= 0) continue;
    points.push_back({batch, *other.value});
    m.result.assumptions.push_back({other.metric, *other.value, "published", other.id});
  }
  const bool differ = std::any_of(points.begin(), points.end(), [&](const Point& p) { return p.x != points[0].x; });
  if (!differ) throw Unmapped{"critical batch: no inputs of this experiment give epochs at two batches"};
  const Line law = line_through(points);
  if (law.slope <= 0 || law.intercept <= 0)
    throw Unmapped{"critical batch: the given epochs do not grow with the batch as E_min (1 + B / B_crit) does"};
  const double value = law.intercept / law.slope;
  set_estimate(m, Quantity::iterations, value, 0.3 + kBeyond * beyond(points, value));
}

// ---- arrival times ----

// Of k-th of n gradients; n = 1: of any gradient.
struct Order {
  int k = 1, n = 1;
};

Order order_of(const Record& record) {
  static const std::regex of(R"((\d+)(?:st|nd|rd|th)? of (\d+))", std::regex::icase);
  for (const std::string& text : {record.unit, record.metric, record.notes, record.algorithm}) {
    std::smatch found;
    if (!std::regex_search(text, found, of)) continue;
    const Order order{std::stoi(found[1].str()), std::stoi(found[2].str())};
    if (order.k >= 1 && order.k <= order.n) return order;
  }
  return {};
}

// At least k of n come with probability q each.
double at_least(const Order& order, double q) {
  double sum = 0;
  for (int i = order.k; i <= order.n; ++i)
    sum += std::exp(std::lgamma(order.n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(order.n - i + 1.0) +
                    i * std::log(q) + (order.n - i) * std::log1p(-q));
  return std::min(1.0, sum);
}

// f grows over (low, high).
template <typename Function>
double where(const Function& f, double wanted, double low, double high) {
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

constexpr double kLeast = 1e-9;

// What an arrival metric is of: a time before which a share comes, or the time of a share.
struct Arrival {
  double before_s = 0;  ///< > 0: "cdf_at_2s"
  double at = 0;        ///< share of all gradients that come no later
};

std::optional<Arrival> arrival_of(const Record& record) {
  static const std::regex cdf(R"(^cdf_(?:at_)?(\d+(?:[._]\d+)?)_?s$)", std::regex::icase);
  static const std::regex percentile(R"((?:^|_)p(\d+(?:[._]\d+)?)(?:_|$))", std::regex::icase);
  std::smatch found;
  const auto number = [&] {
    std::string text = found[1].str();
    std::replace(text.begin(), text.end(), '_', '.');
    return std::stod(text);
  };
  const std::string& metric = record.metric;
  if (std::regex_match(metric, found, cdf)) return Arrival{number(), 0};
  if (!mentions(metric, "arrival") || mentions(metric, "range")) return std::nullopt;
  const Order order = order_of(record);
  const double one = order.n > 1 ? (order.k - 0.375) / (order.n + 0.25) : 0.5;  // Blom's place of the k-th of n
  if (std::regex_search(metric, found, percentile)) {
    const double at = number() / 100;
    return at > 0 && at < 1 ? std::optional<Arrival>(Arrival{0, at}) : std::nullopt;
  }
  if (mentions(metric, "max")) return Arrival{0, 1 - 1 / (kIterationsSeen * std::max(1, record.gpus))};
  if (mentions(metric, "mean") || mentions(metric, "median")) return Arrival{0, one};
  return std::nullopt;
}

double share_of_value(const Record& record) {
  return *record.value > 1 || mentions(record.unit, "%") ? *record.value / 100 : *record.value;
}

std::vector<PercentileSpec> given_percentiles(Mapping& m) {
  std::map<double, double> by_share;
  for (const Record& other : m.all) {
    if (!is_same_experiment(other, m.record)) continue;
    const std::optional<Arrival> arrival = arrival_of(other);
    if (!arrival) continue;
    if (arrival->before_s > 0) {
      const Order order = order_of(other);
      const double share = share_of_value(other);
      if (share <= 0 || share >= 1) continue;
      by_share[where([&](double q) { return at_least(order, q); }, share, kLeast, 1 - kLeast)] = arrival->before_s;
    } else {
      by_share[arrival->at] = *other.value;
    }
    m.result.assumptions.push_back({other.metric, *other.value, "published", other.id});
  }
  std::vector<PercentileSpec> percentiles;
  for (const auto& [at, value] : by_share)
    if (percentiles.empty() || value > percentiles.back().value) percentiles.push_back({at, value});
  if (percentiles.size() < 2)
    throw Unmapped{"arrival times: fewer than two of them are given for this experiment, too few for a distribution"};
  return percentiles;
}

// Two percentiles are a lognormal; only more say anything about a tail.
DelaySpec distribution_of(const std::vector<PercentileSpec>& percentiles) {
  DelaySpec spec;
  spec.in_seconds = true;
  if (percentiles.size() > 2) {
    spec.kind = DelaySpec::Kind::percentiles;
    spec.percentiles = percentiles;
    return spec;
  }
  spec.kind = DelaySpec::Kind::lognormal;
  spec.shape = 1;
  const Delay standard(spec);
  const auto z = [&](const PercentileSpec& p) { return std::log(standard.quantile(p.at)); };
  const PercentileSpec &a = percentiles[0], &b = percentiles[1];
  spec.shape = std::log(b.value / a.value) / (z(b) - z(a));
  spec.scale = a.value * std::exp(-spec.shape * z(a));
  return spec;
}

void map_arrival(Mapping& m) {
  const Arrival wanted = *arrival_of(m.record);
  const std::vector<PercentileSpec> percentiles = given_percentiles(m);
  const Delay delay(distribution_of(percentiles));
  const auto quantile = [&](double q) { return delay.quantile(q); };
  m.assume("arrivals", "independent of each other", "of a lognormal, with a Pareto tail where three are given");
  m.result.quantity = Quantity::arrival;
  if (wanted.before_s > 0) {
    const double q = where(quantile, wanted.before_s, kLeast, 1 - kLeast);
    const double share = at_least(order_of(m.record), q);
    m.result.estimate = {share, std::max(0.0, share - kProbabilityOff), std::min(1.0, share + kProbabilityOff)};
    m.result.is_share = true;
    if (mentions(m.record.unit, "%")) m.result.per_si = 100;
    return;
  }
  if (mentions(m.metric, "max")) m.assume("iterations that were observed", kIterationsSeen, "not stated");
  const double at = wanted.at;
  // A share that the given ones do not enclose is off by as many times as it is rarer.
  const double rarest = 1 - percentiles.back().at, commonest = percentiles.front().at;
  const double away = std::max({0.0, std::log(rarest / (1 - at)), std::log(commonest / at)});
  set_estimate(m, Quantity::arrival, quantile(at), kLawOff + 2 * delay.fit_residual() + kBeyond * away);
}

}  // namespace

bool is_of_workers(const Mapping& m) {
  return mentions(m.metric, "staleness_") || (mentions(m.metric, "_staleness") && !mentions(m.metric, "error")) ||
         m.metric == "iterations_to_converge" || m.metric == "critical_batch" || arrival_of(m.record);
}

void map_workers(Mapping& m) {
  if (m.metric == "iterations_to_converge") return map_iterations(m);
  if (m.metric == "critical_batch") return map_critical_batch(m);
  if (mentions(m.metric, "staleness")) return map_staleness(m);
  map_arrival(m);
}

}  // namespace lockstep::sim
