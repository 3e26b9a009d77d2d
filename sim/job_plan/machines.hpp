#pragma once
// The jobs that a plan compares; only sim/job_plan includes this file.
#include <optional>
#include <string>
#include <vector>

#include "sim/job_plan/job_plan.hpp"
#include "sim/job_plan/job_prices.hpp"
#include "sim/job_prediction/job_calendar.hpp"

namespace lockstep::sim::job_plan {

// One job of the plan, its scenario, and the settings that its points show.
struct Machine {
  JobQuestion question;
  Json shown = Json::object();
  PricedGpu gpu;
  std::string option;                ///< one of --options, as written; empty: none
  std::string price;                 ///< price of a GPU-hour in that option; empty: not given
  std::string size;                  ///< a model of the family; empty: the question's model
  std::string read, title;           ///< how the job was understood, and the model's title
  std::vector<std::string> assumed;  ///< defaults of facts that are not given, a line each
  std::int64_t default_batch = 0;    ///< global batch, if it is not given and depends on the number of GPUs; else 0
  Json scenario;
  double samples = 0;         ///< for --tokens or --flops
  std::string work;           ///< how `samples` were derived, as a text
  bool has_own_size = false;  ///< the scenario is for a single number of GPUs
  bool is_in_closed_form = false;
  int baseline_gpus = 0;                     ///< JobQuestion::baseline_gpus()
  std::optional<CalendarInterval> calendar;  ///< for models of sequences
  std::string refused;                       ///< why it cannot run; then only the question and `shown` are valid
};

/// Lists every combination of the plan's values, which are not yet read. Throws InputError for a value given twice.
std::vector<Machine> list_machines(const JobPlan& words, const Catalogue& catalogue);

/// Splits a machine into one per number of GPUs if its split is searched or its default batch depends on that number.
/// `searches_splits`: all machines search their splits.
std::vector<Machine> expand_gpu_counts(std::vector<Machine> machines, const JobPlan& words, const Catalogue& catalogue,
                                       bool searches_splits);

}  // namespace lockstep::sim::job_plan
