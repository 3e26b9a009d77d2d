#pragma once
// A training job in words, without a file: predictions by the constants that published results gave, with the bounds
// that they were tested with. What is left open is assumed as for a published result, and said.
#include <string>
#include <vector>

#include "sim/records/predict.hpp"

namespace lockstep::sim {

/// Names as publications use them (catalogue.hpp); an empty text or 0 leaves a fact open.
struct Job {
  std::string model, gpu;
  std::vector<int> gpus;  ///< a prediction each
  int gpus_per_node = 0;  ///< 0: 8, as is usual of servers
  int batch_per_gpu = 0;
  std::string intra_node_link, network, precision, algorithm;
  std::string software = "PyTorch";
  double epochs = 0;              ///< 0: no training time
  double rate_samples_per_s = 0;  ///< measured on one GPU at `batch_per_gpu`; 0: the constants say it
  bool ignores_memory = false;    ///< predicts what does not fit into a GPU, too
};

/// For every number of GPUs: images/s, efficiency against one GPU, and with epochs the training time. Throws InputError
/// with what has no place in the catalogue, a rate without a batch, and nodes that are not full.
struct JobPrediction {
  std::vector<Record> records;  ///< the job in the form of a publication's; predictions point into it
  std::vector<Prediction> predictions;
};
JobPrediction predict_job(const Job& job, const Catalogue& catalogue, int jobs);

/// Head, a row per number of GPUs, and what was assumed.
std::string job_table(const Job& job, const JobPrediction& predicted);

/// The names that a job may use: models, GPUs, links in a node, networks, software.
std::string names_text(const Catalogue& catalogue);

}  // namespace lockstep::sim
