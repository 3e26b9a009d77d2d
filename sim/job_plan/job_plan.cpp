#include "sim/job_plan/job_plan.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/job_plan/job_prices.hpp"
#include "sim/job_plan/model_family.hpp"
#include "sim/job_prediction/job_loss.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/job_prediction/job_split.hpp"
#include "sim/job_prediction/job_summary.hpp"
#include "sim/job_prediction/job_tokens.hpp"

namespace lockstep::sim::job_plan {
namespace {

// One job of the plan, what the points say of it, and its scenario.
struct Machine {
  JobQuestion question;
  Json shown = Json::object();
  PricedGpu gpu;
  std::string size;         ///< a family's model; empty: the model is given
  std::string read, title;  ///< what was read; the model
  Json scenario;
  double samples = 0;         ///< of --tokens or --flops
  std::string work;           ///< where they come from
  bool has_own_size = false;  ///< its scenario is of one number of GPUs
  bool is_in_closed_form = false;
  std::string refused;  ///< why it cannot run; the rest is then as asked
};

template <class Value>
void check_distinct(const char* option, const std::vector<Value>& values, const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
        values.begin() + static_cast<std::ptrdiff_t>(i))
      throw InputError(std::string(option) + ": the same " + what + " twice; allowed: each once");
}

// Every machine with each of the values; with none of them as it is. What varies is shown, and the GPU always.
template <class Value, class Set>
void vary(std::vector<Machine>& machines, const std::vector<Value>& values, const char* name, bool is_always_shown,
          const Set& set) {
  if (values.empty()) return;
  std::vector<Machine> all;
  for (const Machine& machine : machines)
    for (const Value& value : values) {
      all.push_back(machine);
      set(all.back().question, value);
      if (values.size() > 1 || is_always_shown) all.back().shown[name] = value;
    }
  machines = std::move(all);
}

// Where splits are searched a machine is of one size: each has a split of its own.
std::vector<Machine> with_sizes(std::vector<Machine> machines, const JobPlan& words, const Catalogue& catalogue) {
  const bool by_nodes = !words.nodes.empty();
  vary(machines, by_nodes ? words.nodes : words.question.gpus, by_nodes ? "nodes" : "GPUs", true,
       [&](JobQuestion& q, int size) {
         q.gpus = {by_nodes ? size * gpus_per_node_of(q.job, catalogue) : size};
         q.job.split.is_searched = true;
         q.lists_splits = false;
       });
  return machines;
}

std::string size_text(const std::string& name) {
  std::map<std::string, std::string> inputs;
  const model::Graph graph = model::graph_of(name, inputs);
  const std::string size = format_count(static_cast<double>(graph.parameter_count())) + " parameters";
  return graph.transformer->config.empty() ? name + ", " + size
                                           : size + " (" + std::to_string(graph.transformer->spec.layers) + "x" +
                                                 std::to_string(graph.transformer->spec.hidden) + ")";
}

void vary_model(std::vector<Machine>& machines, const JobPlan& words, const Catalogue& catalogue) {
  if (words.model_family.empty()) return;
  std::vector<Machine> all;
  for (const Machine& machine : machines)
    for (const std::string& name : list_family_models(words.model_family, catalogue)) {
      all.push_back(machine);
      all.back().question.job.model.stated = all.back().size = name;
      all.back().shown["model"] = size_text(name);
    }
  machines = std::move(all);
}

// Sequences of an update for a loss: an eighth, a third and the whole of the critical batch, as powers of two. Empty where
// no law says it; what is wrong then is said when the machine is read.
std::vector<std::int64_t> batches_to_loss(const JobQuestion& question, const Catalogue& catalogue) {
  std::map<std::string, std::string> inputs;
  std::vector<std::int64_t> batches;
  try {
    const model::Graph graph = model::graph_of(question.job.model.stated, inputs);
    const LossLaw law = loss_law_of(question, catalogue);
    if (!graph.transformer) return {};
    const LossModel model = loss_model_of(graph, graph.name, law);
    const double minimal = minimal_tokens_to(law, model.parameters.middle, question.loss);
    if (std::isinf(minimal)) return {};
    const double critical = critical_batch(law, minimal) / model.sequence_tokens;
    for (const double share : {0.125, 0.35, 1.0})
      batches.push_back(std::int64_t{1} << std::lround(std::max(0.0, std::log2(share * critical))));
  } catch (const InputError&) {
    return {};
  }
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

void vary_global_batch(std::vector<Machine>& machines, const JobPlan& words, const Catalogue& catalogue) {
  const bool is_open = words.question.loss > 0 && words.global_batches.empty() && words.batches.empty();
  std::vector<Machine> all;
  for (const Machine& machine : machines) {
    std::vector<Machine> one{machine};
    vary(one, is_open ? batches_to_loss(machine.question, catalogue) : words.global_batches, "global batch", is_open,
         [](JobQuestion& q, std::int64_t batch) { q.job.global_batch = batch; });
    if (is_open && one.front().shown.count("global batch") == 0) one.front().shown["global batch"] = "none";
    all.insert(all.end(), one.begin(), one.end());
  }
  machines = std::move(all);
}

std::vector<Machine> machines_of(const JobPlan& words, const Catalogue& catalogue) {
  check_distinct("--gpu", words.gpus_by_name, "name");
  check_distinct("--network", words.networks, "network");
  check_distinct("--algorithm", words.algorithms, "algorithm");
  check_distinct("--batch", words.batches, "batch");
  check_distinct("--nodes", words.nodes, "number");
  check_distinct("--gpus", words.question.gpus, "number");
  check_distinct("--global-batch", words.global_batches, "batch");
  std::vector<Machine> machines(1);
  machines.front().question = words.question;
  if (!words.tokens.empty()) machines.front().question.tokens = count_of("--tokens", words.tokens);
  if (!words.flops.empty()) machines.front().question.flops = count_of("--flops", words.flops);
  if (!words.critical_batch.empty())
    machines.front().question.critical_batch_tokens = count_of("--critical-batch", words.critical_batch);
  vary_model(machines, words, catalogue);
  vary(machines, words.gpus_by_name, "GPU", true,
       [](JobQuestion& q, const std::string& name) { q.job.gpu.stated = name; });
  vary(machines, words.networks, "network", false,
       [](JobQuestion& q, const std::string& text) { q.job.network.stated = text; });
  vary(machines, words.algorithms, "algorithm", false,
       [](JobQuestion& q, const std::string& name) { q.job.exchange = name; });
  vary(machines, words.batches, "batch", false, [](JobQuestion& q, int batch) { q.job.batch_per_gpu = batch; });
  vary_global_batch(machines, words, catalogue);
  for (Machine& machine : machines)
    for (int nodes : words.nodes)
      machine.question.gpus.push_back(nodes * gpus_per_node_of(machine.question.job, catalogue));
  return machines;
}

void check_words(const JobPlan& words) {
  const bool has_model = !words.question.job.model.stated.empty();
  if ((!has_model && words.model_family.empty()) || words.gpus_by_name.empty())
    throw InputError("plan job: --model or --gpu is missing; allowed: both (names: simulate job --list)");
  if (has_model && !words.model_family.empty())
    throw InputError("--model-family: --model is given, too; allowed: one of them");
  if (!words.flops.empty() && !words.model_family.empty())
    throw InputError("--flops: each size of model takes other tokens; allowed: --loss or --tokens");
  if (words.question.gpus.empty() == words.nodes.empty())
    throw InputError("plan job: how many GPUs is not said once; allowed: --nodes or --gpus");
  if (int(words.question.job.epochs > 0) + int(!words.tokens.empty()) + int(!words.flops.empty()) +
          int(words.question.loss > 0) !=
      1)
    throw InputError("plan job: how much is trained is not said once; allowed: --epochs, --tokens, --loss or --flops");
  if (words.question.rate_samples_per_s > 0 && (words.gpus_by_name.size() > 1 || words.batches.size() > 1))
    throw InputError(
        "--rate: of which GPU and batch it was measured is not said; allowed: with one --gpu, one --batch");
}

// Read as `simulate job` reads it.
void read(Machine& machine, const Catalogue& catalogue) {
  const JobPrediction predicted = prepare_job(machine.question, catalogue);
  const std::string training = training_text(merge_inputs(predicted.tasks()));
  const JobSummary summary = summary_of(machine.question.job, predicted.job, predicted.scenario, catalogue);
  machine.gpu = {summary.gpu->id, predicted.scenario.cluster.gpu.name};
  machine.read = (machine.question.job.model.stated == machine.size ? "Read: " + machine_text(summary) + "\n"
                                                                    : summary_text(summary)) +
                 training;
  machine.title = summary.title;
  const double sequence_tokens = predicted.scenario.model.tokens;
  if (predicted.question.tokens > 0) {
    machine.samples = std::ceil(predicted.question.tokens / sequence_tokens);
    machine.work = ", in sequences of " + std::to_string(predicted.scenario.model.tokens);
  }
  machine.scenario = job_scenario(predicted, catalogue);
  machine.is_in_closed_form = predicted.scenario.fidelity == Fidelity::analytic;
  if (!predicted.rankings.empty()) machine.shown["split"] = split_text(predicted.rankings.front().best.front().spec);
}

// A name that is not known is an error of the plan; a combination that cannot run is refused by itself.
void read_or_refuse(Machine& machine, const Catalogue& catalogue) {
  (void)resolve_job(machine.question, catalogue);
  try {
    read(machine, catalogue);
  } catch (const InputError& error) {
    machine.refused = error.what();
  }
}

bool opens_split(const Machine& machine, const Catalogue& catalogue) {
  if (machine.question.job.split.is_searched) return true;
  try {
    return prepare_job(machine.question, catalogue).question.job.split.is_searched;
  } catch (const InputError&) {
    return machine.question.is_split();
  }
}

// One model that no GPU of a machine holds: then all are split.
bool searches_splits(const std::vector<Machine>& machines, const Catalogue& catalogue) {
  return std::any_of(machines.begin(), machines.end(),
                     [&](const Machine& machine) { return opens_split(machine, catalogue); });
}

// The machines that can run; throws why the first one cannot where none can.
std::vector<Machine> running(const std::vector<Machine>& machines) {
  std::vector<Machine> all;
  for (const Machine& machine : machines)
    if (machine.refused.empty()) all.push_back(machine);
  if (all.empty()) throw InputError(machines.front().refused);
  return all;
}

// Members that all scenarios have alike stay in the plan's own; the rest is the machine's.
Json common_scenario(std::vector<Machine>& machines) {
  Json common = machines.front().scenario;
  common.erase("description");
  for (const auto& member : machines.front().scenario.items()) {
    const bool is_common = std::all_of(machines.begin(), machines.end(), [&](const Machine& machine) {
      return machine.scenario.contains(member.key()) && machine.scenario.at(member.key()) == member.value();
    });
    if (!is_common) common.erase(member.key());
  }
  // A plan varies no baseline, but its number of GPUs.
  for (const char* key : {"schema", "name", "baseline"})
    if (machines.front().scenario.contains(key)) common[key] = machines.front().scenario.at(key);
  for (Machine& machine : machines) {
    for (const auto& member : common.items()) machine.scenario.erase(member.key());
    machine.scenario.erase("description");
  }
  return common;
}

std::string name_of(const Machine& machine) {
  std::string name;
  for (const auto& one : machine.shown.items())
    name += (name.empty() ? "" : ", ") +
            (one.value().is_string() ? one.value().get<std::string>() : one.key() + " " + one.value().dump());
  return name;
}

// Those that cannot run have no split of their own to show.
Json refused_value(Machine machine, bool has_splits) {
  if (has_splits) machine.shown["split"] = "none";
  return {{"name", name_of(machine)}, {"shown", machine.shown}, {"refused", machine.refused}};
}

Json machine_axis(const std::vector<Machine>& machines, const std::vector<Machine>& refused) {
  Json values = Json::array();
  const bool has_splits = machines.front().shown.contains("split");
  for (const Machine& machine : refused) values.push_back(refused_value(machine, has_splits));
  for (const Machine& machine : machines) {
    Json set = Json::object();
    for (const auto& member : machine.scenario.items()) set["/" + member.key()] = member.value();
    if (machine.has_own_size) set["/baseline/gpus"] = machine.question.gpus.front();
    values.push_back({{"name", name_of(machine)}, {"shown", machine.shown}, {"set", set}});
  }
  return {{"name", "machine"}, {"values", values}};
}

// As `simulate job` predicts them: a plan has one fidelity for all.
bool are_in_closed_form(const std::vector<Machine>& machines) {
  return std::all_of(machines.begin(), machines.end(),
                     [](const Machine& machine) { return machine.is_in_closed_form; });
}

Json size_axis(const JobPlan& words) {
  return words.nodes.empty() ? Json{{"name", "GPUs"}, {"pointer", "/gpus"}, {"values", words.question.gpus}}
                             : Json{{"name", "nodes"}, {"pointer", "/nodes"}, {"values", words.nodes}};
}

Json work_of(const JobPlan& words, const Machine& machine) {
  const std::string option = words.flops.empty() ? "--tokens " + words.tokens : "--flops " + words.flops;
  return {{"samples", {{"value", machine.samples}, {"kind", "assumed"}, {"source", option + machine.work}}}};
}

std::string gpus_text(const std::vector<Machine>& machines) {
  std::vector<std::string> gpus;
  for (const Machine& machine : machines)
    if (std::find(gpus.begin(), gpus.end(), machine.gpu.name) == gpus.end()) gpus.push_back(machine.gpu.name);
  return joined(gpus);
}

// "ResNet-50 v1 on H100 SXM5, A100 SXM4"
std::string title_of(const JobPlan& words, const std::vector<Machine>& machines) {
  const std::string what = words.model_family.empty() ? machines.front().title : "Sizes of " + words.model_family;
  return what + " on " + gpus_text(machines);
}

std::string all_read(const std::vector<Machine>& machines) {
  std::string text;
  for (const Machine& machine : machines)
    if (text.find(machine.read) == std::string::npos) text += machine.read;
  return text;
}

}  // namespace

ReadJobPlan read_job_plan(const JobPlan& words, const Catalogue& catalogue) {
  check_words(words);
  ReadJobPlan result;
  Json& plan = result.plan;
  const Json objective = job_objective(words);
  std::vector<Machine> machines = machines_of(words, catalogue);
  const bool has_own_sizes = searches_splits(machines, catalogue);
  if (has_own_sizes) machines = with_sizes(std::move(machines), words, catalogue);
  std::vector<PricedGpu> gpus;
  for (Machine& machine : machines) {
    machine.has_own_size = has_own_sizes;
    read_or_refuse(machine, catalogue);
  }
  std::vector<Machine> refused;
  std::copy_if(machines.begin(), machines.end(), std::back_inserter(refused),
               [](const Machine& machine) { return !machine.refused.empty(); });
  machines = running(machines);
  for (const Machine& machine : machines) gpus.push_back(machine.gpu);
  result.read = all_read(machines);
  plan["schema"] = "lockstep/plan/1";
  plan["name"] = title_of(words, machines);
  plan["description"] = "Made by plan job.";
  plan["scenario"] = common_scenario(machines);
  plan["axes"] = Json::array({machine_axis(machines, refused)});
  if (!has_own_sizes) plan["axes"].push_back(size_axis(words));
  if (are_in_closed_form(machines)) plan["refine"] = {{"coarse", "analytic"}, {"refined", "analytic"}};
  if (machines.front().samples > 0) plan["work"] = work_of(words, machines.front());
  const Json prices = job_prices(words, gpus, catalogue);
  if (!prices.is_null()) plan["prices"] = prices;
  plan["objective"] = objective;
  if (const Json energy = job_energy(words); !energy.is_null()) plan["energy"] = energy;
  if (const Json failures = job_failures(words); !failures.is_null()) plan["failures"] = failures;
  return result;
}

}  // namespace lockstep::sim::job_plan
