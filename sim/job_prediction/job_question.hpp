#pragma once
// Defines the question that `simulate job` and `plan job` answer: a job's facts, at several numbers of GPUs.
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
  int gpus = 0;                   ///< 0: the smallest number of the question
  std::int64_t global_batch = 0;  ///< 0: the job's (see measured_step.cpp)
  std::string gpu{};              ///< empty: the job's GPU
  std::string network{};          ///< between its nodes; empty: the job's, or with `gpu` that GPU's default
};

/// The factor that a measured iteration implies (measured_step.hpp).
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
  Job job;                                  ///< as given: names are not looked up, and `gpus` is one of the list below
  std::vector<int> gpus;                    ///< one prediction for each; empty: use `nodes`
  std::vector<int> nodes{};                 ///< numbers of nodes; agree with `gpus`, if both are given
  double rate_samples_per_s = 0;            ///< measured on one GPU at the job's batch; 0: predicted by the constants
  std::string rate_gpu{};                   ///< GPU on which the rate was measured; empty: the job's GPU
  GivenStep step{};                         ///< a measured iteration
  std::optional<FittedStep> fitted_step{};  ///< result for `step`, set by with_fitted_step()
  double tokens = 0;                        ///< to train on; 0: not given
  bool derives_tokens = false;              ///< `tokens` follow from samples or flops
  double samples = 0;                       ///< to train on: images, sequences; 0: not given
  double loss = 0;                          ///< nats per token to train to; 0: not given
  double flops = 0;                         ///< operations of the training, forward and backward; 0: not given
  double critical_batch_tokens = 0;         ///< measured; replaces the law's; 0: use the law's
  std::string loss_law;                     ///< name in the catalogue, or a file; empty: kDefaultLossLaw (job_loss.hpp)
  std::string storage{};                    ///< of checkpoints, "200 GB/s" or "5 GB/s per node"; empty: the default
  bool is_undisturbed = false;              ///< leaves out the calendar time (--no-failures)
  double usd_per_gpu_hour = 0;              ///< 0: no cost is computed
  bool ignores_memory = false;              ///< also predicts jobs that do not fit into a GPU's memory
  bool lists_splits = false;                ///< prints the ten fastest splits, not only the fastest
  bool has_whole_replicas = false;          ///< the model has no splits, and with_whole_replicas() chose the rest
  std::string replicas_text{};              ///< one line that describes that choice
  std::vector<BatchRule> batches{};         ///< per GPU, of such a choice with a global batch; empty: the job's
  bool has_machine = false;                 ///< as StackOptions::has_machine

  int largest() const;
  /// One GPU; for a job with a split, the smallest number of GPUs in the question.
  int baseline_gpus() const;
  /// True if the job gives or searches a split, or gives a global batch. A given split and the global batch apply to
  /// every number of GPUs.
  bool is_split() const;
};

/// GPUs per node: as given, else the default of the GPU: a rack's number for GPUs sold in racks, 8 for an unknown GPU.
int gpus_per_node_of(const Job& job, const Catalogue& catalogue);
/// GPUs per node after join_nodes() (job_names.hpp) has joined the nodes that NVLink connects.
int joined_gpus_of(const JobQuestion& question, const Catalogue& catalogue);

/// The question with `gpus` filled from `nodes`. If both are given and GPUs per node are not, these follow. Throws
/// InputError if nodes, GPUs and GPUs per node contradict each other.
JobQuestion with_gpus_of_nodes(JobQuestion question, const Catalogue& catalogue);

/// Throws InputError for a number of GPUs that fills some nodes only partly. Fewer GPUs than one node has are allowed.
void check_whole_nodes(const std::vector<int>& gpus, int gpus_per_node);

/// The job at the largest number of GPUs: looks up its names, builds its model, and adds its rate to the measured runs.
/// Throws InputError for an unknown name and for facts that contradict each other.
Job resolve_job(const JobQuestion& question, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
