#pragma once
// `calibrate predict` reads a job that was measured on few GPUs, by its log or its traces. It predicts the job on other
// numbers of GPUs, with another network, batch or GPU.
//
// A log gives the time of an iteration, from which with_fitted_step() (measured_step.hpp) computes a factor for all
// layers. A trace separates computing from exposed communication. Its factor is
//
//   c = (measured step - measured exposed communication) / (predicted step - predicted exposed communication).
//
// Time lost to the network or to slower ranks does not count as computing. Communication is predicted.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/api/job_command.hpp"
#include "sim/explain/check.hpp"

namespace lockstep::sim::explain {

struct RetargetOptions {
  std::vector<std::string> files;  ///< a log, an event file, or traces of a job's ranks
  api::JobCommand command;         ///< the requested job; `question.step` says how the measured one differs
  std::string json, catalogue;
};

CLI::App* declare_retarget(CLI::App& app, RetargetOptions& o);

/// The question of the requested job, with its measured step. Facts that neither the options nor the files have get the
/// defaults of `simulate job`. Throws InputError if the files are no measurement of a training, or contradict --step-gpus
/// or --step-batch.
JobQuestion retargeted_question(const RetargetOptions& o, const Catalogue& catalogue,
                                const std::function<bool(const std::string&)>& is_given);

/// Prints the table of `simulate job`. Returns 0. Throws InputError.
int answer_retarget(const RetargetOptions& o, CLI::App& app, int jobs);

}  // namespace lockstep::sim::explain
