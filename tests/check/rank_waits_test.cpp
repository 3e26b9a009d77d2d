// Who waits for whom, and the critical path, from traces of several ranks.
#include "sim/explain/rank_waits.hpp"

#include "tests/calib/kineto_trace.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

constexpr double kUs = 1e-6;

calib::StepTrace read(const KinetoTrace& trace) {
  return calib::read_step_trace(trace.text(), "a.json");
}

// Rank `rank` works for each of `work_us`, each followed by an all-reduce in which the data takes 10 us. `origin_us`: of
// its own clock.
sim::TracedJob job_of(const std::vector<std::vector<double>>& work_us, const std::vector<double>& origins_us) {
  std::vector<calib::StepTrace> ranks;
  const std::size_t phases = work_us.front().size();
  for (std::size_t rank = 0; rank < work_us.size(); ++rank) {
    KinetoTrace trace(origins_us[rank]);
    trace.set_rank(static_cast<int>(rank), static_cast<int>(work_us.size()));
    double begin_us = 0;
    for (int step = 0; step < 3; ++step) {
      const double step_begin_us = begin_us;
      for (std::size_t phase = 0; phase < phases; ++phase) {
        double longest_us = 0;
        for (const auto& other : work_us) longest_us = std::max(longest_us, other[phase]);
        const double own_us = work_us[rank][phase], end_us = begin_us + longest_us + 10;
        trace.add_kernel("gemm", step_begin_us, begin_us, own_us);
        trace.add_collective("allreduce", step_begin_us, begin_us + own_us, end_us - begin_us - own_us, 1 << 20,
                             static_cast<int>(work_us.size()));
        begin_us = end_us;
      }
      trace.add_step(step, step_begin_us, begin_us - step_begin_us);
    }
    ranks.push_back(read(trace));
  }
  return sim::join_ranks(ranks);
}

double on_path(const sim::RankAnalysis& analysis, std::size_t rank, calib::StepPart part) {
  double seconds = 0;
  for (const sim::PathSegment& one : analysis.path)
    if (one.rank == rank && one.part == part) seconds += one.end_s - one.begin_s;
  return seconds;
}

}  // namespace

TEST_CASE("each rank waits for the last one at every collective, whatever its clock says") {
  const std::vector<std::vector<double>> work_us{{40, 70}, {60, 30}, {50, 30}};
  for (const std::vector<double>& origins_us : {std::vector<double>{0, 0, 0}, {1000, 77, 5e6}}) {
    const sim::TracedJob job = job_of(work_us, origins_us);
    const sim::RankAnalysis analysis = sim::analyse_ranks(job);
    CHECK(analysis.matched_calls == 2);
    REQUIRE(analysis.ranks.size() == 3);
    CHECK(analysis.ranks[0].waits_s == Approx(20 * kUs));
    CHECK(analysis.ranks[1].waits_s == Approx(40 * kUs));
    CHECK(analysis.ranks[2].waits_s == Approx(50 * kUs));
    CHECK(analysis.ranks[0].delays_s == Approx(40 * kUs));  // ranks 1 and 2 wait for it at the second one
    CHECK(analysis.ranks[1].delays_s == Approx(15 * kUs));  // median of 20 and 10
    CHECK(analysis.ranks[2].delays_s == 0);
    CHECK(analysis.ranks[2].last_arrivals == 0);
    // The path: rank 1, the first all-reduce, rank 0, the second one.
    CHECK(on_path(analysis, 1, calib::StepPart::gemm) == Approx(60 * kUs));
    CHECK(on_path(analysis, 0, calib::StepPart::gemm) == Approx(70 * kUs));
    CHECK(on_path(analysis, 2, calib::StepPart::gemm) == 0);
    CHECK(analysis.path.back().end_s == Approx(job.seconds()));
    CHECK(analysis.path.back().end_s == Approx(150 * kUs));
  }
}

TEST_CASE("the critical path is as long as the step, without gaps, and no rank can shorten it but those on it") {
  std::vector<std::vector<double>> work_us{{31, 12, 44}, {29, 48, 13}, {30, 11, 12}, {12, 40, 41}};
  const sim::TracedJob job = job_of(work_us, {0, 0, 0, 0});
  const sim::RankAnalysis analysis = sim::analyse_ranks(job);
  double at_s = 0;
  for (const sim::PathSegment& one : analysis.path) {
    CHECK(one.begin_s == Approx(at_s).margin(1e-12));
    CHECK(one.end_s > one.begin_s);
    at_s = one.end_s;
  }
  CHECK(at_s == Approx(job.seconds()));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    auto faster = work_us;
    for (double& us : faster[rank]) us *= 0.5;
    const double gain_s = job.seconds() - job_of(faster, {0, 0, 0, 0}).seconds();
    const double own_s = on_path(analysis, rank, calib::StepPart::gemm);
    INFO(rank);
    CHECK(gain_s <= 0.5 * own_s + 1e-12);
    CHECK((gain_s > 0) == (own_s > 0));
  }
}

TEST_CASE("calls of one group are matched within it, and those whose group is unknown not at all") {
  // Pairs {0, 1} and {2, 3}: in each, the second rank is late.
  const auto traces = [](bool has_groups) {
    std::vector<calib::StepTrace> ranks;
    for (int rank = 0; rank < 4; ++rank) {
      KinetoTrace trace;
      trace.set_rank(rank, 4);
      const double work_us = rank % 2 == 0 ? 10 : 30 + rank;
      for (int step = 0; step < 3; ++step) {
        trace.add_step(step, 100 * step, 100);
        trace.add_kernel("gemm", 100 * step, 100 * step, work_us);
        trace.add_collective("allreduce", 100 * step, 100 * step + work_us, 95 - work_us, 1 << 20, 2,
                             !has_groups ? ""
                             : rank < 2  ? "[0, 1]"
                                         : "[2, 3]");
      }
      ranks.push_back(read(trace));
    }
    return sim::join_ranks(ranks);
  };
  const sim::RankAnalysis known = sim::analyse_ranks(traces(true));
  CHECK(known.matched_calls == 2);
  CHECK(known.ranks[1].delays_s == Approx(21 * kUs));
  CHECK(known.ranks[3].delays_s == Approx(23 * kUs));
  CHECK(known.ranks[0].delays_s == 0);
  const sim::RankAnalysis unknown = sim::analyse_ranks(traces(false));
  CHECK(unknown.matched_calls == 0);
  CHECK(unknown.path.empty());
}

TEST_CASE("a call's time is without waiting only if all of its ranks were traced") {
  const auto analysis_of = [](int world) {
    std::vector<calib::StepTrace> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      KinetoTrace trace;
      trace.set_rank(rank, world);
      for (int step = 0; step < 3; ++step) {
        trace.add_step(step, 100 * step, 100);
        trace.add_kernel("gemm", 100 * step, 100 * step, 50);
        trace.add_collective("allreduce", 100 * step, 100 * step + 50, 50, 1 << 20, world);
      }
      ranks.push_back(read(trace));
    }
    return sim::analyse_ranks(sim::join_ranks(ranks));
  };
  CHECK(analysis_of(2).transfer_s.size() == 1);
  CHECK(analysis_of(8).transfer_s.empty());
  CHECK(analysis_of(8).matched_calls == 1);
}

TEST_CASE("an all-reduce that computation hides is not on the critical path") {
  std::vector<calib::StepTrace> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    KinetoTrace trace;
    trace.set_rank(rank, 2);
    for (int step = 0; step < 3; ++step) {
      trace.add_step(step, 100 * step, 100);
      trace.add_kernel("gemm", 100 * step, 100 * step, 80);
      trace.add_collective("allreduce", 100 * step, 100 * step + 20 + 10 * rank, 30 - 10 * rank, 1 << 10, 2);
      trace.add_collective("allreduce", 100 * step, 100 * step + 80, 20, 1 << 20, 2);
    }
    ranks.push_back(read(trace));
  }
  const sim::RankAnalysis analysis = sim::analyse_ranks(sim::join_ranks(ranks));
  CHECK(analysis.matched_calls == 2);
  double gemm_s = 0, all_s = 0;
  for (const sim::PathSegment& one : analysis.path) {
    all_s += one.end_s - one.begin_s;
    if (one.part == calib::StepPart::gemm) gemm_s += one.end_s - one.begin_s;
  }
  CHECK(gemm_s == Approx(80 * kUs));
  CHECK(all_s == Approx(100 * kUs));
}

TEST_CASE("the straggler of nested groups is the slow rank, not the one that waited for it") {
  // Tensor parallelism over {0, 1} and {2, 3}, five times, then data parallelism over all. One rank works longer.
  const auto job_with = [](std::size_t slow, double jitter_us) {
    std::vector<calib::StepTrace> ranks;
    const std::size_t pair = slow / 2;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      KinetoTrace trace;
      trace.set_rank(static_cast<int>(rank), 4);
      const double pair_us = rank / 2 == pair ? 50 : 20, work_us = rank == slow ? 40 : 10;
      for (int step = 0; step < 3; ++step) {
        const double begin_us = 1000 * step;
        trace.add_step(step, begin_us, 1000);
        for (int layer = 0; layer < 5; ++layer) {
          const double at_us = begin_us + pair_us * layer;
          trace.add_kernel("gemm", begin_us, at_us, work_us);
          trace.add_collective("allreduce", begin_us, at_us + work_us, pair_us - work_us, 1 << 20, 2,
                               rank < 2 ? "[0, 1]" : "[2, 3]");
        }
        // The rank beside the slow one reaches this all-reduce a little later than the slow one.
        const double late_us = rank / 2 == pair && rank != slow ? jitter_us : 0;
        trace.add_collective("allreduce", begin_us, begin_us + 5 * pair_us + late_us,
                             260 + jitter_us - 5 * pair_us - late_us, 1 << 22, 4, "[0, 1, 2, 3]");
      }
      ranks.push_back(read(trace));
    }
    return sim::join_ranks(ranks);
  };
  for (const double jitter_us : {0.0, 0.5, 3.0})
    for (std::size_t slow = 0; slow < 4; ++slow) {
      INFO(slow << " " << jitter_us);
      const sim::RankAnalysis analysis = sim::analyse_ranks(job_with(slow, jitter_us));
      CHECK(analysis.matched_calls == 11);
      CHECK(analysis.ranks[slow].delays_s == Approx(150 * kUs).epsilon(0.01));
      CHECK(analysis.ranks[slow].last_arrivals >= 5);
      for (std::size_t rank = 0; rank < 4; ++rank)
        if (rank != slow) CHECK(analysis.ranks[rank].delays_s <= 5 * kUs);
      CHECK(on_path(analysis, slow, calib::StepPart::gemm) == Approx(200 * kUs));
    }
}

TEST_CASE("the parts of identical ranks are those of the critical path, however much of a collective is overlapped") {
  for (const double overlapped_us : {0.0, 15.0, 25.0, 30.0}) {
    std::vector<calib::StepTrace> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      KinetoTrace trace;
      trace.set_rank(rank, 2);
      for (int step = 0; step < 3; ++step) {
        trace.add_step(step, 100 * step, 100);
        trace.add_kernel("gemm", 100 * step, 100 * step, 60 + overlapped_us);
        trace.add_collective("allreduce", 100 * step, 100 * step + 60, 30, 1 << 20, 2);
        trace.add_kernel("gemm", 100 * step, 100 * step + 90, 10);
      }
      ranks.push_back(read(trace));
    }
    const sim::TracedJob job = sim::join_ranks(ranks);
    REQUIRE_FALSE(sim::analyse_ranks(job).path.empty());
    const calib::PartSeconds path = sim::path_parts(job), parts = job.parts();
    for (std::size_t i = 0; i < parts.size(); ++i) CHECK(path[i] == Approx(parts[i]).margin(1e-12));
    CHECK(calib::part_of(path, calib::StepPart::communication) == Approx((30 - overlapped_us) * kUs).margin(1e-12));
  }
}

}  // namespace lockstep::tests
