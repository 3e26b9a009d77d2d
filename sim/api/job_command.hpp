#pragma once
// The question of `simulate job`, from its options.
#include <string>

#include "sim/api/job_options.hpp"
#include "sim/job_prediction/job_tokens.hpp"

namespace lockstep::sim::api {

struct JobCommand {
  JobQuestion question;
  std::string tokens;  ///< as given, "15T"
};

/// All options of `simulate job` that say what is asked; those that say where the answer goes are the program's.
inline OptionTexts declare_job_command(CLI::App& app, JobCommand& o) {
  OptionTexts texts = declare_job(app, o.question);
  texts.add(declare_gpu_counts(app, o.question, "Numbers of GPUs, a row each"), OptionType::whole_number, kJobGpus,
            true);
  texts.add(
      app.add_option("--tokens", o.tokens, "Adds the time that training on so many tokens takes, such as 15T or 300B"),
      OptionType::text);
  texts.add(app.add_flag("--no-failures", o.question.is_undisturbed,
                         "No calendar time beside that of --tokens or --epochs on more than 64 GPUs"),
            OptionType::flag);
  texts.add(app.add_option("--price", o.question.usd_per_gpu_hour, "USD per GPU and hour: adds what --tokens cost")
                ->check(number_between(kPrices.low, kPrices.high)),
            OptionType::number, kPrices);
  return texts;
}

/// Throws InputError: a question without model, GPU or number of GPUs, or with tokens that are no number.
inline JobQuestion question_of(const JobCommand& o) {
  JobQuestion question = o.question;
  if (question.job.model.stated.empty() || question.job.gpu.stated.empty() || question.gpus.empty())
    throw InputError("simulate job: --model, --gpu or --gpus is missing; allowed: all three (names: --list)");
  if (!o.tokens.empty()) question.tokens = count_of("--tokens", o.tokens);
  return question;
}

}  // namespace lockstep::sim::api
