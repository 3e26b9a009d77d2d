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
#include "sim/replica/gradient_sums.hpp"
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

// Splits with the same ranks have the same links. Splits with the same micro-batch, recomputation and kind of backward
// pass have the same passes.
using Ranks = std::tuple<int, int, int, int, int, bool>;
using Passed = std::tuple<int, int, int, int, int, Recomputation, std::set<RecomputeModule>, bool, RecomputedLayersKey,
                          bool, double>;

using Ends = std::array<GroupEnds, 3>;

struct PredictedSplit {
  RankedSplit split;
  std::unique_ptr<SplitModel> model;  // predicts it again with other inputs, while the search has its split
};

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
    std::vector<Candidate> candidates = all_candidates();
    if (ranking_.fits())
      rank_by_time(std::move(candidates), most);
    else
      rank_by_memory(std::move(candidates), most);
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

  // The fitting split with the least recomputation; if none fits, the one with the least memory.
  Candidate with_recomputation(ParallelSpec spec) {
    std::optional<Candidate> nearest;
    for (const RecomputeChoice& choice : recomputations_of(question_)) {
      spec.recompute = choice.recompute;
      spec.recompute_modules = choice.modules;
      set_split(spec);
      const GpuMemory memory = gpu_memory(scenario_, gpus_, spec.micro_batch);
      if (!nearest || memory.fits() || memory.total_bytes() < nearest->memory.total_bytes())
        nearest = Candidate{spec, memory, nullptr, 0};
      if (memory.fits()) break;
    }
    return *nearest;
  }

  // The splits that fit; if none fits and memory is ignored, all.
  std::vector<Candidate> all_candidates() {
    std::vector<Candidate> fitting, exceeding;
    const auto sort_by_fit = [&](const std::vector<ParallelSpec>& splits) {
      ranking_.valid += static_cast<int>(splits.size());
      for (const ParallelSpec& spec : splits) {
        Candidate candidate = with_recomputation(spec);
        (candidate.memory.fits() ? fitting : exceeding).push_back(std::move(candidate));
      }
    };
    sort_by_fit(splits_of(scenario_, gpus_, question_));
    const bool is_tensor_open =
        !question_.is_fixed("tensor") && question_.abilities.has(ParallelDimension::tensor) && gpus_ > 1;
    if (fitting.empty() && is_tensor_open) {
      SplitQuestion wide = question_;
      wide.has_wide_tensor = true;
      sort_by_fit(splits_of(scenario_, gpus_, wide));
    }
    const bool has_none = exceeding.empty() && fitting.empty();
    ranking_.fitting = static_cast<int>(fitting.size());
    if (has_none)
      if (const auto problem = find_problem(question_.stated, gpus_))
        throw NoSplit("no split over " + std::to_string(gpus_) + " GPUs: " + problem->wrong, problem->allowed);
    if (has_none || (fitting.empty() && !scenario_.ignores_memory))
      throw NoSplit("no split over " + std::to_string(gpus_) + " GPUs " +
                        (has_none ? why_no_split(scenario_, gpus_, question_) : "fits into the GPUs' memory"),
                    has_none ? "allowed: another global batch" : "allowed: more GPUs, or GPUs of more memory",
                    !has_none);
    return fitting.empty() ? exceeding : fitting;
  }

  void set_links(Candidate& candidate) {
    std::shared_ptr<const SplitLinks>& shared = links_[key_of(candidate.spec)];
    if (!shared) shared = std::make_shared<SplitLinks>(scenario_, cluster_, candidate.spec);
    candidate.links = shared;
  }

  void set_least_times(std::vector<Candidate>& candidates) {
    ProgressLine progress("splits", candidates.size());
    std::map<Passed, LeastTime> least;
    for (Candidate& candidate : candidates) {
      const ParallelSpec& spec = candidate.spec;
      set_split(spec);
      set_links(candidate);
      const SplitJob job = split_job(scenario_, gpus_);
      const Passed key{spec.tensor,
                       spec.context,
                       spec.expert,
                       spec.pipeline,
                       spec.micro_batch,
                       spec.recompute,
                       spec.recompute_modules,
                       spec.splits_backward(),
                       layers_key(spec),
                       job.micro_batches > 1,
                       gradient_sum_bytes(job)};
      const auto known = least.try_emplace(key, job, seconds_, *candidate.links, slowest_).first;
      candidate.least_s = known->second.seconds(job);
      progress.advance();
    }
  }

  void rank_by_time(std::vector<Candidate> candidates, int most) {
    set_least_times(candidates);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.least_s < b.least_s; });
    const auto is_faster = [](const PredictedSplit& a, const PredictedSplit& b) {
      return a.split.iteration.iteration_s < b.split.iteration.iteration_s;
    };
    std::vector<PredictedSplit> best;
    // Shows the `most` fastest, and all that are tied with the fastest.
    const auto is_shown = [&](double seconds) {
      return static_cast<int>(best.size()) < most || seconds < best[most - 1].split.iteration.iteration_s ||
             seconds <= tie_s(best.front().split);
    };
    ProgressLine progress("splits predicted", 0);
    for (const Candidate& candidate : candidates) {
      if (!is_shown(candidate.least_s)) break;
      PredictedSplit split = predicted(candidate);
      progress.advance();
      best.insert(std::upper_bound(best.begin(), best.end(), split, is_faster), std::move(split));
      while (static_cast<int>(best.size()) > most &&
             best.back().split.iteration.iteration_s > tie_s(best.front().split))
        best.pop_back();
    }
    order_ties_by_memory(best);
    if (static_cast<int>(best.size()) > most) best.erase(best.begin() + most, best.end());
    mark_uncertain(best);
    for (PredictedSplit& one : best) ranking_.best.push_back(std::move(one.split));
  }

  void rank_by_memory(std::vector<Candidate> candidates, int most) {
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.memory.total_bytes() < b.memory.total_bytes();
    });
    if (static_cast<int>(candidates.size()) > most) candidates.resize(most);
    for (Candidate& candidate : candidates) {
      set_split(candidate.spec);
      set_links(candidate);
      ranking_.best.push_back(predicted(candidate).split);
    }
    std::stable_sort(ranking_.best.begin(), ranking_.best.end(), [](const RankedSplit& a, const RankedSplit& b) {
      return std::make_tuple(a.memory.total_bytes(), a.iteration.iteration_s) <
             std::make_tuple(b.memory.total_bytes(), b.iteration.iteration_s);
    });
  }

  static double tie_s(const RankedSplit& fastest) { return fastest.iteration.iteration_s * (1 + kTieShare); }

  static void order_ties_by_memory(std::vector<PredictedSplit>& best) {
    for (auto first = best.begin(); first != best.end();) {
      const double last_s = tie_s(first->split);
      const auto end = std::find_if(first, best.end(),
                                    [&](const PredictedSplit& s) { return s.split.iteration.iteration_s > last_s; });
      std::stable_sort(first, end, [](const PredictedSplit& a, const PredictedSplit& b) {
        return a.split.memory.total_bytes() < b.split.memory.total_bytes();
      });
      first = end;
    }
  }

  void mark_uncertain(std::vector<PredictedSplit>& best) {
    if (best.size() < 2) return;
    const Ends ends_of_first = iteration_at_ends(best.front());
    for (std::size_t i = 1; i < best.size(); ++i)
      best[i].split.is_tied = is_order_uncertain(best.front(), ends_of_first, best[i]);
  }

  PredictedSplit predicted(const Candidate& candidate) {
    ++ranking_.predicted;
    set_split(candidate.spec);
    auto model = std::make_unique<SplitModel>(scenario_, gpus_, candidate.links, seconds_, timers_);
    RankedSplit split{candidate.spec, model->iteration(slowest_), candidate.memory, model->job().micro_batches, false};
    return {std::move(split), std::move(model)};
  }

  Ends iteration_at_ends(const PredictedSplit& predicted) {
    set_split(predicted.split.spec);
    return seconds_at_ends(scenario_.uncertainty,
                           [&](const Perturbation& p) { return predicted.model->iteration(slowest_, p).iteration_s; });
  }

  // True if the uncertainty of inputs, which both splits share, may reverse their order.
  bool is_order_uncertain(const PredictedSplit& a, const Ends& ends_a, const PredictedSplit& b) {
    const Ends ends_b = iteration_at_ends(b);
    double spread = 0;
    for (std::size_t group = 0; group < ends_a.size(); ++group) {
      const double better = std::log(ends_b[group].better_s / ends_a[group].better_s);
      const double worse = std::log(ends_b[group].worse_s / ends_a[group].worse_s);
      spread = std::hypot(spread, (better - worse) / 2);
    }
    return std::log(b.split.iteration.iteration_s / a.split.iteration.iteration_s) <= spread;
  }

  Scenario scenario_;
  const SplitQuestion& question_;
  int gpus_;
  Cluster cluster_;
  RankSecondsOfSplits seconds_;
  PipelineTimers timers_;
  double slowest_ = 1;
  std::map<Ranks, std::shared_ptr<const SplitLinks>> links_;
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
