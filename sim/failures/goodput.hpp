#pragma once
// Computes the share of a training's time that remains useful despite interruptions. A job runs for `interval_s` of
// useful work, then stops for `checkpoint_s`. While it runs, interruptions are a Poisson process of rate 1 / MTTF. Each
// loses the work since the last checkpoint and costs `restart_s`, which may be interrupted too. M: MTTF, R: restart, t:
// interval, c: checkpoint.
//
//   `E[wall time of an interval] = M e^(R/M) (e^((t+c)/M) - 1)`
//   `Best interval: (1 - t/M) e^((t+c)/M) = 1, about sqrt(2 c M) where c << M`
//   J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
//   Computer Systems 22 (2006). J. W. Young, Communications of the ACM 17 (1974) for the square root.
//
// An interruption removes its node for `repair_s`. A hot spare replaces it. If no spare is left, the job waits for a
// node. The removed nodes form a loss system, so the share of time in which the job waits is Erlang's B:
//
//   waits = B(spares + 1, a),  a = repair_s / M;   B(n, a) = (a^n / n!) / sum_{k=0..n} a^k / k!
//   A. K. Erlang 1917. It holds for any distribution of repair times (B. A. Sevastyanov 1957).
//
// sim/replay/failure_clock.hpp simulates the same process event by event.
#include "sim/modules.hpp"

namespace lockstep::sim::failures {

struct FailureProcess {
  double mttf_s = 0;        ///< of the whole job, while it runs
  double interval_s = 0;    ///< useful work between two checkpoints
  double checkpoint_s = 0;  ///< time for which the job stops
  double restart_s = 0;     ///< from the interruption to useful work: detection, replacement, loading, warm-up
  double repair_s = 0;      ///< until a failed node is repaired; 0: at once
  int spares = 0;
};

struct [[nodiscard]] Goodput {
  double share = 1;           ///< useful time over wall time
  double of_checkpoints = 0;  ///< wall time in checkpoints of work that is kept, over wall time
  double of_waiting = 0;      ///< share of time in which the job waits for a node
  /// Returns the remaining share: lost work with its checkpoints, and restarts.
  double of_interruptions() const { return 1 - share - of_checkpoints - of_waiting; }
};

/// Evaluates the closed form.
Goodput goodput(const FailureProcess& process);

/// Returns Erlang's B of `servers` at an offered load.
double erlang_b(int servers, double load);

/// Returns Daly's best interval, exactly. It is 0 if a checkpoint takes no time.
double best_interval_s(double mttf_s, double checkpoint_s);

}  // namespace lockstep::sim::failures
