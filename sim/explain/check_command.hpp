#pragma once
// The command line of `calibrate check`.
#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/api/job_options.hpp"
#include "sim/explain/check.hpp"

namespace lockstep::sim::explain {

/// Says what `calibrate predict` assumes of the measured job if neither the options nor the file say it, and by which
/// options a user can.
struct MeasuredDefaults {
  std::string gpu;                          ///< empty: none
  double samples_per_gpu = 0;               ///< of an iteration, as a global batch; 0: none
  int batch_per_gpu = 0, accumulation = 0;  ///< in place of a global batch; 0: none
  bool is_of_one_gpu = false;               ///< a trace without a number of processes is of one GPU
  std::string gpus_option = "--gpus", global_batch_option = "--global-batch",
              batch_option = "--batch or --global-batch";
};

struct CheckOptions {
  std::vector<std::string> files;
  std::string good_file;  ///< --against; empty: none
  JobQuestion question;
  std::optional<double> step_time_s;
  std::optional<double> least;
  std::string operation;
  int ranks = 0, nodes = 0;
  std::string json, html, catalogue;
  MeasuredDefaults defaults{};
};

CLI::App* declare_check(CLI::App& app, CheckOptions& o);

/// The exit code: 0 normal or faster, or at least the share asked for; 1 not. Throws InputError for bad input.
int answer_check(const CheckOptions& o, CLI::App& app, int jobs, const std::vector<std::string>& argv);

/// Reads the logs and fills every option that the command line leaves unset, including the GPU. `is_given(option)`: the
/// command line has it. Throws InputError, also for a GPU that is not the log's.
Measurements read_measurements(const CheckOptions& o, const Catalogue& catalogue,
                               const std::function<bool(const std::string&)>& is_given);

/// Reads o.good_file; none if there is none.
std::optional<Measurements> read_good_log(const CheckOptions& o, const Catalogue& catalogue,
                                          const std::function<bool(const std::string&)>& is_given);

}  // namespace lockstep::sim::explain
