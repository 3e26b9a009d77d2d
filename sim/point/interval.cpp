#include "sim/point/interval.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim::point {

std::array<GroupEnds, 3> seconds_at_ends(const UncertaintySpec& uncertainty, const PerturbedSeconds& seconds) {
  const auto ends = [&](double relative, const Perturbation& better, const Perturbation& worse) {
    const double better_s = seconds(better);
    return GroupEnds{better_s, relative == 0 ? better_s : seconds(worse)};
  };
  const UncertaintySpec& u = uncertainty;
  return {ends(u.compute, {1 - u.compute, 1, 1}, {1 + u.compute, 1, 1}),
          ends(u.bandwidth, {1, 1 + u.bandwidth, 1}, {1, 1 - u.bandwidth, 1}),
          ends(u.latency, {1, 1, 1 - u.latency}, {1, 1, 1 + u.latency})};
}

RelativeInterval relative_interval(const UncertaintySpec& uncertainty, const PerturbedSeconds& seconds) {
  const double base_s = seconds({});
  RelativeInterval interval;
  const std::array<double*, 3> spreads{&interval.spread.compute, &interval.spread.bandwidth, &interval.spread.latency};
  const std::array<GroupEnds, 3> groups = seconds_at_ends(uncertainty, seconds);
  double gain = 0, loss = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double better = groups[i].better_s / base_s, worse = groups[i].worse_s / base_s;
    gain += std::pow(std::max(0.0, 1 - better), 2);
    loss += std::pow(std::max(0.0, worse - 1), 2);
    *spreads[i] = (worse - better) / 2;
  }
  interval.low = 1 - std::sqrt(gain);
  interval.high = 1 + std::sqrt(loss);
  return interval;
}

}  // namespace lockstep::sim::point
