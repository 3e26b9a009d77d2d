#pragma once
// Makes a plan of one job (sim/job_prediction/job_question.hpp). Some of the job's facts have several values. Prices
// and an objective select among them.
//
// Every combination of GPU, network, algorithm and batch is one job. It is read as `simulate job` reads it, for all
// numbers of GPUs together. The plan's points are predicted from its scenario.
#include <optional>
#include <string>
#include <vector>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_plan {

/// A list becomes an axis of the plan. If it is empty, its fact is that of `question`.
struct JobPlan {
  JobQuestion question;  ///< shared by all points; also has their numbers of GPUs if `nodes` is empty
  std::vector<std::string> gpus_by_name, networks, algorithms;
  std::vector<int> batches;
  std::vector<std::int64_t> global_batches;
  std::string model_family;          ///< sizes to choose from (model_family.hpp), in place of the question's model
  std::vector<int> nodes;            ///< numbers of whole nodes with the job's GPUs per node
  std::vector<std::string> options;  ///< machines that may differ in several facts at once (machine_options.hpp)
  std::vector<std::string> prices;   ///< per GPU-hour: "H100=2.5/h", "A100 = 1.5 EUR/h", "2 $/h"
  std::string deadline, budget;      ///< "3d", "2000 USD"; at most one of the two
  bool is_cautious = false;
  bool has_failures = false;              ///< uses published rates, except those that the next three members replace
  std::string interruptions;              ///< per 1,000 node-days: "3.8"
  std::string restart, checkpoint_every;  ///< durations
  std::optional<int> spares;
  std::string availability;  ///< a file that lists when spot nodes are available
  bool has_energy = false;   ///< computes kWh of every point, with the next three members if given
  double pue = 0, co2_g_per_kwh = 0;
  std::string tariff;          ///< of energy, added to the price: "0.12 USD/kWh"
  std::string critical_batch;  ///< measured, such as "4M" tokens; empty: the law's
  std::string tokens, flops;   ///< "300B", "3.8e23", for models of sequences; replaces epochs and loss
  std::string samples;         ///< "5M", for any model
};

/// Lists the GPU names in `gpus_by_name` and `options` as written; some may be files. Throws InputError if one is
/// invalid.
std::vector<std::string> list_gpu_names(const JobPlan& words);

struct ReadJobPlan {
  Json plan;            ///< schema lockstep/plan/1, scenarios included
  std::string read;     ///< how the job was understood, as in `simulate job`: two lines per machine and network
  std::string assumed;  ///< defaults of facts that are not given, as `simulate job` lists them; empty: none
};

/// Throws InputError that names the invalid option.
ReadJobPlan read_job_plan(const JobPlan& words, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_plan
