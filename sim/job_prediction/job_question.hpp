#pragma once
// The question that `simulate job` and `plan job` answer: a job's facts, at several numbers of GPUs.
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
  int gpus = 0;                   ///< 0: the smallest number that is asked for
  std::int64_t global_batch = 0;  ///< 0: the job's (measured_step.cpp)
  std::string gpu{};              ///< empty: the job's GPU
  std::string network{};          ///< between its nodes; empty: the job's, and with `gpu` the usual one of that GPU
};

/// What it says (measured_step.hpp).
struct FittedStep {
  GivenStep given;         ///< with number of GPUs and batch filled in
  std::string gpu;         ///< the catalogue's id
  std::string split{};     ///< in words, if it was searched
  double predicted_s = 0;  ///< by the laws alone
  double time_factor = 1;  ///< of all layers, over the laws
};

struct JobQuestion {
  Job job;                                  ///< as given: names are not looked up, `gpus` is one of the following
  std::vector<int> gpus;                    ///< a prediction each; empty: whole `nodes`
  std::vector<int> nodes{};                 ///< numbers of nodes; with `gpus`, both say the same (with_gpus_of_nodes())
  double rate_samples_per_s = 0;            ///< measured on one GPU at the job's batch; 0: the constants say it
  std::string rate_gpu{};                   ///< that the rate was measured on; empty: the job's GPU
  GivenStep step{};                         ///< a measured iteration
  std::optional<FittedStep> fitted_step{};  ///< of `step`, by with_fitted_step()
  double tokens = 0;                        ///< to train on; 0: no training time of them
  double samples = 0;                       ///< to train on: images, sequences; 0: not given
  double loss = 0;                          ///< nats per token to train to; 0: not given
  double flops = 0;                         ///< operations of the training, forward and backward; 0: not given
  double critical_batch_tokens = 0;         ///< measured, instead of the law's; 0: the law's
  std::string loss_law;                     ///< of the catalogue, or a file; empty: kDefaultLossLaw (job_loss.hpp)
  std::string storage{};                    ///< of checkpoints, "200 GB/s" or "5 GB/s per node"; empty: the default
  bool is_undisturbed = false;              ///< leaves out the calendar time (--no-failures)
  double usd_per_gpu_hour = 0;              ///< 0: no cost
  bool ignores_memory = false;              ///< predicts jobs that do not fit into a GPU's memory, too
  bool lists_splits = false;                ///< tells the ten fastest splits, not the fastest alone
  bool has_whole_replicas = false;          ///< its model has no splits: with_whole_replicas() has chosen the rest
  std::string replicas_text{};              ///< that choice, a line
  std::vector<BatchRule> batches{};         ///< per GPU, of such a choice with a global batch; empty: the job's
  bool has_machine = false;                 ///< as StackOptions::has_machine

  int largest() const;
  /// One GPU; with a split the smallest number asked for.
  int baseline_gpus() const;
  /// Whether the job gives or searches a split, or gives a global batch. A given split and the global batch are the same at
  /// all numbers of GPUs.
  bool is_split() const;
};

/// GPUs per node: as given, else the usual number for the GPU, which for GPUs of racks is a rack. A GPU that is not known has 8.
int gpus_per_node_of(const Job& job, const Catalogue& catalogue);
/// GPUs of the nodes that NVLink joins into one (job_names.hpp, join_nodes()).
int joined_gpus_of(const JobQuestion& question, const Catalogue& catalogue);

/// The question with `gpus` filled from `nodes`. Given both, GPUs per node follow where the job does not give them. Throws
/// InputError where nodes, GPUs and GPUs per node contradict each other.
JobQuestion with_gpus_of_nodes(JobQuestion question, const Catalogue& catalogue);

/// Throws InputError for a number of GPUs that fills some nodes only partly. A number below one node's size is allowed.
void check_whole_nodes(const std::vector<int>& gpus, int gpus_per_node);

/// The job at the largest number of GPUs, with its names looked up, its model built and its rate among the measured runs.
/// Throws InputError for a name that is not known, and for facts that contradict each other.
Job resolve_job(const JobQuestion& question, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
