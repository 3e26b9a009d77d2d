#include "sim/job_prediction/algorithm_template.hpp"

#include "engine/base/text.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "sim/scenario/scenario_template.hpp"

namespace lockstep::sim::job_prediction {
namespace {

constexpr const char* kModel = "resnet50";
constexpr const char* kGpu = "H100";
const std::vector<int> kGpus{8, 16, 32};

JobQuestion question_for(const JobAlgorithm& algorithm) {
  JobQuestion question;
  question.job.model.stated = kModel;
  question.job.gpu.stated = kGpu;
  question.job.batch_per_gpu = 64;
  question.job.epochs = 90;
  question.gpus = kGpus;
  if (algorithm.needs_no_numbers) question.job.exchange = algorithm.id;
  return question;
}

// Sets what `simulate job` has no options for: the algorithm, the defaults of its parameters, and one more node for
// parameter servers.
void set_algorithm(Algorithm algorithm, Json& scenario) {
  scenario["algorithm"] = name_of(algorithm);
  if (traits_of(algorithm).updates_on_servers || algorithm == Algorithm::async_easgd) {
    const int nodes = scenario.at("cluster").at("nodes").get<int>();
    scenario["cluster"]["nodes"] = nodes + 1;
  }
  const Json complete =
      to_json(ScenarioTemplate::parse(scenario.dump(), "--scenario-template").with({}).variants.front());
  if (complete.contains("workers")) scenario["workers"] = complete.at("workers");
  if (algorithm == Algorithm::backup_workers) scenario["workers"]["backups"] = 1;
  if (algorithm == Algorithm::local_sgd) scenario["local_sgd"] = {{"period", LocalSgdSpec().period}};
}

}  // namespace

std::vector<std::string> template_algorithms() {
  std::vector<std::string> names;
  for (const JobAlgorithm& algorithm : job_algorithms())
    if (algorithm.needs_no_numbers || algorithm.algorithm) names.push_back(algorithm.id);
  return names;
}

Json make_scenario_template(const std::string& name, const Catalogue& catalogue) {
  const JobAlgorithm* const algorithm = job_algorithm_named(name);
  if (algorithm == nullptr || !(algorithm->needs_no_numbers || algorithm->algorithm))
    throw InputError("--scenario-template " + in_quotes(name) +
                     ": no algorithm with a scenario to start from; allowed: " + joined(template_algorithms()));
  Json scenario = job_scenario(prepare_job(question_for(*algorithm), catalogue), catalogue);
  if (!algorithm->needs_no_numbers) set_algorithm(*algorithm->algorithm, scenario);
  scenario["name"] = "ResNet-50 on H100, " + algorithm->title;
  scenario["description"] = "Made by simulate --scenario-template " + std::string(algorithm->id) +
                            ", to change: every key is described in sim/scenario/README.md.";
  return scenario;
}

}  // namespace lockstep::sim::job_prediction
