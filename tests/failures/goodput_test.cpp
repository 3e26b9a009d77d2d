// Interruptions: laws of the closed form. tests/replay/failure_clock_test.cpp simulates the process event by event.
#include "sim/failures/goodput.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/failures/hours.hpp"

namespace lockstep::tests {
namespace {

sim::FailureProcess hours_process(double mttf_h, double interval_h, double checkpoint_h, double restart_h) {
  sim::FailureProcess p;
  p.mttf_s = mttf_h * kHour_s;
  p.interval_s = interval_h * kHour_s;
  p.checkpoint_s = checkpoint_h * kHour_s;
  p.restart_s = restart_h * kHour_s;
  return p;
}

double sum_of(const sim::Goodput& g) {
  return g.share + g.of_checkpoints + g.of_waiting + g.of_interruptions();
}

}  // namespace

TEST_CASE("without interruptions only checkpoints cost time") {
  const sim::Goodput g = sim::goodput(hours_process(0, 1, 0.25, 5));
  CHECK(g.share == Approx(0.8));
  CHECK(g.of_checkpoints == Approx(0.2));
  CHECK(std::abs(g.of_interruptions()) < 1e-12);
}

TEST_CASE("rare interruptions cost a restart and half an interval each") {
  // To first order the share is 1 - c/t - (R + t/2)/M, for c << t << M.
  const sim::Goodput g = sim::goodput(hours_process(1e4, 1, 1e-4, 0.5));
  CHECK(1 - g.share == Approx(1e-4 + (0.5 + 0.5) / 1e4).epsilon(0.01));
  CHECK(sum_of(g) == Approx(1));
}

TEST_CASE("the more often, the longer, the worse; a spare helps") {
  const sim::FailureProcess p = hours_process(24, 1, 0.02, 0.25);
  const double share = sim::goodput(p).share;
  for (double sim::FailureProcess::*worse :
       {&sim::FailureProcess::checkpoint_s, &sim::FailureProcess::restart_s, &sim::FailureProcess::repair_s}) {
    sim::FailureProcess q = p;
    q.*worse += 600;
    CHECK(sim::goodput(q).share < share);
  }
  sim::FailureProcess often = p;
  often.mttf_s /= 2;
  CHECK(sim::goodput(often).share < share);
  sim::FailureProcess waits = p;
  waits.repair_s = 48 * kHour_s;
  double before = sim::goodput(waits).share;
  for (int spares = 1; spares < 12; ++spares) {
    waits.spares = spares;
    CHECK(sim::goodput(waits).share > before);
    before = sim::goodput(waits).share;
  }
  CHECK(before == Approx(share).epsilon(1e-3));  // with enough spares, nodes are back immediately
}

TEST_CASE("no other interval is better than the best, which is Young's where checkpoints are short") {
  for (double checkpoint_h : {1e-4, 1e-2, 0.5, 3.0})
    for (double mttf_h : {1.0, 20.0, 1000.0}) {
      sim::FailureProcess p = hours_process(mttf_h, 1, checkpoint_h, 0.2);
      p.interval_s = sim::best_interval_s(p.mttf_s, p.checkpoint_s);
      const double best = sim::goodput(p).share;
      const double interval_s = p.interval_s;
      for (double factor : {0.5, 0.9, 1.1, 2.0}) {
        p.interval_s = factor * interval_s;
        INFO(checkpoint_h << " " << mttf_h << " " << factor);
        CHECK(sim::goodput(p).share < best);
      }
      if (checkpoint_h < 1e-3 * mttf_h)
        CHECK(interval_s == Approx(std::sqrt(2 * p.checkpoint_s * p.mttf_s)).epsilon(0.03));
      CHECK(interval_s < p.mttf_s);
    }
}

TEST_CASE("Erlang's B: a server alone, and tables of telephone traffic") {
  CHECK(sim::erlang_b(1, 3) == Approx(0.75));
  CHECK(sim::erlang_b(0, 3) == 1);
  CHECK(sim::erlang_b(5, 0) == 0);
  CHECK(sim::erlang_b(2, 1) == Approx(0.2));  // (1/2) / (1 + 1 + 1/2)
  CHECK(sim::erlang_b(10, 5) == Approx(0.018385).epsilon(1e-4));
}

}  // namespace lockstep::tests
