#include "sim/api/answers.hpp"

#include <algorithm>
#include <functional>

#include "sim/api/all_reduce_options.hpp"
#include "sim/api/command_words.hpp"
#include "sim/api/names.hpp"
#include "sim/api/plan_answer.hpp"
#include "sim/api/plan_options.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/scenario_template.hpp"

namespace lockstep::sim::api {
namespace {

// The catalogue, with the GPUs that the question has in files.
class CatalogueWithFiles {
 public:
  CatalogueWithFiles(const Catalogue& catalogue, const std::vector<std::string>& gpus) : catalogue_(&catalogue) {
    if (std::none_of(gpus.begin(), gpus.end(), is_gpu_file)) return;
    own_ = catalogue;
    add_gpus_of_files(*own_, gpus);
    catalogue_ = &*own_;
  }
  const Catalogue& get() const { return *catalogue_; }

 private:
  const Catalogue* catalogue_;
  std::optional<Catalogue> own_;
};

// The question, its catalogue and its prediction.
struct AnsweredJob {
  AnsweredJob(const Json& options, const Catalogue& given)
      : question(read_job_question(options)),
        catalogue(given, {question.job.gpu.stated}),
        predicted(predict_job(question, catalogue.get(), kInThisProcess)) {}

  Json scenario() const { return job_scenario(predicted, catalogue.get()); }
  LoadedScenario loaded() const { return ScenarioTemplate::parse(scenario().dump(), predicted.scenario.name).with({}); }

  JobQuestion question;
  CatalogueWithFiles catalogue;
  JobPrediction predicted;
};

Json layers_answer(const AnsweredJob& job) {
  const LoadedScenario loaded = job.loaded();
  const Scenario& scenario = loaded.variants.front();
  const int largest = *std::max_element(scenario.gpus.begin(), scenario.gpus.end());
  return layers_json(scenario, scenario.batch_at(largest));
}

constexpr int kTimelines = 8;

Json timeline_answer(const AnsweredJob& job) {
  const LoadedScenario loaded = job.loaded();
  std::string events;
  TraceRequest trace;
  for (int gpu = 0; gpu < std::min(kTimelines, job.question.largest()); ++gpu) trace.gpus.push_back(gpu);
  trace.sink = [&](const std::string& piece) { events += piece; };
  (void)predict(loaded, kInThisProcess, trace);
  return Json::parse("[" + events + "]");
}

Json all_reduce_answer(const Json& options, const Catalogue& given) {
  CLI::App app;
  AllReduceOptions command;
  const OptionTexts texts = declare_all_reduce_question(app, command.question);
  give_options(app, options, texts);
  const CatalogueWithFiles catalogue(given, {command.question.gpu});
  return all_reduce_json(all_reduce_times(command.question, catalogue.get(), kInThisProcess));
}

using Answer = std::function<Json(const Json& options, const Catalogue& catalogue)>;

template <class Of>
Answer of_job(const Of& of) {
  return [of](const Json& options, const Catalogue& catalogue) { return of(AnsweredJob(options, catalogue)); };
}

const std::vector<std::pair<std::string, Answer>>& answers() {
  static const std::vector<std::pair<std::string, Answer>> all{
      {"job", of_job([](const AnsweredJob& job) { return job_json(job.predicted, job.catalogue.get()); })},
      {"scenario", of_job([](const AnsweredJob& job) { return job.scenario(); })},
      {"result", of_job([](const AnsweredJob& job) {
         return result_json(predict(job.loaded(), kInThisProcess, {}), {"simulate"});
       })},
      {"layers", of_job(layers_answer)},
      {"timeline", of_job(timeline_answer)},
      {"table", of_job([](const AnsweredJob& job) { return Json(job_table(job.predicted, job.catalogue.get())); })},
      {"plan_job", plan_answer},
      {"all_reduce", all_reduce_answer},
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
  give_options(app, options, texts);
  return question_of(command);
}

}  // namespace lockstep::sim::api
