#include "sim/job_prediction/replica_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "engine/base/text.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/quantity/workload_time.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/stack/whole_replicas.hpp"

namespace lockstep::sim::job_prediction {
namespace {

struct Candidate {
  JobQuestion question;
  GpuMemory memory;
  double sample_s = std::numeric_limits<double>::infinity();  ///< per sample of a GPU
};

Workload workload_of(const JobQuestion& question, const Catalogue& catalogue) {
  return prepare_job(question, catalogue).rows.front().samples_per_s.task.target.front();
}

// Returns the largest micro-batch that fits, with a number of micro-steps that divides the samples. If none fits,
// returns 1.
int fitting_micro_batch(int samples, const GpuMemory& memory) {
  const int most = memory.largest_batch();
  for (int steps = 1; steps <= samples; ++steps)
    if (samples % steps == 0 && samples / steps <= most) return samples / steps;
  return 1;
}

class ReplicaSearch {
 public:
  ReplicaSearch(const JobQuestion& asked, JobQuestion replicas, const Catalogue& catalogue)
      : asked_(asked), replicas_(std::move(replicas)), catalogue_(catalogue) {}

  JobQuestion fastest() const {
    std::optional<Candidate> best;
    int fitting = 0;
    for (const bool recomputes : choices("recompute", replicas_.job.recomputes_blocks))
      for (const bool is_sharded : choices("sharding", !replicas_.job.exchange.empty())) {
        const std::optional<Candidate> candidate = candidate_with(recomputes, is_sharded);
        if (!candidate) continue;
        const bool is_plain =
            !recomputes && !is_sharded && (!has_open_batch() || candidate->question.job.accumulation <= 1);
        if (candidate->memory.fits() && is_plain) return candidate->question;
        if (candidate->memory.fits()) ++fitting;
        if (!best || is_better(*candidate, *best)) best = candidate;
      }
    if (!best) return replicas_;
    JobQuestion chosen = best->question;
    chosen.replicas_text = text_of(chosen, fitting);
    return chosen;
  }

 private:
  bool has_open_batch() const { return !asked_.job.split.has("micro_batch") && asked_.job.accumulation == 0; }
  bool is_given(const std::string& key) const {
    return asked_.job.split.has(key) || (key == "sharding" && !asked_.job.exchange.empty());
  }
  std::vector<bool> choices(const std::string& key, bool given) const {
    if (is_given(key) || (key == "sharding" && asked_.largest() == 1)) return {given};
    return {false, true};
  }

  static bool is_better(const Candidate& a, const Candidate& b) {
    if (a.memory.fits() != b.memory.fits()) return a.memory.fits();
    return a.memory.fits() ? a.sample_s < b.sample_s : a.memory.total_bytes() < b.memory.total_bytes();
  }

  // Returns none if the model has no blocks to recompute, or if the job's algorithm excludes sharding.
  std::optional<Candidate> candidate_with(bool recomputes, bool is_sharded) const {
    Candidate candidate;
    candidate.question = replicas_;
    Job& job = candidate.question.job;
    job.recomputes_blocks = recomputes;
    if (is_sharded && job.exchange.empty()) job.exchange = "sharded";
    try {
      Workload workload = workload_of(candidate.question, catalogue_);
      candidate.memory = gpu_memory(workload.scenario, workload.gpus, workload.batch_per_gpu);
      const int samples = workload.batch_per_gpu * std::max(1, workload.accumulation);
      const int micro_batch = has_open_batch() && !asked_.ignores_memory
                                  ? fitting_micro_batch(samples, candidate.memory)
                                  : workload.batch_per_gpu;
      job.batch_per_gpu = micro_batch;
      if (has_open_batch()) job.accumulation = samples / micro_batch;
      workload = workload_of(candidate.question, catalogue_);
      candidate.memory = gpu_memory(workload.scenario, workload.gpus, workload.batch_per_gpu);
      if (!candidate.memory.fits() && !asked_.ignores_memory) return candidate;
      const WorkloadTime time = time_workloads({&workload}, {0, false}).front();
      if (!time.failure.empty()) return std::nullopt;
      candidate.sample_s = time.seconds / samples;
    } catch (const InputError&) {
      return std::nullopt;
    }
    return candidate;
  }

  static std::string sharded_text(const Job& job) {
    return job.keeps_gradients          ? "zero1 (optimizer's state)"
           : job.keeps_gathered_weights ? "zero2 (gradients and optimizer's state)"
                                        : "zero3 (weights, gradients and optimizer's state)";
  }
  static std::string text_of(const JobQuestion& chosen, int fitting) {
    const Job& job = chosen.job;
    const bool is_sharded = job.exchange == "sharded";
    std::string text = std::string(is_sharded ? "One replica sharded over " : "A whole replica on each of ") +
                       gpus_text(chosen.largest()) + ", " +
                       (fitting > 0 ? "the fastest of " + std::to_string(fitting) + " that fit" : "none fits") + ": " +
                       (is_sharded             ? sharded_text(job)
                        : job.exchange.empty() ? "all-reduce"
                                               : job.exchange);
    if (job.recomputes_blocks) text += ", full recomputation";
    text += ", micro-batch " + std::to_string(job.batch_per_gpu);
    if (job.accumulation > 1) text += ", " + std::to_string(job.accumulation) + " micro-steps";
    return text + ".\n";
  }

  const JobQuestion& asked_;
  JobQuestion replicas_;
  const Catalogue& catalogue_;
};

Job replicas_on(const JobQuestion& question, int gpus, const std::string& why) {
  Job job = question.job;
  job.gpus = gpus;
  job = as_whole_replicas(std::move(job), why);
  job.gpus = question.job.gpus;
  return job;
}

JobQuestion choose_on(int gpus, const JobQuestion& question, const std::string& why, const Catalogue& catalogue) {
  JobQuestion asked = question;
  asked.gpus = {gpus};
  JobQuestion replicas = asked;
  replicas.has_whole_replicas = true;
  replicas.job = replicas_on(asked, gpus, why);
  return ReplicaSearch(asked, replicas, catalogue).fastest();
}

}  // namespace

bool is_same_choice(const Job& a, const Job& b, bool has_global_batch) {
  return a.exchange == b.exchange && a.recomputes_blocks == b.recomputes_blocks &&
         std::max(1, a.accumulation) == std::max(1, b.accumulation) &&
         (has_global_batch || a.batch_per_gpu == b.batch_per_gpu);
}

JobQuestion choose_whole_replicas(const JobQuestion& question, const std::string& why, const Catalogue& catalogue) {
  if (question.lists_splits)
    throw InputError("--optimise split: " + why +
                     "; allowed: without it; sharding, recomputation and micro-batch are then chosen");
  if (question.rate_samples_per_s > 0 && question.job.split.has("micro_batch"))
    throw InputError("--rate: it is of --batch, and --micro-batch is given; allowed: one of the two batches");
  const bool has_global_batch = question.job.global_batch > 0;
  const int largest = question.largest();
  const JobQuestion of_largest = choose_on(largest, question, why, catalogue);
  std::map<int, JobQuestion> same{{largest, of_largest}};
  for (const int gpus : question.gpus) {
    if (gpus == largest) continue;
    JobQuestion choice = choose_on(gpus, question, why, catalogue);
    if (is_same_choice(choice.job, of_largest.job, has_global_batch)) same.emplace(gpus, std::move(choice));
  }
  JobQuestion chosen = of_largest;
  chosen.gpus.clear();
  for (const int gpus : question.gpus)
    if (same.count(gpus) > 0) chosen.gpus.push_back(gpus);
  if (has_global_batch && same.size() > 1)
    for (const auto& [gpus, choice] : same) chosen.batches.push_back({gpus, choice.job.batch_per_gpu});
  return chosen;
}

}  // namespace lockstep::sim::job_prediction
