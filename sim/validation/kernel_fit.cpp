#include "sim/validation/kernel_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim {
inline namespace validation {
namespace {

constexpr double kSmallResidual = 0.03;      // smaller residuals count by their square
constexpr std::size_t kMostTermRows = 4000;  // largest number of rows on which the terms are fitted
constexpr int kTermSteps = 60, kTableRounds = 3, kTableSteps = 60;
constexpr double kPriorWeight = 0.01,
                 kNeighbourWeight = 0.06;  // weights of 0 and of a neighbouring node, in rows
constexpr std::size_t kFewestSamples = 12;

std::uint64_t hash_of(const std::string& text) {  // FNV-1a
  std::uint64_t hash = 14695981039346656037u;
  for (unsigned char c : text) hash = (hash ^ c) * 1099511628211u;
  return hash ^ (hash >> 29);
}

double robust_weight(double residual) {
  return 1 / std::max(std::abs(residual), kSmallResidual);
}

double robust_cost(const Eigen::VectorXd& residuals) {
  double cost = 0;
  for (double r : residuals) {
    const double a = std::abs(r);
    cost += a < kSmallResidual ? a * a / (2 * kSmallResidual) : a - kSmallResidual / 2;
  }
  return cost;
}

/// Holds the logarithms of a law's terms. Each has a lower and an upper bound.
struct Terms {
  Eigen::VectorXd start, low, high;
  std::function<void(const Eigen::VectorXd&, KernelLaw&)> set;
};

Eigen::VectorXd logs(std::initializer_list<double> values) {
  Eigen::VectorXd result(static_cast<Eigen::Index>(values.size()));
  Eigen::Index i = 0;
  for (double value : values) result[i++] = std::log(value);
  return result;
}

Terms roofline_terms() {
  return {
      logs({3e-6, 0.6, 0.7, 2, 0.7}), logs({1e-7, 0.01, 0.01, 1, 0.01}), logs({1e-2, 1, 4, 8, 8}),
      [](const Eigen::VectorXd& x, KernelLaw& law) {
        law.roofline = RooflineTerms{std::exp(x[0]), std::exp(x[1]), std::exp(x[2]), std::exp(x[3]), std::exp(x[4])};
      }};
}

Terms message_terms() {
  return {logs({5e-6, 1e-6, 1e11, 1e-10}), logs({1e-7, 1e-9, 1e8, 1e-13}), logs({1e-2, 1e-3, 1e13, 1e-5}),
          [](const Eigen::VectorXd& x, KernelLaw& law) {
            law.message = MessageTerms{std::exp(x[0]), std::exp(x[1]), std::exp(x[2]), std::exp(x[3])};
          }};
}

bool is_message(KernelKind kind) {
  return kind == KernelKind::collective || kind == KernelKind::dispatch;
}

using Samples = std::vector<const KernelSample*>;

Eigen::VectorXd residuals_of(const KernelLaw& law, const Samples& samples, const KernelPeaks& peaks) {
  Eigen::VectorXd residuals(static_cast<Eigen::Index>(samples.size()));
  for (std::size_t i = 0; i < samples.size(); ++i)
    residuals[static_cast<Eigen::Index>(i)] =
        std::log(law.plain_seconds(samples[i]->work, peaks) / samples[i]->seconds);
  return residuals;
}

void fit_terms(KernelLaw& law, const Terms& terms, const Samples& samples, const KernelPeaks& peaks) {
  constexpr double kSlopeStep = 1e-4;
  const auto residuals_at = [&](const Eigen::VectorXd& x) {
    terms.set(x, law);
    return residuals_of(law, samples, peaks);
  };
  Eigen::VectorXd x = terms.start, residuals = residuals_at(x);
  double cost = robust_cost(residuals), damping = 1e-2;
  for (int step = 0; step < kTermSteps; ++step) {
    Eigen::MatrixXd slopes(residuals.size(), x.size());
    for (Eigen::Index j = 0; j < x.size(); ++j) {
      Eigen::VectorXd moved = x;
      moved[j] += kSlopeStep;
      slopes.col(j) = (residuals_at(moved) - residuals) / kSlopeStep;
    }
    const Eigen::VectorXd weights = residuals.unaryExpr(&robust_weight);
    const Eigen::MatrixXd normal = slopes.transpose() * weights.asDiagonal() * slopes;
    const Eigen::VectorXd gradient = slopes.transpose() * weights.asDiagonal() * residuals;
    bool is_better = false;
    double gain = 0;
    for (int tries = 0; tries < 10 && !is_better; ++tries) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() += damping * normal.diagonal() + Eigen::VectorXd::Constant(x.size(), 1e-9);
      const Eigen::VectorXd change = damped.ldlt().solve(-gradient).cwiseMax(-1).cwiseMin(1);
      const Eigen::VectorXd next = (x + change).cwiseMax(terms.low).cwiseMin(terms.high);
      const Eigen::VectorXd there = residuals_at(next);
      const double next_cost = robust_cost(there);
      if (next_cost < cost) {
        is_better = true;
        gain = cost - next_cost;
        x = next, residuals = there, cost = next_cost;
        damping = std::max(damping / 3, 1e-6);
      } else {
        damping *= 4;
      }
    }
    if (!is_better || gain < 1e-6 * cost) break;
  }
  terms.set(x, law);
}

CorrectionAxis axis(KernelKind kind, const char* name, double low, double high, double step) {
  const std::vector<std::string>& names = axis_names(kind);
  const auto found = std::find(names.begin(), names.end(), name);
  return {static_cast<int>(found - names.begin()), low, step, static_cast<int>(std::lround((high - low) / step)) + 1};
}

// Nodes are an octave apart. They are closer where the library selects kernels by width (heads), and farther apart
// where kernels hardly differ.
std::vector<Correction> tables_of(KernelKind kind) {
  const auto at = [&](const char* name, double low, double high, double step = 1) {
    return axis(kind, name, low, high, step);
  };
  switch (kind) {
    case KernelKind::gemm:
      return {{{at("m", 6, 15), at("n", 5, 16), at("k", 5, 16)}, {}}};
    case KernelKind::attention:
      return {{{at("sequence", 7, 16), at("batch_heads", 0, 12), at("head_dim", 6, 9, 0.25)}, {}},
              {{at("mask_ratio", 0, 7), at("window", 7, 16), at("head_dim", 6, 9)}, {}},
              {{at("group", 0, 6), at("sequence", 7, 15, 2), at("head_dim", 6, 9)}, {}},
              {{at("batch", 0, 8), at("heads", 0, 7), at("sequence", 7, 15, 2)}, {}}};
    case KernelKind::mla:
      return {{{at("sequence", 7, 16), at("batch", 0, 8), at("heads", 0, 7)}, {}}};
    case KernelKind::experts:
      return {{{at("rows", 0, 16), at("inner", 6, 15), at("local_experts", 0, 9)}, {}},
              {{at("rows", 0, 16, 2), at("hidden", 10, 13, 0.5), at("active", 0, 5)}, {}},
              {{at("skew", 0, 6), at("expert_ranks", 0, 6), at("rows", 0, 16, 2)}, {}}};
    case KernelKind::collective:
      return {{{at("bytes", 8, 35), at("gpus", 1, 3)}, {}}};
    case KernelKind::dispatch:
      return {{{at("tokens", 0, 17), at("gpus", 1, 6)}, {}},
              {{at("tokens", 0, 16, 2), at("multiprocessors", 0, 8)}, {}},
              {{at("tokens", 0, 16, 2), at("hidden", 10, 14, 0.5)}, {}}};
    case KernelKind::cast:
      return {{{at("m", 6, 17), at("k", 5, 17)}, {}}};
  }
  return {};
}

// Finds the nodes next to each node along every axis.
std::vector<std::vector<std::size_t>> neighbours_in(const std::vector<CorrectionAxis>& axes) {
  const auto nodes = static_cast<std::size_t>(node_count(axes));
  std::vector<std::vector<std::size_t>> neighbours(nodes);
  std::size_t stride = nodes;
  for (const CorrectionAxis& axis : axes) {
    const auto length = static_cast<std::size_t>(axis.nodes);
    stride /= length;
    for (std::size_t n = 0; n < nodes; ++n) {
      const std::size_t place = n / stride % length;
      if (place > 0) neighbours[n].push_back(n - stride);
      if (place + 1 < length) neighbours[n].push_back(n + stride);
    }
  }
  return neighbours;
}

// Fits one table to residuals of the logarithm, and returns its values at the nodes.
std::vector<double> fit_table(const std::vector<CorrectionAxis>& axes, const Samples& samples,
                              const std::vector<double>& residuals) {
  std::vector<TableCorners> corners;
  for (const KernelSample* sample : samples) corners.push_back(corners_of(axes, sample->work));
  const auto nodes = static_cast<std::size_t>(node_count(axes));
  std::vector<double> table(nodes, 0), sum(nodes), weight(nodes);
  const std::vector<std::vector<std::size_t>> neighbours = neighbours_in(axes);
  for (int step = 0; step < kTableSteps; ++step) {
    std::fill(sum.begin(), sum.end(), 0);
    std::fill(weight.begin(), weight.end(), 0);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      double left = residuals[i];
      for (int c = 0; c < corners[i].count; ++c)
        left -= corners[i].weight[static_cast<std::size_t>(c)] *
                table[static_cast<std::size_t>(corners[i].node[static_cast<std::size_t>(c)])];
      const double robust = kSmallResidual * robust_weight(left);
      for (int c = 0; c < corners[i].count; ++c) {
        const auto node = static_cast<std::size_t>(corners[i].node[static_cast<std::size_t>(c)]);
        const double w = robust * corners[i].weight[static_cast<std::size_t>(c)];
        sum[node] += w * left;
        weight[node] += w;
      }
    }
    for (std::size_t n = 0; n < nodes; ++n) {
      double pull = -kPriorWeight * table[n], stiffness = kPriorWeight;
      for (std::size_t other : neighbours[n]) {
        pull += kNeighbourWeight * (table[other] - table[n]);
        stiffness += kNeighbourWeight;
      }
      table[n] += (sum[n] + pull) / (weight[n] + stiffness);
    }
  }
  return table;
}

// Makes values along one axis of a table ascend. Each becomes the mean of the largest value up to it and the smallest
// from it on. With `only_up` it becomes the largest value up to it.
void make_ascend(std::vector<double>& values, std::size_t stride, std::size_t length, bool only_up) {
  for (std::size_t first = 0; first < values.size(); ++first) {
    if (first / stride % length != 0) continue;
    std::vector<double> largest(length), smallest(length);
    for (std::size_t i = 0; i < length; ++i) {
      largest[i] = std::max(values[first + i * stride], i > 0 ? largest[i - 1] : -1e300);
      const std::size_t j = length - 1 - i;
      smallest[j] = std::min(values[first + j * stride], i > 0 ? smallest[j + 1] : 1e300);
    }
    for (std::size_t i = 0; i < length; ++i)
      values[first + i * stride] = only_up ? largest[i] : (largest[i] + smallest[i]) / 2;
  }
}

// A GEMM with more rows, columns or inputs never takes less time. Changes the law's only table so that its times at the
// nodes ascend along all axes.
void make_gemm_ascend(const KernelLaw& law, KernelPrecision precision, const KernelPeaks& peaks,
                      std::vector<double>& table) {
  const std::vector<CorrectionAxis>& axes = law.corrections.front().axes;
  std::vector<double> plain(table.size());
  std::vector<std::size_t> strides(axes.size());
  for (std::size_t node = 0; node < table.size(); ++node) {
    std::size_t stride = table.size();
    std::array<double, 3> shape{};
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const auto length = static_cast<std::size_t>(axes[a].nodes);
      strides[a] = stride /= length;
      shape[a] = std::exp2(axes[a].low + axes[a].step * double(node / stride % length));
    }
    plain[node] = std::log(law.plain_seconds(gemm_work({shape[0], shape[1], shape[2]}, precision), peaks));
  }
  std::vector<double> logarithms(table.size());
  for (std::size_t node = 0; node < table.size(); ++node) logarithms[node] = plain[node] + table[node];
  for (const bool only_up : {false, false, true})
    for (std::size_t a = 0; a < axes.size(); ++a)
      make_ascend(logarithms, strides[a], static_cast<std::size_t>(axes[a].nodes), only_up);
  for (std::size_t node = 0; node < table.size(); ++node) table[node] = logarithms[node] - plain[node];
}

double value_at(const std::vector<double>& table, const TableCorners& corners) {
  double value = 0;
  for (int c = 0; c < corners.count; ++c)
    value += corners.weight[static_cast<std::size_t>(c)] *
             table[static_cast<std::size_t>(corners.node[static_cast<std::size_t>(c)])];
  return value;
}

void fit_tables(KernelLaw& law, const Samples& samples, const KernelPeaks& peaks) {
  law.corrections = tables_of(samples.front()->work.kind);
  std::vector<std::vector<double>> tables(law.corrections.size());
  std::vector<double> residuals;
  for (double r : residuals_of(law, samples, peaks)) residuals.push_back(-r);
  for (int round = 0; round < kTableRounds; ++round) {
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const std::vector<CorrectionAxis>& axes = law.corrections[t].axes;
      const std::vector<double> before = tables[t];
      for (std::size_t i = 0; i < samples.size() && !before.empty(); ++i)
        residuals[i] += value_at(before, corners_of(axes, samples[i]->work));
      tables[t] = fit_table(axes, samples, residuals);
      for (std::size_t i = 0; i < samples.size(); ++i)
        residuals[i] -= value_at(tables[t], corners_of(axes, samples[i]->work));
    }
  }
  const KernelWork& first = samples.front()->work;
  if (first.kind == KernelKind::gemm) make_gemm_ascend(law, first.precision, peaks, tables.front());
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (double value : tables[t]) law.corrections[t].permille.push_back(static_cast<int>(std::lround(1000 * value)));
}

std::vector<ShapeRange> range_of(const Samples& samples) {
  std::vector<ShapeRange> range(axis_names(samples.front()->work.kind).size(), {1e300, 0});
  for (const KernelSample* sample : samples)
    for (std::size_t i = 0; i < range.size(); ++i) {
      range[i].low = std::min(range[i].low, sample->work.axes[i]);
      range[i].high = std::max(range[i].high, sample->work.axes[i]);
    }
  return range;
}

// Selects rows that are spread evenly over the samples.
Samples some_of(const Samples& samples) {
  if (samples.size() <= kMostTermRows) return samples;
  Samples some;
  for (std::size_t i = 0; i < kMostTermRows; ++i) some.push_back(samples[i * samples.size() / kMostTermRows]);
  return some;
}

std::vector<HeldOutTime> some_held_out(const KernelLaw& law, const std::vector<KernelSample>& samples,
                                       const KernelPeaks& peaks) {
  constexpr std::size_t kMostShown = 40;
  Samples held_out;
  for (const KernelSample& sample : samples)
    if (sample.is_held_out) held_out.push_back(&sample);
  std::vector<HeldOutTime> shown;
  const std::size_t count = std::min(kMostShown, held_out.size());
  for (std::size_t i = 0; i < count; ++i) {
    const KernelSample& sample = *held_out[i * held_out.size() / count];
    shown.push_back({sample.seconds, law.seconds(sample.work, peaks)});
  }
  return shown;
}

double rounded(double value) {  // five digits: repeated measurements differ by more
  return std::stod(formatted("%.5g", value));
}

}  // namespace

bool is_held_out(const std::string& split_key) {
  return hash_of(split_key) % 3 == 0;
}

KernelLawFit fit_kernel_law(const std::string& name, const std::string& source,
                            const std::vector<KernelSample>& samples, const KernelPeaks& peaks) {
  Samples all, seen;
  for (const KernelSample& sample : samples) {
    all.push_back(&sample);
    if (!sample.is_held_out) seen.push_back(&sample);
  }
  if (seen.size() == all.size())
    throw InputError("law " + in_quotes(name) +
                     ": no held-out rows, so its error is unknown; needs rows of more shapes");
  if (seen.size() < kFewestSamples)
    throw InputError("law " + in_quotes(name) + ": " + std::to_string(seen.size()) + " rows to fit; needs at least " +
                     std::to_string(kFewestSamples));
  KernelLaw law;
  law.name = name;
  law.source = source;
  law.rows = static_cast<int>(all.size());
  const Terms terms = is_message(seen.front()->work.kind) ? message_terms() : roofline_terms();
  fit_terms(law, terms, some_of(seen), peaks);
  if (law.roofline)
    RooflineTerms::visit_fields(*law.roofline, [](const char*, double& value) { value = rounded(value); });
  else
    MessageTerms::visit_fields(*law.message, [](const char*, double& value) { value = rounded(value); });
  fit_tables(law, seen, peaks);
  law.error = kernel_law_error(law, samples, peaks);
  KernelLawFit fit;
  fit.held_out = some_held_out(law, samples, peaks);
  fit_tables(law, all, peaks);
  law.range = range_of(all);
  fit.law = std::move(law);
  return fit;
}

KernelLawError kernel_law_error(const KernelLaw& law, const std::vector<KernelSample>& samples,
                                const KernelPeaks& peaks, bool all) {
  std::vector<double> errors, ratios;
  for (const KernelSample& sample : samples) {
    if (!all && !sample.is_held_out) continue;
    const double ratio = sample.seconds / law.seconds(sample.work, peaks);
    ratios.push_back(ratio);
    errors.push_back(std::abs(1 / ratio - 1));
  }
  if (errors.empty()) return {};
  return {rounded(median(errors)), rounded(quantile(errors, 0.9)), rounded(quantile(ratios, 0.1)),
          rounded(quantile(ratios, 0.9)), static_cast<int>(errors.size())};
}

}  // namespace validation
}  // namespace lockstep::sim
