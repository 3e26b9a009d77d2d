#pragma once
// The command line of `simulate loss`.
#include <CLI/CLI.hpp>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/units.hpp"
#include "sim/api/job_options.hpp"
#include "sim/api/loss_runs.hpp"
#include "sim/job_prediction/job_loss.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/job_prediction/measured_critical.hpp"
#include "sim/loss/law_json.hpp"
#include "sim/loss/loss_fit.hpp"
#include "sim/loss/loss_report.hpp"
#include "sim/loss_curve/loss_question.hpp"

namespace lockstep::sim::api {

struct LossOptions {
  LossQuestion question;
  std::vector<std::string> tokens, flops, batch_tokens;  ///< as given, such as "15T"
  std::string parameters, deadline, budget, critical_batch;
  std::vector<std::string> fit;    ///< files of runs
  std::string name, data, output;  ///< for a law of the user's
  std::string json, svg, catalogue;
};

/// Declares the options that define the question.
inline OptionTexts declare_loss_question(CLI::App& app, LossOptions& o) {
  OptionTexts texts = declare_job(app, o.question.job, {"global_batch", "batch_per_gpu", "epochs"});
  const auto texts_of = [&](const char* name, std::vector<std::string>& values, const char* help) {
    texts.add(app.add_option(name, values, help)->delimiter(',')->allow_extra_args(false), OptionType::text,
              std::vector<std::string>{}, true);
  };
  const auto text = [&](const char* name, std::string& value, const char* help) {
    texts.add(app.add_option(name, value, help), OptionType::text);
  };
  texts.add(declare_gpu_counts(app, o.question.job, "Numbers of GPUs to compare"), OptionType::whole_number, kJobGpus,
            true);
  text("--parameters", o.parameters, "Number of parameters, as the law counts them, such as 8B (instead of --model)");
  text("--model-family", o.question.model_family,
       "Compares the sizes of a family, such as llama3 (instead of --model)");
  texts.add(app.add_option("--loss", o.question.losses, "Losses (nats per token) to train to")
                ->delimiter(',')
                ->allow_extra_args(false)
                ->check(number_between(kLosses.low, kLosses.high)),
            OptionType::number, kLosses, true);
  texts_of("--tokens", o.tokens, "Numbers of tokens to train on, such as 15T");
  texts_of("--flops", o.flops, "Numbers of floating-point operations, 6 N D; without a model, finds the best size");
  text("--deadline", o.deadline, "Longest time, such as 30d; finds the least loss");
  text("--budget", o.budget, "Most money, such as \"1 MUSD\"; finds the least loss, with --deadline within both");
  texts.add(app.add_option("--price", o.question.job.usd_per_gpu_hour, "USD per GPU and hour, such as 2.5 or 2.5/h")
                ->transform(price_check()),
            OptionType::number, kPrices);
  texts.add(app.add_flag("--no-failures", o.question.job.is_undisturbed,
                         "Time and cost without interruptions, which count if any number of GPUs exceeds 64"),
            OptionType::flag);
  declare_storage(app, o.question.job, texts);
  texts_of("--batch-tokens", o.batch_tokens, "Tokens of an update, such as 4M (default: around the critical batch)");
  declare_loss_law(app, o.question.job, o.critical_batch, texts);
  return texts;
}

inline CLI::App* declare_loss(CLI::App& app, LossOptions& o) {
  CLI::App* const sub =
      app.add_subcommand("loss", "Loss against tokens, days and dollars; the best size, batch and number of GPUs");
  declare_loss_question(*sub, o);
  sub->add_option("--fit", o.fit,
                  "Fits a law to runs of your own: CSV files with parameters,tokens,loss[,batch_tokens], and a log of "
                  "each run (Megatron-LM, NeMo, torchtitan, HuggingFace, nanoGPT, llm.c, nanotron, TensorBoard), with "
                  "what it lacks behind it: RUN.log:parameters=124M,batch_tokens=512k");
  sub->add_option("--name", o.name, "With --fit: id of the law (default: the file's name)");
  sub->add_option("--data", o.data, "With --fit: text and vocabulary of the runs, for the reader");
  sub->add_option("-o,--output", o.output, "With --fit: writes the law (schema lockstep/loss-law/1)");
  sub->add_option("--json", o.json, "Writes the answer (schema lockstep/loss/1); - is standard output");
  sub->add_option("--svg", o.svg, "Writes a chart of the loss");
  sub->add_option("--catalogue", o.catalogue, "Folder of names and laws (default: installed)");
  sub->footer(
      "Example:\n  simulate loss --parameters 8B --tokens 1T,15T\n  simulate loss --model-family llama3 --gpu H100 "
      "--gpus 256,1024 --price 2 --budget \"1 MUSD\" --deadline 30d");
  return sub;
}

inline double quantity_of_option(const char* option, const std::string& text, Dimension dimension) {
  if (text.empty()) return 0;
  double value = 0;
  const std::string wrong = parse_quantity_or_explain(text, dimension, value);
  if (!wrong.empty()) throw InputError(std::string(option) + ": " + wrong);
  if (!(value > 0)) throw InputError(std::string(option) + " " + text + ": not above 0; allowed: a positive amount");
  return value;
}

/// Throws InputError for invalid counts and amounts.
inline LossQuestion loss_question_of(const LossOptions& o) {
  LossQuestion question = o.question;
  const auto counts_of = [](const char* option, const std::vector<std::string>& texts) {
    std::vector<double> counts;
    for (const std::string& text : texts) counts.push_back(count_of(option, text));
    return counts;
  };
  question.tokens = counts_of("--tokens", o.tokens);
  question.flops = counts_of("--flops", o.flops);
  question.batch_tokens = counts_of("--batch-tokens", o.batch_tokens);
  if (!o.critical_batch.empty()) set_critical_batch(o.critical_batch, question.job);
  if (!o.parameters.empty()) question.parameters = count_of("--parameters", o.parameters);
  question.deadline_s = quantity_of_option("--deadline", o.deadline, Dimension::time);
  question.budget_usd = quantity_of_option("--budget", o.budget, Dimension::money);
  if (const std::string currency = currency_in(o.budget); !currency.empty() && currency != "USD")
    throw InputError("--budget " + in_quotes(o.budget) + ": --price is in USD; allowed: USD");
  return question;
}

/// Fits a law, writes it to a file, and returns a summary for human readers.
inline std::string fit_law(const LossOptions& o, const Catalogue& catalogue) {
  const LossRuns runs = read_loss_runs(o.fit);
  const std::string first = run_file_of(o.fit.front()).path;
  const std::string files =
      first + (o.fit.size() > 1 ? " and " + std::to_string(o.fit.size() - 1) + " more" : std::string());
  const LossLaw prior = find_loss_law(o.question.job.loss_law, catalogue);
  LossFitReport report = fit_with_report(runs.table, prior);
  report.law.id = o.name.empty() ? std::filesystem::path(first).stem().string() : o.name;
  report.law.name = report.law.id;
  report.law.aliases.clear();
  report.law.data = o.data.empty() ? "the text and vocabulary of " + files : o.data;
  report.law.source = "fitted to " + files + ", starting from " + prior.id;
  if (!o.output.empty()) write_json_atomically(o.output, loss_law_json(report.law), 1);
  std::string text;
  for (const std::string& line : runs.read) text += line + "\n";
  return text + fit_report_text(report);
}

inline void answer_loss_command(const LossOptions& o, int jobs) {
  std::vector<std::string> inputs;
  for (const std::string& file : o.fit) inputs.push_back(run_file_of(file).path);
  check_outputs({o.json, o.svg, o.output}, inputs);
  const std::string folder = o.catalogue.empty() ? default_catalogue_folder() : o.catalogue;
  Catalogue catalogue = load_catalogue(folder);
  if (!o.fit.empty()) {
    print(fit_law(o, catalogue));
    return;
  }
  if (!o.output.empty() || !o.name.empty() || !o.data.empty())
    throw InputError("simulate loss: -o, --name and --data describe a law that is fitted; allowed: with --fit");
  add_gpus_of_files(catalogue, {o.question.job.job.gpu.stated});
  const LossAnswer answer = answer_loss(loss_question_of(o), catalogue, jobs);
  if (!o.json.empty()) write_json_atomically(o.json, loss_json(answer), 2);
  if (!o.svg.empty()) write_file_atomically(o.svg, loss_svg(answer));
  print_result(o.json, loss_text(answer));
}

}  // namespace lockstep::sim::api
