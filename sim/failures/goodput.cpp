#include "sim/failures/goodput.hpp"

#include <cmath>

#include "engine/base/bisect.hpp"

namespace lockstep::sim::failures {
double erlang_b(int servers, double load) {
  if (load <= 0) return 0;
  double inverse = 1;  // 1 / B(n) = 1 + n / (a B(n - 1))
  for (int n = 1; n <= servers; ++n) inverse = 1 + inverse * n / load;
  return 1 / inverse;
}

Goodput goodput(const FailureProcess& p) {
  Goodput result;
  const double step_s = p.interval_s + p.checkpoint_s;
  const double wall_s =
      p.mttf_s > 0 ? p.mttf_s * std::exp(p.restart_s / p.mttf_s) * std::expm1(step_s / p.mttf_s) : step_s;
  result.of_waiting = p.mttf_s > 0 ? erlang_b(p.spares + 1, p.repair_s / p.mttf_s) : 0;
  const double runs = 1 - result.of_waiting;
  result.share = runs * p.interval_s / wall_s;
  result.of_checkpoints = runs * p.checkpoint_s / wall_s;
  return result;
}

double best_interval_s(double mttf_s, double checkpoint_s) {
  return bisect(0, mttf_s, [&](double t) { return std::log1p(-t / mttf_s) + (t + checkpoint_s) / mttf_s > 0; });
}

}  // namespace lockstep::sim::failures
