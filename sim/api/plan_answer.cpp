#include "sim/api/plan_answer.hpp"

#include "sim/api/command_words.hpp"
#include "sim/api/plan_options.hpp"
#include "sim/plan/journal.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/plan/workers.hpp"

namespace lockstep::sim::api {

Json plan_answer(const Json& options, const Catalogue& given) {
  CLI::App app;
  JobPlan words;
  const OptionTexts texts = declare_plan_words(app, words);
  parse_options(app, options, texts);
  Catalogue catalogue = given;
  add_gpus_of_files(catalogue, list_gpu_names(words));
  const ReadJobPlan read = read_job_plan(words, catalogue);
  const PlanSpec plan = read_plan(JsonDocument::parse(read.plan.dump(), "plan job"), words.question.ignores_memory);
  const std::unique_ptr<Workers> workers = in_process_workers(plan_runner(plan));
  Journal none;
  Evaluation evaluation(plan, *workers, none);
  return plan_json(work_out(plan, evaluation), {"plan", "job"});
}

}  // namespace lockstep::sim::api
