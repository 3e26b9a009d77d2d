// A pipeline that is timed by its repetition takes as long as one that is timed step by step.
#include <cmath>
#include <map>

#include "engine/base/random.hpp"
#include "sim/split/pipeline_timer.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

using S = PipelineSchedule;

double uniform(int trial, int draw) {
  return random_uniform(31, static_cast<std::uint64_t>(draw), static_cast<std::uint64_t>(trial));
}

int between(int trial, int draw, int low, int high) {
  return low + static_cast<int>(uniform(trial, draw) * (high - low + 1));
}

// One stage is slower than the others, by up to a half.
PipelineTimes random_times(int trial, const PipelineShape& shape) {
  const int slow = between(trial, 1, 0, shape.stages - 1);
  const double slower = 1 + 0.5 * std::pow(uniform(trial, 2), 4);
  const double forward_s = 1 + uniform(trial, 3), input_s = 1 + uniform(trial, 4), weight_s = 1 + uniform(trial, 5);
  const double backward_s = 0.9 * (input_s + weight_s);  // overlapped exchanges make it shorter than its two parts
  PipelineTimes times = equal_times(shape, {forward_s, backward_s, input_s, weight_s}, 0.2 * uniform(trial, 6));
  for (ChunkTimes& chunk : times.chunks[static_cast<std::size_t>(slow)])
    chunk = {slower * forward_s, slower * backward_s, slower * input_s, slower * weight_s};
  if (trial % 3 == 0)
    for (int stage = 0; stage < shape.stages; ++stage) {
      times.release_s.emplace_back();
      for (int chunk = 0; chunk < shape.chunks; ++chunk)
        times.release_s.back().push_back(3.0 * chunk + uniform(trial, 7));
    }
  return times;
}

std::vector<std::pair<S, PipelineShape>> long_shapes_of(int trial) {
  const int p = between(trial, 11, 1, 6), m = between(trial, 12, 1, 300);
  const auto folded = [&](S schedule, int stages, int micro_batches) {
    return std::pair{schedule, PipelineShape{stages, micro_batches, 2, chunk_order_of(schedule)}};
  };
  return {{S::gpipe, {p, m, 1}},
          {S::one_f_one_b, {p, m, 1}},
          {S::zb_h1, {p, m, 1}},
          {S::interleaved, {p, p * between(trial, 13, 1, 80), between(trial, 14, 2, 5)}},
          folded(S::zb_v, p, m),
          folded(S::dual_pipe_v, p, 2 * p + m),
          folded(S::dual_pipe, 2 * p, 4 * p + 2 * m)};
}

double last_start_s(const StageOps& ops, const std::vector<double>& starts_s, int chunk) {
  for (std::size_t i = ops.size(); i > 0; --i)
    if (ops[i - 1].chunk == chunk && gives_weight_gradients(ops[i - 1].pass)) return starts_s[i - 1];
  return -1;
}

}  // namespace

TEST_CASE("pipeline timer: agrees with every step of the whole pipeline") {
  std::map<S, int> shorter, cases;
  for (int trial = 0; trial < 60; ++trial)
    for (const auto& [schedule, shape] : long_shapes_of(trial)) {
      INFO("trial " << trial << ", schedule " << static_cast<int>(schedule) << ", p " << shape.stages << ", m "
                    << shape.micro_batches << ", chunks " << shape.chunks);
      const PipelineTimes times = random_times(trial, shape);
      const PipelineOrder whole(pipeline_ops(schedule, shape), shape);
      const PipelineTimeline expected = whole.run(times);
      PipelineTimer timer(schedule, shape);
      const TimedPipeline timed = timer.run(times);
      CHECK(timed.line.makespan_s == Approx(expected.makespan_s).epsilon(1e-11));
      CHECK(timed.line.bubble_fraction() == Approx(expected.bubble_fraction()).margin(1e-10));
      for (std::size_t stage = 0; stage < whole.stages().size(); ++stage)
        for (int chunk = 0; chunk < shape.chunks; ++chunk)
          CHECK(last_start_s((*timed.ops)[stage], timed.line.starts_s[stage], chunk) ==
                Approx(last_start_s(whole.stages()[stage], expected.starts_s[stage], chunk)).epsilon(1e-11));
      ++cases[schedule];
      if (timed.ops->front().size() < whole.stages().front().size()) ++shorter[schedule];
    }
  // Short pipelines are timed as a whole, and GPipe repeats nothing that has all passes.
  for (const auto& [schedule, count] : cases) {
    INFO("schedule " << static_cast<int>(schedule) << ": " << shorter[schedule] << " of " << count << " shorter");
    CHECK((shorter[schedule] > 0) == (schedule != S::gpipe));
  }
}

TEST_CASE("pipeline timer: a million micro-batches take their ideal time and one bubble") {
  const PipelineShape shape{4, 1 << 20, 1};
  const double forward_s = 1, backward_s = 2;
  PipelineTimer timer(S::one_f_one_b, shape);
  CHECK_FALSE(timer.can_be_whole());
  const double makespan_s = timer.run(equal_times(shape, {forward_s, backward_s})).line.makespan_s;
  CHECK(makespan_s == Approx((shape.micro_batches + shape.stages - 1) * (forward_s + backward_s)).epsilon(1e-12));
}

TEST_CASE("pipeline timer: GPipe with more passes than are timed is extrapolated linearly") {
  const PipelineShape shape{4, 1 << 18, 1};
  PipelineTimer timer(S::gpipe, shape);
  CHECK_FALSE(timer.can_be_whole());
  const PipelineTimeline line = timer.run(equal_times(shape, {1, 2})).line;
  CHECK(line.makespan_s == Approx((shape.micro_batches + shape.stages - 1) * 3.0).epsilon(1e-12));
  CHECK(line.busy_s.front() == Approx(shape.micro_batches * 3.0).epsilon(1e-12));
}
