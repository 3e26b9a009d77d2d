#pragma once
// A training job in words, without a file: predictions by the constants that published results gave, with the bounds
// that they were tested with. What is left open is assumed as for a published result, and said.
//
// A job is one scenario: one cluster, one software, one way to exchange, for all its numbers of GPUs as they are at the
// largest. It is predicted as `simulate` and `plan` predict that scenario.
#include <string>
#include <vector>

#include "sim/point/best_splits.hpp"
#include "sim/records/predict.hpp"

namespace lockstep::sim {
inline namespace records {

/// Names as job_names.hpp has them; an empty text or 0 leaves a fact open.
struct Job {
  std::string model, gpu;
  std::vector<int> gpus;  ///< a prediction each
  int gpus_per_node = 0;  ///< 0: 8, as is usual of servers
  int batch_per_gpu = 0;
  std::string intra_node_link, network, precision, algorithm;
  std::string software;           ///< empty: usual_software()
  double epochs = 0;              ///< 0: no training time
  SplitSpec split;                ///< how a replica is split over GPUs
  std::int64_t global_batch = 0;  ///< sequences of an iteration over all GPUs; 0: by `batch_per_gpu`
  double tokens = 0;              ///< to train on; 0: no training time of them
  double usd_per_gpu_hour = 0;    ///< 0: no cost
  double rate_samples_per_s = 0;  ///< measured on one GPU at `batch_per_gpu`; 0: the constants say it
  bool channels_last = false;     ///< JobSpec::channels_last
  bool decodes_on_host = false;   ///< JobSpec::decodes_on_host
  bool ignores_memory = false;    ///< predicts what does not fit into a GPU's memory, too
  bool searches_split = false;    ///< what `split` leaves open is the fastest that fits, at each number of GPUs its own
  bool lists_splits = false;      ///< tells the ten fastest, not the fastest alone

  /// A split that is stated is the same at all numbers of GPUs, and so is the global batch.
  bool is_split() const { return searches_split || split.is_asked || split.is_stated() || global_batch > 0; }
};

struct JobPrediction {
  JobSpec spec;                         ///< at the largest number of GPUs
  Scenario scenario;                    ///< of all numbers of GPUs
  std::vector<Record> records;          ///< what is asked; predictions point into it
  std::vector<Prediction> predictions;  ///< for each number of GPUs images/s, efficiency, with epochs the training time
  std::vector<SplitRanking>
      rankings;  ///< of each number of GPUs, where splits are searched; `scenario` has the largest's
};

/// As stated, else as is usual of the GPU: 8, or what of an NVLink domain jobs take. A name that is not known has the former.
int stated_gpus_of_node(const Job& job, const Catalogue& catalogue);
/// Of these, what NVLink joins (job_names.hpp, join_nodes()).
int gpus_of_node(const Job& job, const Catalogue& catalogue);

/// Throws InputError for a number of GPUs that leaves a node partly empty; several GPUs of one node are a node.
void check_whole_nodes(const std::vector<int>& gpus, int of_node);

/// What trains jobs of such splits, as a rule: PyTorch's DDP whole replicas, its FSDP those whose weights are sharded,
/// DeepSpeed those whose gradients are, Megatron-LM what is divided over tensor, pipeline, context or expert ranks or
/// shards the optimizer's state alone.
std::string usual_software(const Job& job);

/// The job's facts at its largest number of GPUs. Throws InputError for a name that is not known.
JobSpec job_spec(const Job& job, const Catalogue& catalogue);

/// The job read and mapped, with predictions whose values are still to be worked out. Throws as predict_job() does, but
/// for memory.
JobPrediction read_job(const Job& job, const Catalogue& catalogue);
/// Works out those predictions that a read job has.
void predict_read(const Job& job, JobPrediction& predicted, const Catalogue& catalogue, int jobs);

/// For every number of GPUs: images/s, efficiency against one GPU, and with epochs the training time. Throws InputError
/// for a name that is not known, a rate without a batch, and nodes that are not full.
JobPrediction predict_job(const Job& job, const Catalogue& catalogue, int jobs);

/// What predictions rest on: each input once, in the order in which they came upon it.
std::vector<Assumption> inputs_of(const std::vector<Prediction>& predictions);

/// What a training's time is over that of its iterations, a line; empty where no training was asked for.
std::string training_text(const std::vector<Assumption>& inputs);

/// What was read, a row per number of GPUs, and what was assumed.
std::string job_table(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue);

/// The predictions as simulate --predict writes them, and what was read as "read".
Json job_json(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue);

}  // namespace records
}  // namespace lockstep::sim
