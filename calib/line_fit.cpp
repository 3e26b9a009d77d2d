#include "calib/line_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "engine/base/statistics.hpp"

namespace lockstep::calib {
namespace {

using Points = std::vector<Measured>;
constexpr double kShortest_s = 1e-60, kLongest_s = 1e60;  // profiles have narrower bounds (sample_log.hpp)

// Least squares of the relative error, with one of the two coefficients fixed at 0.
double only_latency(const Points& points) {
  double above = 0, below = 0;
  for (const Measured& p : points) {
    above += 1 / p.seconds;
    below += 1 / (p.seconds * p.seconds);
  }
  return above / below;
}

double only_slope(const Points& points) {
  double above = 0, below = 0;
  for (const Measured& p : points) {
    above += p.x / p.seconds;
    below += p.x * p.x / (p.seconds * p.seconds);
  }
  return below > 0 ? above / below : 0;
}

double squared_error(const Line& line, const Points& points) {
  double sum = 0;
  for (const Measured& p : points) sum += std::pow(line.at(p.x) / p.seconds - 1, 2);
  return sum;
}

bool has_two_sizes(const Points& points) {
  return std::any_of(points.begin(), points.end(), [&](const Measured& p) { return p.x != points.front().x; });
}

struct Candidate {
  std::vector<std::size_t> begins;  // index of each piece's first point
  double squared = std::numeric_limits<double>::infinity();
};

std::vector<Piece> pieces_of(const Points& points, const std::vector<std::size_t>& begins) {
  std::vector<Piece> pieces;
  for (std::size_t b = 0; b < begins.size(); ++b) {
    const std::size_t end = b + 1 < begins.size() ? begins[b + 1] : points.size();
    const Points part(points.begin() + static_cast<std::ptrdiff_t>(begins[b]),
                      points.begin() + static_cast<std::ptrdiff_t>(end));
    pieces.push_back({points[begins[b]].x, fit_line(part)});
  }
  return pieces;
}

// Finds the best split of points sorted by x into k pieces of at least two sizes each, by dynamic programming over the
// sizes. Entry cost[i][j] is the squared error of one line over the points i .. j - 1.
class Splitter {
 public:
  explicit Splitter(const Points& points) : points_(points) {
    for (std::size_t i = 0; i < points.size(); ++i)
      if (i == 0 || points[i].x != points[i - 1].x) first_of_size_.push_back(i);
    first_of_size_.push_back(points.size());
    const std::size_t n = sizes();
    cost_.assign(n + 1, std::vector<double>(n + 1, std::numeric_limits<double>::infinity()));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 2; j <= n; ++j) cost_[i][j] = cost_of(i, j);
    if (n == 1) cost_[0][1] = cost_of(0, 1);
  }

  std::size_t sizes() const { return first_of_size_.size() - 1; }

  Candidate best(int pieces) const {
    const std::size_t n = sizes();
    std::vector<std::vector<double>> least(static_cast<std::size_t>(pieces) + 1,
                                           std::vector<double>(n + 1, std::numeric_limits<double>::infinity()));
    std::vector<std::vector<std::size_t>> from(least.size(), std::vector<std::size_t>(n + 1, 0));
    least[0][0] = 0;
    for (std::size_t k = 1; k < least.size(); ++k)
      for (std::size_t j = 1; j <= n; ++j)
        for (std::size_t i = 0; i < j; ++i) {
          const double sum = least[k - 1][i] + cost_[i][j];
          if (sum >= least[k][j]) continue;
          least[k][j] = sum;
          from[k][j] = i;
        }
    Candidate candidate;
    candidate.squared = least.back()[n];
    if (!std::isfinite(candidate.squared)) return candidate;
    std::size_t end = n;
    for (std::size_t k = least.size() - 1; k > 0; --k) {
      end = from[k][end];
      candidate.begins.insert(candidate.begins.begin(), first_of_size_[end]);
    }
    return candidate;
  }

 private:
  double cost_of(std::size_t i, std::size_t j) const {
    const Points part(points_.begin() + static_cast<std::ptrdiff_t>(first_of_size_[i]),
                      points_.begin() + static_cast<std::ptrdiff_t>(first_of_size_[j]));
    return squared_error(fit_line(part), part);
  }

  const Points& points_;
  std::vector<std::size_t> first_of_size_;
  std::vector<std::vector<double>> cost_;
};

double line_at(const std::vector<Piece>& pieces, double x) {
  const Piece* piece = &pieces.front();
  for (const Piece& next : pieces)
    if (x >= next.from_x) piece = &next;
  return piece->line.at(x);
}

double worst_error(const std::vector<Piece>& pieces, const Points& points) {
  double worst = 0;
  for (const Measured& p : points) worst = std::max(worst, std::abs(line_at(pieces, p.x) / p.seconds - 1));
  return worst;
}

std::vector<Piece> choose_pieces(const Points& points, const LineFitOptions& options) {
  const Splitter splitter(points);
  const double n = static_cast<double>(points.size());
  std::vector<Piece> chosen;
  double least = std::numeric_limits<double>::infinity();
  for (int k = 1; k <= std::max(1, options.most_pieces); ++k) {
    const Candidate candidate = splitter.best(k);
    if (candidate.begins.empty()) break;
    const std::vector<Piece> pieces = pieces_of(points, candidate.begins);
    if (worst_error(pieces, points) <= options.tolerance) return pieces;
    const double criterion = n * std::log(std::max(candidate.squared, 1e-300) / n) + (3 * k - 1) * std::log(n);
    if (!chosen.empty() && !(criterion < least)) continue;
    least = criterion;
    chosen = pieces;
  }
  return chosen;
}

// Pool adjacent violators: averages points of equal x, then pools runs of falling times. Means are of logarithms.
Points rising(const Points& points) {
  struct Pool {
    double sum_log, count;
    std::vector<double> x;
    double mean() const { return sum_log / count; }
  };
  std::map<double, Pool> of_size;
  for (const Measured& p : points) {
    Pool& pool = of_size.try_emplace(p.x, Pool{0, 0, {p.x}}).first->second;
    pool.sum_log += std::log(p.seconds);
    pool.count += 1;
  }
  std::vector<Pool> pools;
  for (const auto& [x, one] : of_size) {
    pools.push_back(one);
    while (pools.size() > 1 && pools.back().mean() < pools[pools.size() - 2].mean()) {
      Pool last = pools.back();
      pools.pop_back();
      pools.back().sum_log += last.sum_log;
      pools.back().count += last.count;
      pools.back().x.insert(pools.back().x.end(), last.x.begin(), last.x.end());
    }
  }
  Points result;
  for (const Pool& pool : pools)
    for (double x : pool.x) result.push_back({x, std::exp(pool.mean())});
  return result;
}

double ratio_at(const std::vector<Piece>& pieces, double x, double from_x) {
  const double at_from_s = line_at(pieces, from_x);
  return at_from_s > 0 ? line_at(pieces, x) / at_from_s : 1;
}

double between_anchors(const Points& anchors, const std::vector<Piece>& pieces, double x) {
  const Measured &first = anchors.front(), &last = anchors.back();
  if (x <= first.x) return first.seconds * ratio_at(pieces, x, first.x);
  if (x >= last.x) return last.seconds * ratio_at(pieces, x, last.x);
  const auto above = std::lower_bound(anchors.begin(), anchors.end(), x,
                                      [](const Measured& p, double wanted) { return p.x < wanted; });
  const Measured &high = *above, &low = *(above - 1);
  return low.seconds + (high.seconds - low.seconds) * (x - low.x) / (high.x - low.x);
}

// |relative error| at each point of an interior size, by a fit without that size; empty below 4 sizes.
template <typename Predict>
std::vector<double> errors_left_out(const Points& points, const Predict& predict) {
  std::map<double, std::vector<double>> seconds_of;  // by size
  for (const Measured& p : points) seconds_of[p.x].push_back(p.seconds);
  std::vector<double> errors;
  if (seconds_of.size() < 4) return errors;
  for (const auto& [x, seconds] : seconds_of) {
    if (x == points.front().x || x == points.back().x) continue;
    Points others;
    for (const Measured& p : points)
      if (p.x != x) others.push_back(p);
    const double predicted_s = predict(others, x);
    for (double measured_s : seconds) errors.push_back(std::abs(predicted_s / measured_s - 1));
  }
  return errors;
}

double root_mean_square(const std::vector<double>& errors) {
  double sum = 0;
  for (double error : errors) sum += error * error;
  return std::sqrt(sum / static_cast<double>(errors.size()));
}

void check(const Points& points) {
  if (points.empty()) throw std::invalid_argument("no point to fit");
  for (const Measured& p : points)
    if (!(p.seconds >= kShortest_s && p.seconds <= kLongest_s) || !(p.x >= 0) || !std::isfinite(p.x))
      throw std::invalid_argument("a point to fit needs a positive time, none that overflows squared, and a size");
}

}  // namespace

Line fit_line(const std::vector<Measured>& points) {
  check(points);
  if (!has_two_sizes(points)) return {only_latency(points), 0};
  // Divides x by the largest, so that both columns have a similar size.
  double largest = 0;
  for (const Measured& p : points) largest = std::max(largest, p.x);
  Eigen::MatrixX2d a(static_cast<Eigen::Index>(points.size()), 2);
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    const Measured& p = points[static_cast<std::size_t>(i)];
    a(i, 0) = 1 / p.seconds;
    a(i, 1) = p.x / largest / p.seconds;
  }
  const Eigen::Vector2d free = a.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(a.rows()));
  const Line line{free[0], free[1] / largest};
  if (line.latency_s >= 0 && line.seconds_per_unit >= 0) return line;
  const Line flat{only_latency(points), 0}, steep{0, only_slope(points)};
  return squared_error(flat, points) < squared_error(steep, points) ? flat : steep;
}

double LineFit::at(double x) const {
  return anchors.empty() ? line_at(pieces, x) : between_anchors(anchors, pieces, x);
}

LineFit fit_pieces(std::vector<Measured> points, const LineFitOptions& options) {
  check(points);
  std::sort(points.begin(), points.end(), [](const Measured& a, const Measured& b) { return a.x < b.x; });
  LineFit fit;
  fit.pieces = choose_pieces(points, options);
  fit.from_x = points.front().x;
  fit.to_x = points.back().x;
  fit.points = static_cast<int>(points.size());
  std::vector<double> left_out = errors_left_out(
      points, [&](const Points& others, double x) { return line_at(choose_pieces(others, options), x); });
  if (options.allow_anchors && !left_out.empty()) {
    const std::vector<double> between = errors_left_out(points, [](const Points& others, double x) {
      return between_anchors(rising(others), {}, x);  // interior points need no pieces
    });
    const double of_pieces = root_mean_square(left_out);
    if (of_pieces > 1e-6 && root_mean_square(between) < of_pieces) {  // exact lines stay lines
      fit.anchors = rising(points);
      left_out = between;
    }
  }
  std::vector<double> residuals;
  for (const Measured& p : points) residuals.push_back(std::abs(fit.at(p.x) / p.seconds - 1));
  fit.median_residual = median(residuals);
  fit.worst_residual = *std::max_element(residuals.begin(), residuals.end());
  if (left_out.empty()) return fit;
  fit.leave_one_out = median(left_out);
  fit.worst_left_out = *std::max_element(left_out.begin(), left_out.end());
  return fit;
}

}  // namespace lockstep::calib
