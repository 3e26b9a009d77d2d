#include "sim/api/answers.hpp"

#include <algorithm>
#include <functional>

#include "sim/api/all_reduce_options.hpp"
#include "sim/api/answered_job.hpp"
#include "sim/api/command_words.hpp"
#include "sim/api/kernel_options.hpp"
#include "sim/api/loss_options.hpp"
#include "sim/api/names.hpp"
#include "sim/api/plan_answer.hpp"
#include "sim/api/plan_options.hpp"

namespace lockstep::sim::api {
namespace {

Json all_reduce_answer(const Json& options, const Catalogue& given) {
  CLI::App app;
  AllReduceOptions command;
  const OptionTexts texts = declare_all_reduce_question(app, command.question);
  parse_options(app, options, texts);
  const CatalogueWithFiles catalogue(given, {command.question.gpu});
  return all_reduce_json(all_reduce_times(command.question, catalogue.get(), 0));
}

// The kernel's options become words of its command line. The option "kernel" gives its kind.
Json kernel_answer(const Json& options, const Catalogue& catalogue) {
  CLI::App app;
  KernelOptions command;
  declare_kernel(app, command);
  parse_words(app, kernel_words(options));
  for (const std::unique_ptr<KernelCommand>& kind : command.kinds)
    if (kind->app->parsed()) return kernel_json(predict_kernel(kind->kind, kernel_cells(*kind), catalogue));
  throw InputError("kernel: none is named; allowed: gemm, attention, experts, collective");
}

Json loss_answer(const Json& options, const Catalogue& given) {
  CLI::App app;
  LossOptions command;
  const OptionTexts texts = declare_loss_question(app, command);
  parse_options(app, options, texts);
  const CatalogueWithFiles catalogue(given, {command.question.job.job.gpu.stated});
  return loss_json(answer_loss(loss_question_of(command), catalogue.get(), 1));
}

using Answer = std::function<Json(const Json& options, const Catalogue& catalogue)>;

// Returns an answer about a job.
template <class Of>
Answer of_job(Of (AnsweredJob::*of)() const) {
  return [of](const Json& options, const Catalogue& catalogue) {
    return Json((AnsweredJob(read_job_question(options), catalogue).*of)());
  };
}

const std::vector<std::pair<std::string, Answer>>& answers() {
  static const std::vector<std::pair<std::string, Answer>> all{
      {"job", of_job(&AnsweredJob::job)},
      {"scenario", of_job(&AnsweredJob::scenario)},
      {"result", of_job(&AnsweredJob::result)},
      {"layers", of_job(&AnsweredJob::layers)},
      {"timeline", of_job(&AnsweredJob::timeline)},
      {"table", of_job(&AnsweredJob::table)},
      {"plan_job", plan_answer},
      {"all_reduce", all_reduce_answer},
      {"kernel", kernel_answer},
      {"loss", loss_answer},
      {"options", [](const Json&, const Catalogue&) { return job_option_texts().json(); }},
      {"plan_options", [](const Json&, const Catalogue&) { return plan_option_texts().json(); }},
      {"names", [](const Json&, const Catalogue& catalogue) { return names_json(catalogue); }}};
  return all;
}

}  // namespace

std::vector<std::string> question_names() {
  std::vector<std::string> names;
  for (const auto& [name, of] : answers()) names.push_back(name);
  return names;
}

Json answer(const std::string& question, const Json& options, const Catalogue& catalogue) {
  if (!options.is_object())
    throw InputError("options: " + options.dump() + " is no object; allowed: {\"option\": value}");
  for (const auto& [name, of] : answers())
    if (name == question) return of(options, catalogue);
  throw InputError(question + ": no question of that name; allowed: " + joined(question_names()));
}

const OptionTexts& job_option_texts() {
  static const OptionTexts texts = [] {
    CLI::App app;
    JobCommand command;
    return declare_job_command(app, command);
  }();
  return texts;
}

const OptionTexts& plan_option_texts() {
  static const OptionTexts texts = [] {
    CLI::App app;
    JobPlan words;
    return declare_plan_words(app, words);
  }();
  return texts;
}

JobQuestion read_job_question(const Json& options) {
  CLI::App app;
  JobCommand command;
  const OptionTexts texts = declare_job_command(app, command);
  parse_options(app, options, texts);
  return question_of(command);
}

}  // namespace lockstep::sim::api
