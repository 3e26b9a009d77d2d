#include "sim/convergence/simplex.hpp"

#include <algorithm>
#include <vector>

namespace lockstep::sim::convergence {
namespace {

struct Vertex {
  Eigen::VectorXd at;
  double value;
};

bool is_better(const Vertex& a, const Vertex& b) {
  return a.value < b.value;
}

}  // namespace

Eigen::VectorXd minimise(const std::function<double(const Eigen::VectorXd&)>& function, const Eigen::VectorXd& start,
                         double step) {
  std::vector<Vertex> simplex{{start, function(start)}};
  for (Eigen::Index i = 0; i < start.size(); ++i) {
    Eigen::VectorXd at = start;
    at(i) += step;
    simplex.push_back({at, function(at)});
  }
  for (int evaluations = 0; evaluations < 4000;) {
    std::stable_sort(simplex.begin(), simplex.end(), is_better);
    if ((simplex.back().at - simplex.front().at).norm() < 1e-9) break;
    Eigen::VectorXd centre = Eigen::VectorXd::Zero(start.size());
    for (std::size_t i = 0; i + 1 < simplex.size(); ++i) centre += simplex[i].at;
    centre /= static_cast<double>(start.size());
    const auto along = [&](double factor) {
      const Eigen::VectorXd at = centre + factor * (simplex.back().at - centre);
      ++evaluations;
      return Vertex{at, function(at)};
    };
    const Vertex reflected = along(-1);
    if (is_better(reflected, simplex.front())) {
      const Vertex expanded = along(-2);
      simplex.back() = is_better(expanded, reflected) ? expanded : reflected;
    } else if (is_better(reflected, simplex[simplex.size() - 2])) {
      simplex.back() = reflected;
    } else {
      const Vertex contracted = along(is_better(reflected, simplex.back()) ? -0.5 : 0.5);
      if (is_better(contracted, std::min(reflected, simplex.back(), is_better))) {
        simplex.back() = contracted;
      } else {
        for (std::size_t i = 1; i < simplex.size(); ++i) {
          const Eigen::VectorXd at = 0.5 * (simplex[i].at + simplex.front().at);
          simplex[i] = {at, function(at)};
          ++evaluations;
        }
      }
    }
  }
  return std::min_element(simplex.begin(), simplex.end(), is_better)->at;
}

}  // namespace lockstep::sim::convergence
