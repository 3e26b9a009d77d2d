// Estimates quantities by a law from given results of the same experiment, without a simulation:
//
//   `iterations to converge`   S(N) = S_min (1 + N_crit / N), least squares in 1/N over given S at other numbers of
//                              workers.
//   `critical batch`           E(B) = E_min (1 + B / B_crit), least squares in B over given epochs at other batches.
//   `arrival times`            A lognormal with a Pareto tail (sim/cost/delay.hpp) through given percentiles.
#include <algorithm>
#include <cmath>

#include "engine/base/bisect.hpp"
#include "sim/cost/delay.hpp"
#include "sim/validation/result_model.hpp"

namespace lockstep::sim::validation {

namespace {

constexpr double kSameOff = 0.15;         // relative error of a result at the same size with other hyperparameters
constexpr double kLawOff = 0.10;          // relative error of a law between the given points
constexpr double kBeyond = 0.25;          // additional error for every factor of e beyond the given points
constexpr double kProbabilityOff = 0.10;  // relative error of a share of iterations
constexpr double kIterationsSeen = 1e4;   // number of iterations over which a maximum was observed, if not given

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

// Returns by how much x is outside the given points, as the distance in the logarithm from the nearest one; else 0.
double distance_beyond(const std::vector<Point>& points, double x) {
  const auto less = [](const Point& a, const Point& b) { return a.x < b.x; };
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), less);
  return std::max({0.0, std::log(least->x / x), std::log(x / most->x)});
}

void set_estimate(ResultModel& m, Quantity quantity, double value, double off) {
  m.task.quantity = quantity;
  m.task.estimate = {value, value * std::max(0.05, 1 - off), value * (1 + off)};
}

bool is_same_experiment(const Record& given, const Record& job) {
  if (!given.value || *given.value <= 0) return false;
  if (!given.group.empty() && given.group == job.group) return true;
  const auto model_of = [](const Record& one) { return one.model.is_known() ? one.model.id : one.model.stated; };
  return !given.source.empty() && given.source == job.source && given.system == job.system &&
         model_of(given) == model_of(job);
}

// Returns the number of gradients in an update. If it is not given, this is the number of workers.
int aggregated(const Job& job) {
  return job.aggregated > 0 ? job.aggregated : job.gpus;
}

void map_iterations(ResultModel& m) {
  const int workers = aggregated(m.job);
  if (workers <= 0) throw Unmapped{"gpus is not stated"};
  std::vector<Point> points;
  for (const Record& other : m.given) {
    if (other.measure.metric != m.metric() || !is_same_experiment(other, m.record) || aggregated(other) <= 0) continue;
    points.push_back({double(aggregated(other)), *other.value});
    m.use(other);
  }
  if (points.empty())
    throw Unmapped{"iterations to converge: no input of this experiment gives them at another number of workers"};
  const double n = workers, away = distance_beyond(points, n);
  const bool is_one = std::all_of(points.begin(), points.end(), [&](const Point& p) { return p.x == points[0].x; });
  if (is_one) {
    double sum = 0;
    for (const Point& p : points) sum += std::log(p.y);
    const double there = std::exp(sum / double(points.size())), ratio = points[0].x / n;
    if (ratio == 1) return set_estimate(m, Quantity::iterations, there, kSameOff);
    // A single point does not show whether the batch is below the critical one (S ~ 1/N) or above it (S = S_min).
    m.task.quantity = Quantity::iterations;
    m.task.estimate = {there * std::sqrt(ratio), there * std::min(1.0, ratio), there * std::max(1.0, ratio)};
    return m.assume("critical batch", "near the given batch", "one number of workers is given");
  }
  std::vector<Point> inverse;
  for (const Point& p : points) inverse.push_back({1 / p.x, p.y});
  const Line law = line_through(inverse);
  double value = law.intercept + law.slope / n;
  if (law.intercept <= 0 || law.slope <= 0) {  // the law does not fit: uses a power of N
    std::vector<Point> logs;
    for (const Point& p : points) logs.push_back({std::log(p.x), std::log(p.y)});
    const Line power = line_through(logs);
    value = std::exp(power.intercept + power.slope * std::log(n));
    m.assume("iterations", "a power of the number of workers", "the given ones do not follow S_min (1 + N_crit / N)");
  }
  set_estimate(m, Quantity::iterations, value, kLawOff + kBeyond * away);
}

void map_critical_batch(ResultModel& m) {
  std::vector<Point> points;
  for (const Record& other : m.given) {
    if (other.measure.metric != Metric::epochs_to_accuracy || other.group != m.record.group || other.group.empty())
      continue;
    const double batch = other.global_batch > 0 ? double(other.global_batch) : double(other.batch()) * other.gpus;
    if (!other.value || *other.value <= 0 || batch <= 0) continue;
    points.push_back({batch, *other.value});
    m.use(other);
  }
  const bool differ = std::any_of(points.begin(), points.end(), [&](const Point& p) { return p.x != points[0].x; });
  if (!differ) throw Unmapped{"critical batch: no inputs of this experiment give epochs at two batches"};
  const Line law = line_through(points);
  if (law.slope <= 0 || law.intercept <= 0)
    throw Unmapped{"critical batch: the given epochs do not grow with the batch as E_min (1 + B / B_crit) does"};
  const double value = law.intercept / law.slope;
  set_estimate(m, Quantity::iterations, value, 0.3 + kBeyond * distance_beyond(points, value));
}

// ---- Times at which gradients arrive ----

// Returns the probability that at least k of n gradients have arrived, if each has arrived with probability q.
double at_least(const ArrivalOrder& order, double q) {
  double sum = 0;
  for (int i = order.k; i <= order.n; ++i)
    sum += std::exp(std::lgamma(order.n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(order.n - i + 1.0) +
                    i * std::log(q) + (order.n - i) * std::log1p(-q));
  return std::min(1.0, sum);
}

// Returns the argument in (low, high) at which the increasing function f has a given value.
template <typename Function>
double invert(const Function& f, double wanted, double low, double high) {
  return bisect(low, high, [&](double x) { return f(x) < wanted; });
}

constexpr double kLeast = 1e-9;

// Returns a given share of gradients as a fraction.
double share_given(const Record& job) {
  return *job.value > 1 || job.measure.per_si == 100 ? *job.value / 100 : *job.value;
}

std::vector<PercentileSpec> given_percentiles(ResultModel& m) {
  std::map<double, double> by_share;
  for (const Record& other : m.given) {
    if (other.measure.metric != Metric::arrival || !is_same_experiment(other, m.record)) continue;
    const ArrivalSpec& arrival = other.arrival;
    if (arrival.before_s > 0) {
      const double share = share_given(other);
      if (share <= 0 || share >= 1) continue;
      const auto of_order = [&](double q) { return at_least(arrival.order, q); };
      by_share[invert(of_order, share, kLeast, 1 - kLeast)] = arrival.before_s;
    } else {
      by_share[arrival.at] = *other.value;
    }
    m.use(other);
  }
  std::vector<PercentileSpec> percentiles;
  for (const auto& [at, value] : by_share)
    if (percentiles.empty() || value > percentiles.back().value) percentiles.push_back({at, value});
  if (percentiles.size() < 2)
    throw Unmapped{"arrival times: fewer than two of them are given for this experiment, too few for a distribution"};
  return percentiles;
}

// Two percentiles determine a lognormal. A tail requires more.
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

void map_arrival(ResultModel& m) {
  const ArrivalSpec& wanted = m.record.arrival;
  const std::vector<PercentileSpec> percentiles = given_percentiles(m);
  const Delay delay(distribution_of(percentiles));
  const auto quantile = [&](double q) { return delay.quantile(q); };
  m.assume("arrivals", "independent of each other", "of a lognormal, with a Pareto tail where three are given");
  m.task.quantity = Quantity::arrival;
  if (wanted.before_s > 0) {
    const double q = invert(quantile, wanted.before_s, kLeast, 1 - kLeast);
    const double share = at_least(wanted.order, q);
    m.task.estimate = {share, std::max(0.0, share - kProbabilityOff), std::min(1.0, share + kProbabilityOff)};
    m.task.is_share = true;
    m.task.per_si = m.record.measure.per_si;
    return;
  }
  if (wanted.is_longest) m.assume("iterations that were observed", kIterationsSeen, "not stated");
  const double at = wanted.at;
  // If the requested share lies outside the given percentiles, the error grows with the share's rarity.
  const double rarest = 1 - percentiles.back().at, commonest = percentiles.front().at;
  const double away = std::max({0.0, std::log(rarest / (1 - at)), std::log(commonest / at)});
  set_estimate(m, Quantity::arrival, quantile(at), kLawOff + 2 * delay.fit_residual() + kBeyond * away);
}

}  // namespace

void set_workers_task(ResultModel& m) {
  if (m.metric() == Metric::iterations_to_converge) return map_iterations(m);
  if (m.metric() == Metric::critical_batch) return map_critical_batch(m);
  if (m.metric() == Metric::staleness) return set_staleness_task(m);
  map_arrival(m);
}

}  // namespace lockstep::sim::validation
