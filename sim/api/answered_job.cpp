#include "sim/api/answered_job.hpp"

#include <algorithm>

#include "sim/job_prediction/job_scenario.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/scenario_template.hpp"

namespace lockstep::sim::api {
namespace {

constexpr int kInThisProcess = 0;  // number of processes for predict_job() and similar functions: forks none

// Data parallelism in closed form has no timeline. It is therefore replayed, unless that would take long.
LoadedScenario with_timeline(LoadedScenario loaded) {
  constexpr int kMostReplayed = 1024;
  Scenario& scenario = loaded.variants.front();
  const int largest = *std::max_element(scenario.gpus.begin(), scenario.gpus.end());
  if (scenario.fidelity == Fidelity::analytic && !is_split(scenario) && largest <= kMostReplayed)
    scenario.fidelity = Fidelity::fast;
  return loaded;
}

}  // namespace

CatalogueWithFiles::CatalogueWithFiles(const Catalogue& catalogue, const std::vector<std::string>& gpus)
    : shared_(&catalogue) {
  if (std::none_of(gpus.begin(), gpus.end(), is_gpu_file)) return;
  own_ = catalogue;
  add_gpus_of_files(*own_, gpus);
}

AnsweredJob::AnsweredJob(const JobQuestion& question, const Catalogue& catalogue, JitterCache* jitter)
    : catalogue_(catalogue, {question.job.gpu.stated}),
      predicted_(predict_job(question, catalogue_.get(), kInThisProcess, jitter)) {}

Json AnsweredJob::job() const {
  return job_json(predicted_, catalogue_.get());
}

Json AnsweredJob::scenario() const {
  return job_scenario(predicted_, catalogue_.get());
}

std::string AnsweredJob::table() const {
  return job_table(predicted_, catalogue_.get());
}

// With several numbers of GPUs, the scenario may have variants. Returns the one that has the largest number.
LoadedScenario AnsweredJob::loaded() const {
  const Json file = scenario();
  std::string name;
  for (const Json& variant : file.value("variants", Json::array())) {
    const Json& gpus = variant.at("set").at("/gpus");
    if (std::find(gpus.begin(), gpus.end(), Json(predicted_.largest().gpus)) != gpus.end())
      name = variant.at("name").get<std::string>();
  }
  return ScenarioTemplate::parse(file.dump(), predicted_.scenario.name, name).with({});
}

Json AnsweredJob::result() const {
  return result_json(predict(loaded(), kInThisProcess, {}), {"simulate"});
}

Json AnsweredJob::layers() const {
  const Scenario& scenario = predicted_.scenario;
  return layers_json(scenario, scenario.batch_at(predicted_.question.largest()));
}

Json AnsweredJob::timeline() const {
  std::string events;
  TraceRequest trace;
  trace.gpus = traced_gpus(predicted_.scenario, predicted_.question.largest());
  trace.sink = [&](const std::string& piece) { events += piece; };
  (void)predict(with_timeline(loaded()), kInThisProcess, trace);
  return Json::parse("[" + events + "]");
}

}  // namespace lockstep::sim::api
