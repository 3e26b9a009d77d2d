#include "sim/point/best_splits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "engine/base/progress_line.hpp"
#include "engine/base/units.hpp"
#include "sim/point/point.hpp"
#include "sim/program/jitter.hpp"
#include "sim/replica/least_time.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::point {
namespace {

struct Candidate {
  ParallelSpec spec;
  GpuMemory memory;
  std::shared_ptr<const SplitLinks> links;
  double least_s = 0;
};

// Splits with the same ranks have the same links; with the same micro-batch, recomputation and kind of backward pass the same
// passes.
using Ranks = std::tuple<int, int, int, int, int, bool>;
using Passed = std::tuple<int, int, int, int, int, Recomputation, std::set<RecomputeModule>, bool, RecomputedLayersKey>;

using Ends = std::array<GroupEnds, 3>;

class Search {
 public:
  Search(const Scenario& scenario, int gpus, const SplitQuestion& question)
      : scenario_(scenario), question_(question), gpus_(gpus), cluster_(scenario.cluster, gpus), seconds_(scenario_) {
    apply_overheads(scenario, cluster_);
    slowest_ = expected_slowest(scenario, gpus);
    scenario_.gpus = {gpus};
    scenario_.baseline_gpus = gpus;
  }

  SplitRanking run(int most) {
    ranking_.gpus = gpus_;
    std::vector<Candidate> candidates = fitting();
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.least_s < b.least_s; });
    std::vector<RankedSplit>& best = ranking_.best;
    ProgressLine progress("splits predicted", 0);
    for (const Candidate& candidate : candidates) {
      const bool is_full = static_cast<int>(best.size()) == most;
      if (is_full && candidate.least_s >= best.back().iteration.iteration_s) break;
      const RankedSplit split = predicted(candidate);
      ++ranking_.predicted;
      progress.advance();
      const auto behind = std::upper_bound(best.begin(), best.end(), split, [](const auto& a, const auto& b) {
        return a.iteration.iteration_s < b.iteration.iteration_s;
      });
      links_of_best_[key_of(split.spec)] = candidate.links;
      best.insert(behind, split);
      if (is_full) best.pop_back();
    }
    if (best.size() > 1) {
      const Ends ends_of_first = iteration_at_ends(best.front());
      for (std::size_t i = 1; i < best.size(); ++i)
        best[i].is_tied = is_order_uncertain(best.front(), ends_of_first, best[i]);
    }
    return std::move(ranking_);
  }

 private:
  static Ranks key_of(const ParallelSpec& spec) {
    return {spec.tensor, spec.context, spec.expert, spec.pipeline, spec.sharding_group, spec.has_two_copies()};
  }

  void set_split(const ParallelSpec& spec) {
    scenario_.parallel = spec;
    scenario_.batch = {{kMostGpus, spec.micro_batch}};
  }

  // The least recomputation of those that fit; none where none does.
  std::optional<Candidate> in_memory(ParallelSpec spec) {
    for (const RecomputeChoice& choice : recomputations_of(question_)) {
      spec.recompute = choice.recompute;
      spec.recompute_modules = choice.modules;
      set_split(spec);
      const GpuMemory memory = gpu_memory(scenario_, gpus_, spec.micro_batch);
      if (memory.fits() || scenario_.ignores_memory) return Candidate{spec, memory, nullptr, 0};
    }
    return std::nullopt;
  }

  std::vector<Candidate> fitting() {
    const std::vector<ParallelSpec> splits = splits_of(scenario_, gpus_, question_);
    ranking_.valid = static_cast<int>(splits.size());
    std::vector<Candidate> candidates;
    ProgressLine progress("splits", splits.size());
    for (const ParallelSpec& spec : splits) {
      if (std::optional<Candidate> candidate = in_memory(spec))
        candidates.push_back(*candidate);
      else
        progress.advance();  // the others when their least time is known
    }
    ranking_.fitting = static_cast<int>(candidates.size());
    if (splits.empty())
      if (const auto problem = find_problem(question_.stated, gpus_))
        throw NoSplit("no split over " + std::to_string(gpus_) + " GPUs: " + problem->wrong,
                      problem->allowed.substr(problem->allowed.find(' ') + 1));
    if (candidates.empty())
      throw NoSplit("no split over " + std::to_string(gpus_) + " GPUs " +
                        (splits.empty() ? "divides model and batch" : "fits into the GPUs' memory"),
                    splits.empty() ? "another global batch" : "more GPUs, or GPUs of more memory", !splits.empty());
    std::map<Ranks, std::shared_ptr<const SplitLinks>> links;
    std::map<Passed, LeastTime> least;
    for (Candidate& candidate : candidates) {
      const ParallelSpec& spec = candidate.spec;
      set_split(spec);
      std::shared_ptr<const SplitLinks>& shared = links[key_of(spec)];
      if (!shared) shared = std::make_shared<SplitLinks>(scenario_, cluster_, spec);
      candidate.links = shared;
      const SplitJob job = split_job(scenario_, gpus_);
      const Passed key{spec.tensor,
                       spec.context,
                       spec.expert,
                       spec.pipeline,
                       spec.micro_batch,
                       spec.recompute,
                       spec.recompute_modules,
                       spec.splits_backward(),
                       layers_key(spec)};
      const auto known = least.try_emplace(key, job, seconds_, *shared, slowest_).first;
      candidate.least_s = known->second.seconds(job);
      progress.advance();
    }
    return candidates;
  }

  RankedSplit predicted(const Candidate& candidate) {
    set_split(candidate.spec);
    const SplitModel model(scenario_, gpus_, candidate.links, seconds_);
    return {candidate.spec, model.iteration(slowest_), candidate.memory, model.job().micro_batches, false};
  }

  Ends iteration_at_ends(const RankedSplit& split) {
    set_split(split.spec);
    const SplitModel model(scenario_, gpus_, links_of_best_.at(key_of(split.spec)), seconds_);
    return seconds_at_ends(scenario_.uncertainty,
                           [&](const Perturbation& p) { return model.iteration(slowest_, p).iteration_s; });
  }

  // Whether the inputs' uncertainty, which both splits share, may reverse their order.
  bool is_order_uncertain(const RankedSplit& a, const Ends& ends_a, const RankedSplit& b) {
    const Ends ends_b = iteration_at_ends(b);
    double spread = 0;
    for (std::size_t group = 0; group < ends_a.size(); ++group) {
      const double better = std::log(ends_b[group].better_s / ends_a[group].better_s);
      const double worse = std::log(ends_b[group].worse_s / ends_a[group].worse_s);
      spread = std::hypot(spread, (better - worse) / 2);
    }
    return std::log(b.iteration.iteration_s / a.iteration.iteration_s) <= spread;
  }

  Scenario scenario_;
  const SplitQuestion& question_;
  int gpus_;
  Cluster cluster_;
  RankSecondsOfSplits seconds_;
  double slowest_ = 1;
  std::map<Ranks, std::shared_ptr<const SplitLinks>> links_of_best_;
  SplitRanking ranking_;
};

}  // namespace

int SplitRanking::tied() const {
  return static_cast<int>(std::count_if(best.begin(), best.end(), [](const RankedSplit& s) { return s.is_tied; }));
}

SplitRanking best_splits(const Scenario& scenario, int gpus, const SplitQuestion& question, int most) {
  return Search(scenario, gpus, question).run(most);
}

Scenario scenario_with_split(Scenario scenario, const ParallelSpec& spec, int gpus) {
  scenario.parallel = spec;
  scenario.batch = {{kMostGpus, spec.micro_batch}};
  scenario.gpus = {gpus};
  scenario.baseline_gpus = gpus;
  return scenario;
}

}  // namespace lockstep::sim::point
