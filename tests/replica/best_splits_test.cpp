// The search over splits: its bound, its answer, and the splits that it skips.
#include "sim/point/best_splits.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "sim/program/jitter.hpp"
#include "sim/replica/least_time.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {
namespace {

// Returns a cluster of GPUs with this memory.
Json cluster_of(const std::string& memory) {
  Json cluster = switched_cluster();
  cluster["gpu"]["memory"] = memory;
  return cluster;
}

sim::Scenario scenario_of(int gpus, int global_batch, const std::string& memory = "80 GB") {
  return split_of({{"tensor", 2}, {"global_batch", global_batch}}, gpus, cluster_of(memory));
}

double analytic_s(const sim::Scenario& scenario, const sim::ParallelSpec& spec, int gpus) {
  sim::Scenario with = sim::scenario_with_split(scenario, spec, gpus);
  with.fidelity = sim::Fidelity::analytic;
  return predicted(with).mean_iteration_s();
}

bool fits(const sim::Scenario& scenario, const sim::ParallelSpec& spec, int gpus) {
  return sim::gpu_memory(sim::scenario_with_split(scenario, spec, gpus), gpus, spec.micro_batch).fits();
}

}  // namespace

TEST_CASE("no split is faster than its bound, and one of equal stages without an exchange takes it") {
  for (const int gpus : {4, 16, 32}) {
    sim::Scenario scenario = scenario_of(gpus, 64);
    const sim::SplitQuestion question = sim::all_splits(scenario, gpus);
    int seen = 0, met = 0;
    for (sim::ParallelSpec spec : sim::splits_of(scenario, gpus, question)) {
      if (++seen % 7 != 0) continue;
      if (seen % 2 == 0) spec.recompute = sim::Recomputation::full;
      scenario = sim::scenario_with_split(scenario, spec, gpus);
      const sim::Cluster cluster(scenario.cluster, gpus);
      sim::SplitModel model(scenario, cluster, gpus);
      const double slowest = sim::expected_slowest(scenario, gpus);
      sim::RankSecondsOfSplits seconds(scenario);
      const double bound = sim::LeastTime(model.job(), seconds, model.links(), slowest).seconds(model.job());
      const sim::SplitIteration iteration = model.iteration(slowest);
      INFO(sim::split_text(spec));
      CHECK(bound <= iteration.iteration_s * (1 + 1e-12));
      CHECK(bound > 0);
      if (spec.data == 1 && spec.context == 1 && spec.pipeline == 1) {
        CHECK(bound == Approx(iteration.iteration_s - iteration.of_gpu.update_s).epsilon(1e-9));
        ++met;
      }
    }
    CHECK(seen > 50);
    CHECK((gpus > 4 || met > 0));
  }
}

TEST_CASE("the fastest split is the fastest of all that fit, each predicted") {
  const int gpus = 16;
  for (const std::string memory : {"80 GB", "0.65 GB"}) {
    sim::Scenario scenario = scenario_of(gpus, 64, memory);
    scenario.cluster.gpu.reserved_bytes = 0;
    const sim::SplitQuestion question = sim::all_splits(scenario, gpus);
    const sim::SplitRanking ranking = sim::best_splits(scenario, gpus, question);
    std::vector<double> times;
    int fitting = 0;
    for (sim::ParallelSpec spec : sim::splits_of(scenario, gpus, question)) {
      bool has_fit = false;
      for (const sim::RecomputeChoice& choice : sim::recomputations_of(question)) {
        spec.recompute = choice.recompute;
        spec.recompute_modules = choice.modules;
        if (!fits(scenario, spec, gpus)) continue;
        // Recomputation takes time, so the least that fits in memory is the fastest.
        const double seconds = analytic_s(scenario, spec, gpus);
        if (has_fit) CHECK(seconds >= times.back());
        if (!has_fit) times.push_back(seconds);
        has_fit = true;
      }
      fitting += has_fit ? 1 : 0;
    }
    std::sort(times.begin(), times.end());
    CHECK(ranking.fitting == fitting);
    CHECK(ranking.valid >= fitting);
    CHECK(ranking.predicted < fitting);
    if (memory != "80 GB") CHECK(fitting < ranking.valid);
    REQUIRE(ranking.best.size() == 10);
    for (std::size_t i = 0; i < ranking.best.size(); ++i) {
      const sim::RankedSplit& split = ranking.best[i];
      CHECK(split.iteration.iteration_s == Approx(times[i]).epsilon(sim::kTieShare));  // ties are ordered by memory
      CHECK(analytic_s(scenario, split.spec, gpus) == Approx(split.iteration.iteration_s).epsilon(1e-12));
      CHECK(split.memory.fits());
    }
  }
}

TEST_CASE("what is fixed of a split stays, and the rest is the best with it") {
  const sim::Scenario scenario = scenario_of(16, 64);
  sim::SplitQuestion question = sim::all_splits(scenario, 16);
  const double free_s = sim::best_splits(scenario, 16, question).best.front().iteration.iteration_s;
  question.stated.pipeline = 4;
  question.stated.sharding = sim::ShardingStage::zero1;
  question.fixed = {"pipeline", "sharding"};
  const sim::SplitRanking ranking = sim::best_splits(scenario, 16, question);
  for (const sim::RankedSplit& split : ranking.best) {
    CHECK(split.spec.pipeline == 4);
    CHECK(split.spec.sharding == sim::ShardingStage::zero1);
  }
  CHECK(ranking.best.front().iteration.iteration_s >= free_s);
}

TEST_CASE("splits are tied as far as what they share leaves their order open") {
  sim::Scenario scenario = scenario_of(16, 64);
  const sim::SplitQuestion question = sim::all_splits(scenario, 16);
  scenario.uncertainty = {};
  const sim::SplitRanking sure = sim::best_splits(scenario, 16, question);
  const double best_s = sure.best.front().iteration.iteration_s;
  for (std::size_t i = 1; i < sure.best.size(); ++i)
    CHECK(sure.best[i].is_tied == (sure.best[i].iteration.iteration_s <= best_s));
  // If only computation takes time, its uncertainty leaves no ties. That of links does.
  scenario.uncertainty = {0, 0.5, 0.5, 0};
  const sim::SplitRanking unsure = sim::best_splits(scenario, 16, question);
  CHECK(unsure.tied() >= sure.tied());
  CHECK(unsure.tied() > 0);
}

TEST_CASE("of splits that take as long, the one with less memory comes first") {
  // Without links' time and overheads many splits compute as much and take equally long.
  sim::Scenario scenario = scenario_of(16, 64);
  scenario.uncertainty = {};
  const sim::SplitQuestion question = sim::all_splits(scenario, 16);
  const sim::SplitRanking all = sim::best_splits(scenario, 16, question, 1000);
  const sim::RankedSplit& first = all.best.front();
  int tied = 0;
  for (const sim::RankedSplit& split : all.best) {
    if (split.iteration.iteration_s > all.best.front().iteration.iteration_s * (1 + sim::kTieShare)) break;
    CHECK(split.memory.total_bytes() >= first.memory.total_bytes());
    ++tied;
  }
  CHECK(tied > 1);
  // For any requested number of splits, the first one is the same.
  for (int most : {1, 2, 10}) {
    const sim::SplitRanking few = sim::best_splits(scenario, 16, question, most);
    CHECK(static_cast<int>(few.best.size()) == most);
    CHECK(sim::split_text(few.best.front().spec) == sim::split_text(first.spec));
  }
}

TEST_CASE("where no split fits and memory is ignored, the one nearest to fitting comes first") {
  sim::Scenario scenario = scenario_of(16, 64, "0.1 GB");
  scenario.ignores_memory = true;
  const sim::SplitQuestion question = sim::all_splits(scenario, 16);
  const sim::SplitRanking ranking = sim::best_splits(scenario, 16, question);
  CHECK_FALSE(ranking.fits());
  REQUIRE(ranking.best.size() == 10);
  const double least_bytes = ranking.best.front().memory.total_bytes();
  for (sim::ParallelSpec spec : sim::splits_of(scenario, 16, question))
    for (const sim::RecomputeChoice& choice : sim::recomputations_of(question)) {
      spec.recompute = choice.recompute;
      spec.recompute_modules = choice.modules;
      CHECK(sim::gpu_memory(sim::scenario_with_split(scenario, spec, 16), 16, spec.micro_batch).total_bytes() >=
            least_bytes);
    }
  // If some splits fit, memory is not ignored, and the answer is the same.
  sim::Scenario large = scenario_of(16, 64, "0.65 GB");
  large.cluster.gpu.reserved_bytes = 0;
  const sim::SplitRanking fitting = sim::best_splits(large, 16, question);
  large.ignores_memory = true;
  CHECK(sim::split_text(sim::best_splits(large, 16, question).best.front().spec) ==
        sim::split_text(fitting.best.front().spec));
}

TEST_CASE("where no split fits, or none divides the batch, that is said") {
  const sim::Scenario small = scenario_of(16, 64, "0.1 GB");
  CHECK_THROWS_WITH(sim::best_splits(small, 16, sim::all_splits(small, 16)), Contains("no split over 16 GPUs fits"));
  sim::Scenario odd = scenario_of(16, 64);
  sim::SplitQuestion question = sim::all_splits(odd, 16);
  question.stated.global_batch = 7;
  question.stated.pipeline = 1;
  question.fixed = {"pipeline"};
  CHECK_THROWS_WITH(sim::best_splits(odd, 16, question), Contains("allowed: another global batch"));
}

}  // namespace lockstep::tests
