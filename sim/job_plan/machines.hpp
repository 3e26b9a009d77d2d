#pragma once
// Inside sim/job_plan: the jobs that a plan compares.
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
  std::string size;                  ///< a model of the family; empty: the model is given
  std::string read, title;           ///< how the job was understood; the model's title
  std::vector<std::string> assumed;  ///< defaults that the job fell back to, a line each
  std::int64_t default_batch = 0;    ///< global batch, if not given and dependent on the number of GPUs; else 0
  Json scenario;
  double samples = 0;         ///< for --tokens or --flops
  std::string work;           ///< origin of `samples`, a text
  bool has_own_size = false;  ///< its scenario is for one number of GPUs
  bool is_in_closed_form = false;
  std::optional<CalendarInterval> calendar;  ///< for models of sequences
  std::string refused;                       ///< why it cannot run; if set, only the question and `shown` are valid
};

/// Every combination of the plan's lists, not yet read. Throws InputError for a value given twice.
std::vector<Machine> list_machines(const JobPlan& words, const Catalogue& catalogue);

/// Splits a machine into one for each number of GPUs if its split is searched or its default batch depends on that
/// number. `searches_splits`: every machine searches its split.
std::vector<Machine> expand_gpu_counts(std::vector<Machine> machines, const JobPlan& words, const Catalogue& catalogue,
                                       bool searches_splits);

}  // namespace lockstep::sim::job_plan
