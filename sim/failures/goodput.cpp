#include "sim/failures/goodput.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <vector>

#include "engine/base/random.hpp"

namespace lockstep::sim {
inline namespace failures {
namespace {

// Times at which nodes that are out come back.
using Repairs = std::priority_queue<double, std::vector<double>, std::greater<double>>;

class Run {
 public:
  Run(const FailureProcess& process, std::uint64_t seed) : p_(process), seed_(seed) { draw(); }

  double wall_s_of(double useful_s) {
    double left_s = useful_s;
    while (left_s > 0) {
      const double piece_s = std::min(p_.interval_s, left_s);
      while (!passes(piece_s + p_.checkpoint_s)) restart();
      left_s -= piece_s;
    }
    return clock_s_;
  }

 private:
  // The running time until the next interruption.
  void draw() { until_failure_s_ = -p_.mttf_s * std::log(1 - random_uniform(seed_, 0, count_++)); }

  // Runs for so long, or to the next interruption.
  bool passes(double seconds) {
    if (seconds <= until_failure_s_) {
      clock_s_ += seconds;
      until_failure_s_ -= seconds;
      return true;
    }
    clock_s_ += until_failure_s_;
    lose_node();
    draw();
    return false;
  }

  void restart() {
    while (!passes(p_.restart_s)) {
    }
  }

  void lose_node() {
    if (p_.repair_s <= 0) return;
    while (!out_.empty() && out_.top() <= clock_s_) out_.pop();
    out_.push(clock_s_ + p_.repair_s);
    if (static_cast<int>(out_.size()) <= p_.spares) return;
    clock_s_ = out_.top();  // no spare: the job waits for the next node to come back
    out_.pop();
  }

  const FailureProcess& p_;
  std::uint64_t seed_, count_ = 0;
  double clock_s_ = 0, until_failure_s_ = 0;
  Repairs out_;
};

}  // namespace

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
  double low = 0, high = mttf_s;
  for (int step = 0; step < 200 && high > low * (1 + 1e-13); ++step) {
    const double t = (low + high) / 2;
    (std::log1p(-t / mttf_s) + (t + checkpoint_s) / mttf_s > 0 ? low : high) = t;
  }
  return (low + high) / 2;
}

double simulated_goodput(const FailureProcess& process, double useful_s, std::uint64_t seed) {
  return useful_s / Run(process, seed).wall_s_of(useful_s);
}

}  // namespace failures
}  // namespace lockstep::sim
