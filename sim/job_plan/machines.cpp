#include "sim/job_plan/machines.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/job_plan/machine_options.hpp"
#include "sim/job_plan/model_family.hpp"
#include "sim/job_prediction/job_loss.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/job_prediction/measured_critical.hpp"

namespace lockstep::sim::job_plan {
namespace {

template <class Value>
void check_distinct(const char* option, const std::vector<Value>& values, const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
        values.begin() + static_cast<std::ptrdiff_t>(i))
      throw InputError(std::string(option) + ": the same " + what + " twice; allowed: each once");
}

// Makes a copy of each machine for each value. Without values, leaves the machines as they are. If there are several
// values, tables show them.
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

// Makes a copy of each machine for each of --options.
void vary_options(std::vector<Machine>& machines, const JobPlan& words) {
  const std::vector<MachineOption> options = read_machine_options(words);
  if (options.empty()) return;
  const auto any = [&](std::string MachineOption::*member) {
    return std::any_of(options.begin(), options.end(), [&](const MachineOption& o) { return !(o.*member).empty(); });
  };
  const bool has_networks = any(&MachineOption::network), has_prices = any(&MachineOption::price);
  std::vector<Machine> all;
  for (const Machine& machine : machines)
    for (std::size_t i = 0; i < options.size(); ++i) {
      const MachineOption& option = options[i];
      all.push_back(machine);
      Machine& one = all.back();
      one.option = trim_option(words, i);
      one.price = option.price;
      one.question.gpus = {option.gpus};
      one.question.job.gpu.stated = option.gpu;
      if (!option.network.empty()) one.question.job.network.stated = option.network;
      one.shown["GPU"] = option.gpu;
      one.shown["GPUs"] = option.gpus;
      const std::string network = one.question.job.network.stated;
      if (has_networks) one.shown["network"] = network.empty() ? "default" : network;
      if (has_prices) one.shown["price"] = option.price.empty() ? "by --price" : option.price;
    }
  machines = std::move(all);
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

// Returns global batches to compare for a loss: 1/8, 1/3 and all of the critical batch, rounded to powers of two. Empty
// if no law gives a critical batch. The error is then reported when the machine is read.
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

}  // namespace

std::vector<Machine> list_machines(const JobPlan& words, const Catalogue& catalogue) {
  check_distinct("--gpu", words.gpus_by_name, "name");
  check_distinct("--network", words.networks, "network");
  check_distinct("--algorithm", words.algorithms, "algorithm");
  check_distinct("--batch", words.batches, "batch");
  check_distinct("--nodes", words.nodes, "number");
  check_distinct("--gpus", words.question.gpus, "number");
  check_distinct("--global-batch", words.global_batches, "batch");
  check_distinct("--options", words.options, "machine");
  std::vector<Machine> machines(1);
  machines.front().question = words.question;
  if (!words.tokens.empty()) machines.front().question.tokens = count_of("--tokens", words.tokens);
  if (!words.samples.empty()) machines.front().question.samples = count_of("--samples", words.samples);
  if (!words.flops.empty()) machines.front().question.flops = count_of("--flops", words.flops);
  if (!words.critical_batch.empty()) set_critical_batch(words.critical_batch, machines.front().question);
  vary_model(machines, words, catalogue);
  vary(machines, words.gpus_by_name, "GPU", true,
       [](JobQuestion& q, const std::string& name) { q.job.gpu.stated = name; });
  vary(machines, words.networks, "network", false,
       [](JobQuestion& q, const std::string& text) { q.job.network.stated = text; });
  vary_options(machines, words);
  vary(machines, words.algorithms, "algorithm", false,
       [](JobQuestion& q, const std::string& name) { q.job.exchange = name; });
  vary(machines, words.batches, "batch", false, [](JobQuestion& q, int batch) { q.job.batch_per_gpu = batch; });
  vary_global_batch(machines, words, catalogue);
  for (Machine& machine : machines)
    for (int nodes : words.nodes)
      machine.question.gpus.push_back(nodes * gpus_per_node_of(machine.question.job, catalogue));
  return machines;
}

std::vector<Machine> expand_gpu_counts(std::vector<Machine> machines, const JobPlan& words, const Catalogue& catalogue,
                                       bool searches_splits) {
  if (words.options.empty()) {
    const bool by_nodes = !words.nodes.empty();
    vary(machines, by_nodes ? words.nodes : words.question.gpus, by_nodes ? "nodes" : "GPUs", true,
         [&](JobQuestion& q, int size) { q.gpus = {by_nodes ? size * gpus_per_node_of(q.job, catalogue) : size}; });
  }
  for (Machine& machine : machines) {
    if (!searches_splits) continue;
    machine.question.job.split.is_searched = true;
    machine.question.lists_splits = false;
  }
  return machines;
}

}  // namespace lockstep::sim::job_plan
