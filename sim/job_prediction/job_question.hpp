#pragma once
// Defines what `simulate job` and `plan job` answer: a job's facts, on several numbers of GPUs.
#include <optional>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job/job.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::job_prediction {

/// A measured iteration of the job.
struct GivenStep {
  double seconds = 0;             ///< 0: none
  int gpus = 0;                   ///< 0: the smallest number in the question
  std::int64_t global_batch = 0;  ///< 0: the job's (see measured_step.cpp)
  std::string gpu{};              ///< empty: the job's GPU
  std::string network{};          ///< between its nodes; empty: the job's, or if `gpu` is given the default of that GPU
  std::string source{};           ///< the file that has the time; empty: --step-time
  bool is_batch_assumed = false;  ///< neither the file nor an option has global_batch
};

/// The time factor that a measured iteration implies (measured_step.hpp).
struct FittedStep {
  GivenStep given;                   ///< as given, with number of GPUs and batch filled in
  std::string gpu;                   ///< the catalogue's id
  std::string split{};               ///< text of the split, if it was searched
  double predicted_s = 0;            ///< without the measurement
  double time_factor = 1;            ///< multiplies the predicted time of every layer
  double computing_s = 0;            ///< measured step without exposed communication, by traces; 0: not known
  double predicted_computing_s = 0;  ///< the same as predicted; 0: not known
};

struct JobQuestion {
  Job job;                                  ///< as given: names are not looked up, and `gpus` is one of those below
  std::vector<int> gpus;                    ///< one prediction for each; empty: use `nodes`
  std::vector<int> nodes{};                 ///< numbers of nodes; must agree with `gpus` if both are given
  double rate_samples_per_s = 0;            ///< measured on one GPU at the job's batch; 0: constants predict it
  std::string rate_gpu{};                   ///< GPU on which the rate was measured; empty: the job's GPU
  GivenStep step{};                         ///< a measured iteration
  std::optional<FittedStep> fitted_step{};  ///< derived from `step` by with_fitted_step()
  double tokens = 0;                        ///< tokens of the training; 0: not given
  bool derives_tokens = false;              ///< `tokens` were derived from samples or flops
  bool trains_to_mlperf_target = false;     ///< the work is MLPerf's, by its reference runs at the global batch
  double samples = 0;                       ///< images or sequences of the training; 0: not given
  double loss = 0;                          ///< loss that the training must reach, nats per token; 0: not given
  double flops = 0;                         ///< operations of the training, forward and backward; 0: not given
  std::string batch_ramp{};                 ///< batches with which it begins (batch_ramp.hpp); empty: one batch
  double critical_batch_tokens = 0;         ///< measured, in place of the law's; 0: the law's
  double critical_batch_deviation = 0;      ///< of its logarithm; 0: assumed
  std::string critical_batch_source{};      ///< empty: --critical-batch
  std::string loss_law;                     ///< name in the catalogue, or a file; empty: kDefaultLossLaw (job_loss.hpp)
  std::string storage{};                    ///< for checkpoints, "200 GB/s" or "5 GB/s per node"; empty: the default
  bool is_undisturbed = false;              ///< leaves out the calendar time (--no-failures)
  double usd_per_gpu_hour = 0;              ///< 0: no cost is computed
  bool ignores_memory = false;              ///< predicts even jobs that do not fit into a GPU's memory
  bool lists_splits = false;                ///< prints the ten fastest splits, not only the fastest
  bool has_whole_replicas = false;          ///< the model cannot be split, and choose_whole_replicas() made the choice
  std::string replicas_text{};              ///< one line that describes that choice
  std::vector<BatchRule> batches{};         ///< batches per GPU in such a choice with a global batch; empty: the job's
  bool has_machine = false;                 ///< as StackOptions::has_machine

  int largest() const;
  /// Returns one GPU. For a job with a split, returns the smallest number of GPUs in the question.
  int baseline_gpus() const;
  /// True if the job gives or searches a split, or gives a global batch. Split and global batch apply to every number
  /// of GPUs.
  bool is_split() const;
};

/// Returns GPUs per node: as given, else the GPU's default (for racks that of a rack, for unknown GPUs 8).
int gpus_per_node_of(const Job& job, const Catalogue& catalogue);
/// Returns GPUs per node after join_nodes() (job_names.hpp) has joined the nodes that NVLink connects.
int joined_gpus_of(const JobQuestion& question, const Catalogue& catalogue);

/// Returns the question with `gpus` derived from `nodes`. If both are given, GPUs per node follow from them unless
/// given. Throws InputError if nodes, GPUs and GPUs per node contradict each other.
JobQuestion with_gpus_of_nodes(JobQuestion question, const Catalogue& catalogue);

/// Throws InputError for a number of GPUs that fills some nodes only partly. Fewer GPUs than one node has are allowed.
void check_whole_nodes(const std::vector<int>& gpus, int gpus_per_node);

/// Returns the job on the largest number of GPUs, with names looked up, its model built, and its rate among the
/// measured runs. Throws InputError for an unknown name and for facts that contradict each other.
Job resolve_job(const JobQuestion& question, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
