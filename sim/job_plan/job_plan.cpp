#include "sim/job_plan/job_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/text.hpp"
#include "sim/job_plan/machine_options.hpp"
#include "sim/job_plan/machines.hpp"
#include "sim/job_prediction/job_calendar.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/job_prediction/job_split.hpp"
#include "sim/job_prediction/job_summary.hpp"
#include "sim/job_prediction/measured_step.hpp"

namespace lockstep::sim::job_plan {
namespace {

// Each of --options must contain GPU and number of GPUs, and may contain the network.
void check_options(const JobPlan& words) {
  const auto refuse_beside = [](const char* option) {
    throw InputError(std::string(option) + ": --options gives it for each machine; remove one of the two");
  };
  if (!words.gpus_by_name.empty()) refuse_beside("--gpu");
  if (!words.nodes.empty()) refuse_beside("--nodes");
  if (!words.question.gpus.empty()) refuse_beside("--gpus");
  if (words.networks.size() > 1)
    throw InputError(
        "--network: several networks and --options; write the network into each option, such as \"64 H100 2.2/h over " +
        words.networks.front() + "\", or give one --network for all");
}

// Refuses a measured iteration: it belongs to one job, and the plan's lists do not say to which.
void check_measured_step(const JobPlan& words) {
  const GivenStep& step = words.question.step;
  if (step.seconds == 0) return;
  const bool has_nodes = step.gpus > kUsualGpusPerNode;
  for (const auto& [is_open, missing] :
       {std::pair(step.gpus == 0, "--step-gpus"),
        std::pair(step.gpu.empty() && words.gpus_by_name.size() + words.options.size() > 1, "--step-gpu"),
        std::pair(step.global_batch == 0, "--step-batch"), std::pair(!words.model_family.empty(), "one --model"),
        std::pair(step.network.empty() && step.gpu.empty() && has_nodes && words.networks.size() > 1, "--step-network"),
        std::pair(words.algorithms.size() > 1, "one --algorithm")})
    if (is_open) throw InputError(std::string("--step-time: what was measured is not clear; allowed: with ") + missing);
}

// Numbers of nodes that a plan to a loss compares if none is given: with eight GPUs each, 8 to 2,048 GPUs.
constexpr std::array<int, 5> kUsualNodes{1, 4, 16, 64, 256};

bool lacks_gpus(const JobPlan& words) {
  return words.options.empty() && words.question.gpus.empty() && words.nodes.empty();
}

void check_words(const JobPlan& words) {
  const bool has_model = !words.question.job.model.stated.empty();
  if (!words.options.empty()) check_options(words);
  if ((!has_model && words.model_family.empty()) || (words.gpus_by_name.empty() && words.options.empty()))
    throw InputError(
        "plan job: the model or the GPU is missing; allowed: --model or --model-family, and --gpu or --options (names: "
        "simulate job --list)");
  if (has_model && !words.model_family.empty())
    throw InputError("--model-family: --model is given, too; allowed: one of them");
  if (!words.flops.empty() && !words.model_family.empty())
    throw InputError("--flops: each size of model takes other tokens; allowed: --loss or --tokens");
  if (!words.question.gpus.empty() && !words.nodes.empty())
    throw InputError("plan job: --nodes and --gpus both say how many GPUs; allowed: one of them");
  if (lacks_gpus(words))
    throw InputError("plan job: how many GPUs is not given; allowed: --nodes or --gpus; with --loss, neither");
  if (int(words.question.job.epochs > 0) + int(!words.tokens.empty()) + int(!words.samples.empty()) +
          int(!words.flops.empty()) + int(words.question.loss > 0) !=
      1)
    throw InputError(
        "plan job: how much is trained is not said once; allowed: --epochs, --samples, --tokens, --loss or --flops");
  const bool has_one_gpu = words.gpus_by_name.size() + words.options.size() <= 1 || !words.question.rate_gpu.empty();
  if (words.question.rate_samples_per_s > 0 && (!has_one_gpu || words.batches.size() > 1))
    throw InputError(
        "--rate: on which GPU and with which batch it was measured is not said; allowed: with one --batch, and "
        "one --gpu or --rate-gpu");
  check_measured_step(words);
}

// Reads the machine's job as `simulate job` does.
void read(Machine& machine, const Catalogue& catalogue) {
  const JobPrediction predicted = prepare_job(machine.question, catalogue);
  const Inputs inputs = merge_inputs(predicted.tasks());
  const std::string training = training_text(inputs);
  const JobSummary summary = summary_of(machine.question.job, predicted.job, predicted.scenario, catalogue);
  machine.gpu = {summary.gpu->id, predicted.scenario.cluster.gpu.name};
  machine.read = (machine.question.job.model.stated == machine.size ? "Read: " + machine_text(summary) + "\n"
                                                                    : summary_text(summary)) +
                 training + measured_step_text(predicted.question);
  machine.title = summary.title;
  machine.default_batch = assumed_global_batch(predicted);
  machine.assumed = assumed_lines(inputs, machine.default_batch == 0);
  const double sequence_tokens = predicted.scenario.model.tokens;
  if (predicted.question.tokens > 0) {
    machine.samples = std::ceil(predicted.question.tokens / sequence_tokens);
    machine.work = ", in sequences of " + std::to_string(predicted.scenario.model.tokens);
  }
  if (sequence_tokens > 0) machine.calendar = calendar_interval(predicted);
  machine.scenario = job_scenario(predicted, catalogue);
  machine.baseline_gpus = predicted.question.baseline_gpus();
  machine.is_in_closed_form = predicted.scenario.fidelity == Fidelity::analytic;
  if (!predicted.rankings.empty()) machine.shown["split"] = split_text(predicted.rankings.front().best.front().spec);
}

// Returns false if the number of GPUs fills some nodes only partly.
bool fills_nodes(Machine& machine, const Catalogue& catalogue) {
  try {
    check_whole_nodes(machine.question.gpus, joined_gpus_of(machine.question, catalogue));
  } catch (const InputError& error) {
    machine.refused = error.what();
  }
  return machine.refused.empty();
}

// True if one of several numbers of GPUs cannot run the job, or exchanges gradients in another way than the largest.
// Each number then becomes a machine, with its own scenario or the reason why it is refused.
bool has_different_sizes(const std::vector<Machine>& machines, const Catalogue& catalogue) {
  return std::any_of(machines.begin(), machines.end(), [&](const Machine& machine) {
    if (machine.question.gpus.size() < 2) return false;
    try {
      return !prepare_job(machine.question, catalogue).own_scenarios.empty();
    } catch (const InputError&) {
      return true;
    }
  });
}

// Throws for an unknown name, which is an error of the plan. A combination that cannot run is marked as refused.
void read_or_refuse(Machine& machine, const Catalogue& catalogue) {
  if (machine.has_own_size && !fills_nodes(machine, catalogue)) return;
  try {
    (void)resolve_job(machine.question, catalogue);
  } catch (const InputError& error) {
    if (machine.option.empty()) throw;
    throw InputError("--options " + in_quotes(machine.option) + ": " + error.what());
  }
  try {
    read(machine, catalogue);
  } catch (const InputError& error) {
    machine.refused = error.what();
  }
}

bool needs_split_search(const Machine& machine, const Catalogue& catalogue) {
  if (machine.question.job.split.is_searched) return true;
  try {
    return prepare_job(machine.question, catalogue).question.job.split.is_searched;
  } catch (const InputError&) {
    return machine.question.is_split();
  }
}

// True if a model exceeds a GPU of at least one machine. It is then split on all machines.
bool searches_splits(const std::vector<Machine>& machines, const Catalogue& catalogue) {
  return std::any_of(machines.begin(), machines.end(),
                     [&](const Machine& machine) { return needs_split_search(machine, catalogue); });
}

// If one machine needs several GPUs per replica, predicts all machines with software that can split replicas.
void compare_in_one_software(std::vector<Machine>& machines, const Catalogue& catalogue) {
  const auto needs_several = [&](const Machine& machine) {
    try {
      const GivenSplit& split = prepare_job(machine.question, catalogue).question.job.split;
      return split.is_searched && !split.fits_one_gpu.value_or(false);
    } catch (const InputError&) {
      return false;
    }
  };
  if (machines.size() < 2 || std::none_of(machines.begin(), machines.end(), needs_several)) return;
  for (Machine& machine : machines)
    if (machine.question.job.software.stated.empty()) machine.question.job.split.fits_one_gpu = false;
}

// If a split is given without a batch, the default batch is a multiple of the samples that the replicas process at
// once. It then depends on the number of GPUs.
bool needs_default_batch(const JobPlan& words) {
  const Job& job = words.question.job;
  return words.question.is_split() && !job.split.is_searched && job.global_batch == 0 && job.accumulation == 0 &&
         words.batches.empty() && words.global_batches.empty() && words.question.loss == 0;
}

// Returns the machines that can run. If there are none, throws the reason of the first.
std::vector<Machine> running(const std::vector<Machine>& machines) {
  std::vector<Machine> all;
  for (const Machine& machine : machines)
    if (machine.refused.empty()) all.push_back(machine);
  if (all.empty()) throw InputError(machines.front().refused);
  return all;
}

// Moves members that are equal in all machines' scenarios into one scenario, and returns it.
Json common_scenario(std::vector<Machine>& machines) {
  Json common = machines.front().scenario;
  common.erase("description");
  for (const auto& member : machines.front().scenario.items()) {
    const bool is_common = std::all_of(machines.begin(), machines.end(), [&](const Machine& machine) {
      return machine.scenario.contains(member.key()) && machine.scenario.at(member.key()) == member.value();
    });
    if (!is_common) common.erase(member.key());
  }
  // In a plan, baselines differ only in the number of GPUs.
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

// Writes a refused machine, which has no split to show.
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
    if (machine.has_own_size) set["/baseline/gpus"] = machine.baseline_gpus;
    values.push_back({{"name", name_of(machine)}, {"shown", machine.shown}, {"set", set}});
    if (!machine.price.empty())
      values.back()["prices"]["gpu"] = {
          {"value", machine.price}, {"kind", "assumed"}, {"source", "--options " + machine.option}};
  }
  Json axis{{"name", "machine"}, {"values", values}};
  if (!machines.front().option.empty()) axis["machines"] = true;
  return axis;
}

// True if `simulate job` predicts every machine in closed form. A plan has one fidelity for all of them.
bool are_in_closed_form(const std::vector<Machine>& machines) {
  return std::all_of(machines.begin(), machines.end(),
                     [](const Machine& machine) { return machine.is_in_closed_form; });
}

// Up to this number, all points are predicted like jobs of their own: at most a second each, except for algorithms that
// share links on hundreds of GPUs. Above, only those that matter for the answer.
constexpr std::size_t kMostPointsLikeJobs = 200;
// The plan also predicts about 15 what-ifs and other numbers of GPUs. Each replays at most 2 million messages, which
// takes a few seconds.
constexpr double kNoLimitOfMessages = 1e15, kMostMessagesAround = 2e6;

Json refine_of(const std::vector<Machine>& machines, std::size_t points) {
  if (are_in_closed_form(machines)) return {{"coarse", "analytic"}, {"refined", "analytic"}};
  return {{"coarse", points <= kMostPointsLikeJobs ? "fast" : "analytic"},
          {"refined", "fast"},
          {"most_messages", kNoLimitOfMessages},
          {"most_messages_around", kMostMessagesAround}};
}

Json size_axis(const JobPlan& words) {
  return words.nodes.empty() ? Json{{"name", "GPUs"}, {"pointer", "/gpus"}, {"values", words.question.gpus}}
                             : Json{{"name", "nodes"}, {"pointer", "/nodes"}, {"values", words.nodes}};
}

Json work_of(const JobPlan& words, const Machine& machine) {
  const std::string option = !words.samples.empty() ? "--samples " + words.samples
                             : words.flops.empty()  ? "--tokens " + words.tokens
                                                    : "--flops " + words.flops;
  return {{"samples", {{"value", machine.samples}, {"kind", "assumed"}, {"source", option + machine.work}}}};
}

std::string gpu_list_text(const std::vector<Machine>& machines) {
  std::vector<std::string> gpus;
  for (const Machine& machine : machines)
    if (std::find(gpus.begin(), gpus.end(), machine.gpu.name) == gpus.end()) gpus.push_back(machine.gpu.name);
  return joined(gpus);
}

// Makes a title such as "ResNet-50 v1 on H100 SXM5, A100 SXM4".
std::string title_of(const JobPlan& words, const std::vector<Machine>& machines) {
  const std::string what = words.model_family.empty() ? machines.front().title : "Sizes of " + words.model_family;
  return what + " on " + gpu_list_text(machines);
}

std::string all_read(const std::vector<Machine>& machines) {
  std::set<std::string> listed;
  std::string text;
  for (const Machine& machine : machines)
    if (listed.insert(machine.read).second) text += machine.read;
  return text;
}

// "global_batch 512 on 64 GPUs, 640 on 80 GPUs (...)": lists default batches that depend on the number of GPUs.
std::string default_batches_text(const std::vector<Machine>& machines) {
  std::map<int, std::int64_t> batches;
  for (const Machine& machine : machines)
    if (machine.default_batch > 0) batches[machine.question.gpus.front()] = machine.default_batch;
  std::string text;
  for (const auto& [gpus, batch] : batches)
    text += (text.empty() ? "" : ", ") + std::to_string(batch) + " on " + gpus_text(gpus);
  if (text.empty()) return "";
  return "  global_batch " + text + " (" + why_default_batch(machines.front().question.job.split.task) +
         ", and a list of them compares batches)\n";
}

const std::string kNotGiven = "Not given, and assumed:\n";

Json fitted_factor(double value) {
  return {{"value", value}, {"kind", "fitted"}, {"source", "errors of the predictions of published trainings"}};
}

std::string assumed_text(const std::vector<Machine>& machines) {
  std::vector<std::string> lines;
  for (const Machine& machine : machines)
    for (const std::string& line : machine.assumed)
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  std::string text = default_batches_text(machines);
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text.empty() ? "" : kNotGiven + text;
}

void add_assumed(const std::string& lines, ReadJobPlan& result) {
  if (!lines.empty()) result.assumed += (result.assumed.empty() ? kNotGiven : "") + lines;
}

// Says that the times are of the training alone, if `simulate job` would count interruptions.
std::string uncounted_calendar_text(const std::vector<Machine>& machines) {
  const bool has_interruptions = std::any_of(machines.begin(), machines.end(), [](const Machine& machine) {
    return machine.samples > 0 && has_calendar(machine.question);
  });
  return has_interruptions ? "  interruptions none (not stated; --failures counts them)\n" : "";
}

}  // namespace

std::vector<std::string> list_gpu_names(const JobPlan& words) {
  std::vector<std::string> names = words.gpus_by_name;
  for (const MachineOption& option : read_machine_options(words)) names.push_back(option.gpu);
  return names;
}

ReadJobPlan read_job_plan(const JobPlan& words, const Catalogue& catalogue) {
  if (lacks_gpus(words) && words.question.loss > 0) {
    JobPlan with_nodes = words;
    with_nodes.nodes.assign(kUsualNodes.begin(), kUsualNodes.end());
    ReadJobPlan result = read_job_plan(with_nodes, catalogue);
    std::vector<std::string> numbers;
    for (const int nodes : kUsualNodes) numbers.push_back(std::to_string(nodes));
    add_assumed("  nodes " + joined(numbers) + " (not stated; --nodes or --gpus compares others)\n", result);
    return result;
  }
  check_words(words);
  ReadJobPlan result;
  Json& plan = result.plan;
  const Json objective = job_objective(words);
  std::vector<Machine> machines = list_machines(words, catalogue);
  const bool is_searched = searches_splits(machines, catalogue),
             has_own_sizes = is_searched || needs_default_batch(words) || has_different_sizes(machines, catalogue);
  if (has_own_sizes) machines = expand_gpu_counts(std::move(machines), words, catalogue, is_searched);
  if (is_searched) compare_in_one_software(machines, catalogue);
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
  result.assumed = assumed_text(machines);
  plan["schema"] = "lockstep/plan/1";
  plan["name"] = title_of(words, machines);
  plan["description"] = "Made by plan job.";
  plan["scenario"] = common_scenario(machines);
  plan["axes"] = Json::array({machine_axis(machines, refused)});
  std::size_t points = machines.size();
  if (!has_own_sizes && words.options.empty()) {
    plan["axes"].push_back(size_axis(words));
    points *= plan["axes"].back().at("values").size();
  }
  plan["refine"] = refine_of(machines, points);
  if (machines.front().samples > 0) plan["work"] = work_of(words, machines.front());
  const Json prices = job_prices(words, gpus, catalogue);
  if (!prices.is_null()) plan["prices"] = prices;
  plan["objective"] = objective;
  if (const Json energy = job_energy(words); !energy.is_null()) plan["energy"] = energy;
  if (Json failures = job_failures(words); !failures.is_null()) {
    if (const auto& calendar = machines.front().calendar) {
      failures["calendar_low"] = fitted_factor(calendar->low);
      failures["calendar_high"] = fitted_factor(calendar->high);
    }
    add_assumed(failures_text(failures), result);
    plan["failures"] = failures;
  } else {
    add_assumed(uncounted_calendar_text(machines), result);
  }
  return result;
}

}  // namespace lockstep::sim::job_plan
