// Pipeline schedules: every pass once, no deadlock, and the papers' bubbles and micro-batches in flight.
#include <map>

#include "engine/base/random.hpp"
#include "sim/split/pipeline_time.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

using S = PipelineSchedule;

int drawn(int trial, int draw, int low, int high) {
  const double u = random_uniform(11, static_cast<std::uint64_t>(draw), static_cast<std::uint64_t>(trial));
  return low + static_cast<int>(u * (high - low + 1));
}

double seconds(int trial, int draw) {
  return 0.1 + random_uniform(12, static_cast<std::uint64_t>(draw), static_cast<std::uint64_t>(trial));
}

PipelineTimeline run(S schedule, const PipelineShape& shape, const ChunkTimes& times, double message_s = 0) {
  return PipelineOrder(pipeline_ops(schedule, shape), shape).run(equal_times(shape, times, message_s));
}

PipelineShape with_two_chunks(S schedule, int p, int m) {
  return {p, m, 2, chunk_order_of(schedule)};
}

double ideal_s(const PipelineShape& shape, const ChunkTimes& times) {
  return (times.forward_s + times.input_gradient_s + times.weight_gradient_s) * shape.chunks *
         shape.micro_batches_of_chunk();
}

ChunkTimes split_times(double forward_s, double input_s, double weight_s) {
  return {forward_s, input_s + weight_s, input_s, weight_s};
}

std::vector<std::pair<S, PipelineShape>> shapes_of(int trial) {
  const int p = drawn(trial, 1, 1, 12), m = drawn(trial, 2, 1, 24), v = drawn(trial, 3, 2, 5);
  return {{S::gpipe, {p, m, 1}},
          {S::one_f_one_b, {p, m, 1}},
          {S::zb_h1, {p, m, 1}},
          {S::interleaved, {p, p * drawn(trial, 4, 1, 4), v}},
          {S::zb_v, with_two_chunks(S::zb_v, p, m)},
          {S::dual_pipe_v, with_two_chunks(S::dual_pipe_v, p, 2 * p + drawn(trial, 5, 0, 9))},
          {S::dual_pipe, with_two_chunks(S::dual_pipe, 2 * p, 4 * p + 2 * drawn(trial, 5, 0, 9))}};
}

// Returns "F0 F1 B0". If there are several chunks, the chunk follows after a point.
std::string text(const StageOps& ops, bool with_chunks = false) {
  std::string text;
  for (const PipelineOp& op : ops) {
    text +=
        (text.empty() ? "" : " ") + std::string(1, "FBIW"[static_cast<int>(op.pass)]) + std::to_string(op.micro_batch);
    if (with_chunks) text += "." + std::to_string(op.chunk);
  }
  return text;
}

}  // namespace

TEST_CASE("1,000 random pipelines: every pass once, backward after forward, none waits for ever") {
  for (int trial = 0; trial < 1000; ++trial) {
    for (const auto& [schedule, shape] : shapes_of(trial)) {
      INFO(name_of(schedule) << " p " << shape.stages << " m " << shape.micro_batches << " v " << shape.chunks);
      const std::vector<StageOps> stages = pipeline_ops(schedule, shape);
      for (const StageOps& ops : stages) {
        std::map<std::pair<int, int>, std::string> passes;  // of a micro-batch and chunk
        for (const PipelineOp& op : ops) passes[{op.micro_batch, op.chunk}] += "FBIW"[static_cast<int>(op.pass)];
        REQUIRE(static_cast<int>(passes.size()) == shape.micro_batches_of_chunk() * shape.chunks);
        for (const auto& [which, letters] : passes) REQUIRE((letters == "FB" || letters == "FIW"));
      }
      const ChunkTimes times = split_times(seconds(trial, 1), seconds(trial, 2), seconds(trial, 3));
      const PipelineTimeline all = PipelineOrder(stages, shape).run(equal_times(shape, times, 0.1 * seconds(trial, 4)));
      for (int s = 0; s < shape.stages; ++s)
        REQUIRE(all.starts_s[static_cast<std::size_t>(s)].size() == stages[static_cast<std::size_t>(s)].size());
    }
  }
}

TEST_CASE("stages that wait for each other are told, not waited for") {
  const PipelineShape shape{2, 2, 1};
  std::vector<StageOps> stages = pipeline_ops(S::one_f_one_b, shape);
  std::swap(stages[1][0], stages[1][1]);
  CHECK_THROWS_WITH(PipelineOrder(stages, shape), Contains("stage 0 waits for ever"));
}

TEST_CASE("GPipe and 1F1B take (m + p - 1)(t_f + t_b): a bubble of (p-1)/(m+p-1)") {
  for (int trial = 0; trial < 300; ++trial) {
    const int p = drawn(trial, 1, 1, 16), m = drawn(trial, 2, 1, 40);
    const ChunkTimes times{seconds(trial, 1), seconds(trial, 2)};
    for (S schedule : {S::gpipe, S::one_f_one_b}) {
      const PipelineTimeline all = run(schedule, {p, m, 1}, times);
      REQUIRE(all.makespan_s == Approx((m + p - 1) * (times.forward_s + times.backward_s)));
      REQUIRE(all.bubble_fraction() == Approx((p - 1.0) / (m + p - 1)).margin(1e-12));
    }
  }
}

TEST_CASE("interleaving divides the bubble by the chunks: (p-1)/(v m) of the ideal time") {
  for (int trial = 0; trial < 300; ++trial) {
    const int p = drawn(trial, 1, 2, 12), v = drawn(trial, 2, 2, 6), m = p * drawn(trial, 3, 1, 5);
    const ChunkTimes times{seconds(trial, 1), seconds(trial, 2)};
    const double ideal = m * v * (times.forward_s + times.backward_s);
    REQUIRE(run(S::interleaved, {p, m, v}, times).makespan_s == Approx(ideal * (1 + (p - 1.0) / (v * m))));
  }
}

TEST_CASE("ZB-H1's bubble is (p-1)(t_f + t_b - t_w), a third of 1F1B's with equal passes") {
  for (int trial = 0; trial < 300; ++trial) {
    const int p = drawn(trial, 1, 1, 12), m = p + drawn(trial, 2, 0, 30);
    const double w = seconds(trial, 1);
    const ChunkTimes times = split_times(w + seconds(trial, 2), w + seconds(trial, 3), w);
    REQUIRE(run(S::zb_h1, {p, m, 1}, times).makespan_s ==
            Approx(ideal_s({p, m, 1}, times) + (p - 1) * (times.forward_s + times.input_gradient_s - w)));
    // Any of the times may be the longest.
    const ChunkTimes any = split_times(seconds(trial, 4), seconds(trial, 5), seconds(trial, 6));
    const double f = any.forward_s, b = any.input_gradient_s;
    REQUIRE(run(S::zb_h1, {p, m, 1}, any).makespan_s ==
            Approx(m * (f + b + any.weight_gradient_s) + (p - 1) * std::max({f + b - any.weight_gradient_s, f, b})));
    // Never later than 1F1B, whose backward pass is both parts together.
    REQUIRE(run(S::zb_h1, {p, m, 1}, any).makespan_s <= run(S::one_f_one_b, {p, m, 1}, any).makespan_s * (1 + 1e-12));
  }
  const PipelineShape shape{4, 12, 1};
  CHECK(run(S::zb_h1, shape, split_times(1, 1, 1)).makespan_s == Approx(36 + 3));
  CHECK(run(S::one_f_one_b, shape, split_times(1, 1, 1)).makespan_s == Approx(36 + 9));
}

TEST_CASE(
    "ZB-V with equal passes: no stage waits between its first pass and its last, and the last starts p - 1 later") {
  for (int p : {1, 2, 3, 4, 8, 16})
    for (int m : {2 * p - 1, 2 * p, 5 * p}) {
      const PipelineShape shape = with_two_chunks(S::zb_v, p, m);
      const ChunkTimes times = split_times(0.5, 0.5, 0.5);
      const std::vector<StageOps> ops = pipeline_ops(S::zb_v, shape);
      const PipelineTimeline all = PipelineOrder(ops, shape).run(equal_times(shape, times));
      INFO("p " << p << " m " << m);
      CHECK(all.makespan_s == Approx(ideal_s(shape, times) + (p - 1) * 0.5));
      for (int s = 0; s < p; ++s) {
        const std::vector<double>& starts = all.starts_s[static_cast<std::size_t>(s)];
        CHECK(starts.back() + 0.5 - starts.front() == Approx(ideal_s(shape, times)));
        CHECK(most_in_flight(ops[static_cast<std::size_t>(s)]) <= 2 * p);
      }
    }
}

TEST_CASE(
    "DualPipe with equal passes: a bubble of (p/2-1)(F&B + B - 3 W), and half as long as DualPipeV's of as many "
    "stages") {
  for (int p : {2, 4, 8, 16})
    for (int m : {2 * p, 3 * p, 10 * p}) {
      INFO("p " << p << " m " << m);
      const ChunkTimes times = split_times(1, 1, 1);
      const PipelineShape mirrored = with_two_chunks(S::dual_pipe, p, m),
                          folded = with_two_chunks(S::dual_pipe_v, p, m);
      const double both_s = 3, backward_s = 2, weight_s = 1;
      CHECK(run(S::dual_pipe, mirrored, times).makespan_s ==
            Approx(ideal_s(mirrored, times) + (p / 2 - 1) * (both_s + backward_s - 3 * weight_s)));
      CHECK(run(S::dual_pipe_v, folded, times).makespan_s ==
            Approx(ideal_s(folded, times) + (p - 1) * (both_s + backward_s - 3 * weight_s)));
      for (const StageOps& ops : pipeline_ops(S::dual_pipe, mirrored)) CHECK(most_in_flight(ops) <= p + 1);
      for (const StageOps& ops : pipeline_ops(S::dual_pipe_v, folded)) CHECK(most_in_flight(ops) <= 2 * p + 1);
    }
  // The bubble is smaller than 1F1B's, with one copy of the parameters or two.
  for (int trial = 0; trial < 100; ++trial) {
    const int p = 2 * drawn(trial, 1, 1, 6), m = 2 * p + 2 * drawn(trial, 2, 0, 9);
    const ChunkTimes whole = split_times(seconds(trial, 1), seconds(trial, 2), seconds(trial, 3));
    const ChunkTimes half = split_times(whole.forward_s / 2, whole.input_gradient_s / 2, whole.weight_gradient_s / 2);
    const double least = run(S::one_f_one_b, {p, m, 1}, whole).makespan_s * (1 + 1e-12);
    CHECK(run(S::dual_pipe, with_two_chunks(S::dual_pipe, p, m), whole).makespan_s <= least);
    CHECK(run(S::dual_pipe_v, with_two_chunks(S::dual_pipe_v, p, m), half).makespan_s <= least);
    CHECK(run(S::zb_v, with_two_chunks(S::zb_v, p, m), half).makespan_s <= least);
  }
}

TEST_CASE("a stage's chunks and their neighbours: looped, folded, mirrored") {
  const PipelineShape looped{4, 8, 2}, folded = with_two_chunks(S::zb_v, 4, 8),
                                       mirrored = with_two_chunks(S::dual_pipe, 4, 8);
  const auto is = [](const std::optional<ChunkPlace>& place, int stage, int chunk) {
    return place && place->stage == stage && place->chunk == chunk;
  };
  CHECK(is(looped.next({3, 0}), 0, 1));
  CHECK_FALSE(looped.next({3, 1}));
  CHECK(is(folded.next({3, 0}), 3, 1));
  CHECK(is(folded.next({3, 1}), 2, 1));
  CHECK_FALSE(folded.next({0, 1}));
  CHECK(folded.messages_of({3, 0}) == 1);
  CHECK(folded.messages_of({1, 1}) == 2);
  CHECK_FALSE(mirrored.next({3, 0}));
  CHECK(is(mirrored.next({3, 1}), 2, 1));
  CHECK_FALSE(mirrored.before({3, 1}));
  CHECK(mirrored.micro_batches_of_chunk() == 4);
  // What comes next has come from here.
  for (const PipelineShape& shape : {looped, folded, mirrored})
    for (int stage = 0; stage < 4; ++stage)
      for (int chunk = 0; chunk < 2; ++chunk)
        if (const auto next = shape.next({stage, chunk})) CHECK(is(shape.before(*next), stage, chunk));
}

TEST_CASE("micro-batches in flight: m with GPipe, min(p - s, m) with 1F1B and ZB-H1, the warm-up and one interleaved") {
  for (int trial = 0; trial < 300; ++trial) {
    for (const auto& [schedule, shape] : shapes_of(trial)) {
      if (chunk_order_of(schedule) != ChunkOrder::looped) continue;
      const std::vector<StageOps> stages = pipeline_ops(schedule, shape);
      for (int s = 0; s < shape.stages; ++s) {
        INFO(name_of(schedule) << " stage " << s << " of " << shape.stages << " m " << shape.micro_batches);
        REQUIRE(most_in_flight(stages[static_cast<std::size_t>(s)]) == in_flight(schedule, shape, s));
      }
    }
  }
  CHECK(in_flight(S::one_f_one_b, {8, 64, 1}, 0) == 8);
  CHECK(in_flight(S::one_f_one_b, {8, 64, 1}, 7) == 1);
  // 2 (4 - 1) + (2 - 1) 4 + 1 chunks, 5.5 micro-batches' worth of a stage's two: 1 + (p-1)/(p v) times 1F1B's 4
  // (Korthikanti et al. 2022, section 4.2.3).
  CHECK(in_flight(S::interleaved, {4, 16, 2}, 0) == 11);
}

TEST_CASE("a full pipeline repeats its order: but for GPipe, 64 p micro-batches hold as much as 8 p") {
  const auto most_held = [](const StageOps& ops) {
    int held = 0, most = 0;
    for (const PipelineOp& op : ops) {
      if (op.pass == Pass::forward) most = std::max(most, ++held);
      if (gives_weight_gradients(op.pass)) --held;
    }
    return most;
  };
  for (S schedule : {S::one_f_one_b, S::interleaved, S::zb_h1, S::zb_v, S::dual_pipe, S::dual_pipe_v})
    for (int p : {2, 4, 8, 16}) {
      const ChunkOrder order = chunk_order_of(schedule);
      const int chunks = order != ChunkOrder::looped ? 2 : schedule == S::interleaved ? 4 : 1;
      for (int stage = 0; stage < p; ++stage) {
        INFO(name_of(schedule) << " stage " << stage << " of " << p);
        CHECK(most_held(stage_ops(schedule, {p, 64 * p, chunks, order}, stage)) ==
              most_held(stage_ops(schedule, {p, 8 * p, chunks, order}, stage)));
      }
    }
}

TEST_CASE("ZB-H1 keeps as much as 1F1B's first stage: until the weights' gradients are there") {
  for (const StageOps& ops : pipeline_ops(S::zb_h1, {4, 12, 1})) {
    int held = 0, most = 0;
    for (const PipelineOp& op : ops) {
      if (op.pass == Pass::forward) most = std::max(most, ++held);
      if (op.pass == Pass::weight_gradient) --held;
    }
    CHECK(most == 4);
  }
}

TEST_CASE("schedules by hand") {
  CHECK(text(gpipe({2, 3, 1}, 1)) == "F0 F1 F2 B2 B1 B0");
  // Narayanan et al. 2021 show this in figure 4 (top): 4 stages, 8 micro-batches.
  CHECK(text(one_f_one_b({4, 8, 1}, 0)) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  CHECK(text(one_f_one_b({4, 8, 1}, 3)) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
  // The same figure (bottom), two chunks: device 4 passes micro-batches 1 to 4 through both before the first goes back.
  CHECK(text(interleaved({4, 8, 2}, 3), true).substr(0, 44) == "F0.0 F1.0 F2.0 F3.0 F0.1 B0.1 F1.1 B1.1 F2.1");
  CHECK(text(interleaved({2, 2, 2}, 0), true) == "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0");
  // Qi et al. 2023, figure 3.
  CHECK(text(zb_h1({2, 3, 1}, 0)) == "F0 F1 I0 W0 F2 I1 W1 I2 W2");
  CHECK(text(zb_h1({2, 3, 1}, 1)) == "F0 I0 F1 I1 W0 F2 I2 W1 W2");
  // PyTorch's ZBVZeroBubble and DualPipeV, and dualpipe.py, give these on two stages.
  CHECK(text(zb_v(with_two_chunks(S::zb_v, 2, 3), 1), true) ==
        "F0.0 F0.1 F1.0 F1.1 I0.1 W0.1 F2.0 I0.0 W0.0 F2.1 I1.1 W1.1 I1.0 I2.1 I2.0 W1.0 W2.1 W2.0");
  CHECK(text(dual_pipe_v(with_two_chunks(S::dual_pipe_v, 2, 4), 0), true) ==
        "F0.0 F1.0 F2.0 F0.1 I0.1 W0.1 F1.1 F3.0 B1.1 F2.1 B0.0 B2.1 F3.1 B1.0 B3.1 I2.0 W2.0 I3.0 W3.0");
  CHECK(text(dual_pipe(with_two_chunks(S::dual_pipe, 2, 4), 0), true) ==
        "F0.0 F2.1 F1.0 B2.1 F3.1 B0.0 B3.1 I1.0 W1.0");
  CHECK(text(dual_pipe(with_two_chunks(S::dual_pipe, 2, 4), 1), true) ==
        "F2.1 F0.0 F3.1 B0.0 F1.0 B2.1 B1.0 I3.1 W3.1");
}

TEST_CASE("messages cost what lies on the critical path: 2 (p-1) of a lone micro-batch") {
  for (S schedule : {S::gpipe, S::one_f_one_b})
    CHECK(run(schedule, {4, 1, 1}, {1, 2}, 0.25).makespan_s == Approx(4 * 3 + 6 * 0.25));
  CHECK(run(S::zb_h1, {4, 1, 1}, split_times(1, 1, 1), 0.25).makespan_s >= Approx(4 * 2 + 6 * 0.25));
  // Messages never make it faster.
  for (S schedule : {S::gpipe, S::one_f_one_b, S::zb_h1})
    CHECK(run(schedule, {4, 6, 1}, split_times(1, 1, 1), 0.5).makespan_s >
          run(schedule, {4, 6, 1}, split_times(1, 1, 1)).makespan_s);
  // A folded pipeline turns round on its last stage without a message: 4 (p-1) of a lone micro-batch.
  CHECK(run(S::zb_v, with_two_chunks(S::zb_v, 4, 1), split_times(1, 1, 1), 0.25).makespan_s >=
        Approx(8 * 2 + 12 * 0.25));
}

TEST_CASE("a slow stage sets the pace") {
  const PipelineShape shape{3, 10, 1};
  PipelineTimes times = equal_times(shape, {1, 2});
  times.chunks[1][0] = {2, 4};
  const double makespan = PipelineOrder(pipeline_ops(S::one_f_one_b, shape), shape).run(times).makespan_s;
  CHECK(makespan >= 10 * 6);
  CHECK(makespan <= 10 * 6 + 2 * 3 + 1e-9);
}

TEST_CASE("shapes that a schedule does not take are refused") {
  CHECK_THROWS_WITH(pipeline_ops(S::one_f_one_b, {2, 2, 2}), Contains("allowed: 1, or the schedule \"interleaved\""));
  CHECK_THROWS_WITH(pipeline_ops(S::interleaved, {4, 6, 2}), Contains("multiples of the 4 stages"));
  CHECK_THROWS_WITH(pipeline_ops(S::dual_pipe_v, with_two_chunks(S::dual_pipe_v, 4, 7)),
                    Contains("at least two per stage"));
  CHECK_THROWS_WITH(pipeline_ops(S::dual_pipe, with_two_chunks(S::dual_pipe, 4, 9)), Contains("both numbers even"));
}
