#pragma once
// A plan of one job (sim/job_prediction/job_question.hpp) some of whose facts have several values, with prices and an
// objective.
//
// Every combination of GPU, network, algorithm and batch is one job, read as `simulate job` reads it for all the numbers
// of GPUs together; its scenario is what the points of the plan are predicted by.
#include <string>
#include <vector>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_plan {

/// Lists become axes of the plan; an empty one leaves its fact as `question` has it.
struct JobPlan {
  JobQuestion question;  ///< shared by all points, and their numbers of GPUs where `nodes` is empty
  std::vector<std::string> gpus_by_name, networks, algorithms;
  std::vector<int> batches;
  std::vector<std::int64_t> global_batches;
  std::string model_family;          ///< sizes to choose from (model_family.hpp), instead of the question's model
  std::vector<int> nodes;            ///< whole nodes of the job's GPUs per node
  std::vector<std::string> options;  ///< machines that differ in several things at once (machine_options.hpp)
  std::vector<std::string> prices;   ///< "H100=2.5/h", "A100 = 1.5 EUR/h", "2 $/h": of a GPU-hour
  std::string deadline, budget;      ///< "3d", "2000 USD"; at most one of the two
  bool is_cautious = false;
  bool has_failures = false;              ///< with what is published, where the next three do not say otherwise
  std::string interruptions;              ///< for each thousand nodes and days: "3.8"
  std::string restart, checkpoint_every;  ///< times
  int spares = 0;
  std::string availability;  ///< a file: when spot nodes are there
  bool has_energy = false;   ///< kWh of every point, with the next three where they are given
  double pue = 0, co2_g_per_kwh = 0;
  std::string tariff;          ///< of energy, paid on top: "0.12 USD/kWh"
  std::string critical_batch;  ///< "4M" tokens, measured; empty: the law's
  std::string tokens, flops;   ///< "300B", "3.8e23", of a model of sequences; the job may have epochs or a loss instead
  std::string samples;         ///< "5M", of any model
};

/// The GPUs of `gpus_by_name` and `options`, as written: some may be files. Throws InputError for an option that cannot be read.
std::vector<std::string> list_gpu_names(const JobPlan& words);

struct ReadJobPlan {
  Json plan;            ///< schema lockstep/plan/1, with its scenarios in it
  std::string read;     ///< what was read, as `simulate job` says it: two lines per machine and network
  std::string assumed;  ///< defaults that the job fell back to, as `simulate job` lists them; empty: none
};

/// Throws InputError, which names the option that is wrong.
ReadJobPlan read_job_plan(const JobPlan& words, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_plan
