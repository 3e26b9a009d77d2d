#pragma once
// Builds the question of `simulate job` from its options.
#include <string>

#include "sim/api/job_options.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/job_prediction/measured_critical.hpp"

namespace lockstep::sim::api {

struct JobCommand {
  JobQuestion question;
  std::string tokens, samples, flops, critical_batch;  ///< as given: "15T", "5M", "3.8e25", "4M"
};

/// Declares all options of `simulate job` that define the question. The program declares the options for
/// output.
inline OptionTexts declare_job_command(CLI::App& app, JobCommand& o) {
  OptionTexts texts = declare_job(app, o.question);
  declare_measured_step(app, o.question.step, texts);
  texts.add(declare_gpu_counts(app, o.question, "Numbers of GPUs, a row each"), OptionType::whole_number, kJobGpus,
            true);
  texts.add(app.add_option("--nodes", o.question.nodes, "Numbers of nodes, instead of GPUs")
                ->delimiter(',')
                ->allow_extra_args(false)
                ->check(CLI::Range(static_cast<int>(kJobGpus.low), static_cast<int>(kJobGpus.high))),
            OptionType::whole_number, kJobGpus, true);
  texts.add(
      app.add_option("--tokens", o.tokens, "Adds the time that training on so many tokens takes, such as 15T or 300B"),
      OptionType::text);
  texts.add(
      app.add_option("--samples", o.samples,
                     "Adds the time that training on so many samples (images, videos, sequences) takes, such as 5M"),
      OptionType::text);
  texts.add(app.add_flag("--mlperf-target", o.question.trains_to_mlperf_target,
                         "With --software mlperf and --global-batch: adds the time to the benchmark's target, by a law "
                         "of its reference runs"),
            OptionType::flag);
  texts.add(
      app.add_option(
             "--loss", o.question.loss,
             "Also predicts how long a training from scratch takes to reach this loss (nats per token), by a law of "
             "the loss")
          ->check(number_between(kLosses.low, kLosses.high)),
      OptionType::number, kLosses);
  texts.add(app.add_option("--flops", o.flops,
                           "Adds the time of a training of so many floating-point operations, such as 3.8e25"),
            OptionType::text);
  texts.add(app.add_option("--batch-ramp", o.question.batch_ramp,
                           "Smaller batches at the beginning, BATCH:UNTIL_TOKENS,... such as 512:252M,1024:2.87T; or "
                           "START+STEP:TOKENS, which grows to the global batch"),
            OptionType::text);
  declare_loss_law(app, o.question, o.critical_batch, texts);
  texts.add(app.add_flag("--no-failures", o.question.is_undisturbed,
                         "No calendar time beside that of the training on more than 64 GPUs"),
            OptionType::flag);
  declare_storage(app, o.question, texts);
  texts.add(app.add_option("--price", o.question.usd_per_gpu_hour,
                           "USD per GPU and hour, such as 2.5 or 2.5/h: adds the cost of the training")
                ->transform(price_check()),
            OptionType::number, kPrices);
  return texts;
}

/// Throws InputError for a question without model, GPU or number of GPUs, and for invalid numbers of tokens.
inline JobQuestion question_of(const JobCommand& o) {
  JobQuestion question = o.question;
  std::vector<std::string> missing;
  if (question.job.model.stated.empty()) missing.emplace_back("--model");
  if (question.job.gpu.stated.empty()) missing.emplace_back("--gpu");
  if (question.gpus.empty() && question.nodes.empty()) missing.emplace_back("--gpus");
  if (!missing.empty())
    throw InputError("simulate job: " + joined(missing) + (missing.size() == 1 ? " is" : " are") +
                     " missing; allowed: --model, --gpu, and --gpus or --nodes (--list prints the names)");
  if (!o.tokens.empty()) question.tokens = count_of("--tokens", o.tokens);
  if (!o.samples.empty()) question.samples = count_of("--samples", o.samples);
  if (!o.flops.empty()) question.flops = count_of("--flops", o.flops);
  if (!o.critical_batch.empty()) set_critical_batch(o.critical_batch, question);
  return question;
}

}  // namespace lockstep::sim::api
