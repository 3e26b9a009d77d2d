#pragma once
// Python and the page call answer() with options as JSON and get JSON back. `simulate` and `plan` take the same options
// and give the same numbers.
//
//   Question       Options of            Answer
//   `job`          simulate job          The output of --json (schema lockstep/predictions/1).
//   `scenario`     simulate job          The output of --scenario.
//   `result`       simulate job          The output of `simulate --json` for that scenario (schema lockstep/result/1).
//                                        It divides an iteration's time into parts.
//   `layers`       simulate job          A row per layer of one GPU, at the batch of the largest number of GPUs.
//   `timeline`     simulate job          Chrome trace events of the GPUs of traced_gpus().
//   `table`        simulate job          The printed table, as a text.
//   `plan_job`     plan job              The output of --json (schema lockstep/plan-result/1).
//   `all_reduce`   simulate all-reduce   The output of --json.
//   `kernel`       simulate kernel       The output of --json. The option "kernel" names the kind of kernel: gemm,
//                                        attention, ...
//   `loss`         simulate loss         The output of --json (schema lockstep/loss/1).
//   `options`      None                  The options of "job": their types, ranges, choices, help.
//   `plan_options` None                  The options of "plan_job", in the same form.
//   `names`        None                  Models, GPUs, links, networks, software, algorithms of the catalogue.
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/api/job_command.hpp"
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::api {

/// Returns the names of the questions above.
std::vector<std::string> question_names();

/// Answers in this process, on the calling thread. Several threads may call it at the same time. Throws InputError,
/// with the command's message, for an unknown question or option, a value out of range, or an impossible job.
Json answer(const std::string& question, const Json& options, const Catalogue& catalogue);

/// These describe the options of `simulate job` and of `plan job`.
const OptionTexts& job_option_texts();
const OptionTexts& plan_option_texts();

/// Parses and checks the options of `simulate job`.
JobQuestion read_job_question(const Json& options);

}  // namespace lockstep::sim::api
