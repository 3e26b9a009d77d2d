#include "sim/job_prediction/job_scenario.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/job_prediction/own_scenarios.hpp"
#include "sim/point/best_splits.hpp"
#include "sim/scenario/scenario_template.hpp"

namespace lockstep::sim::job_prediction {
namespace {

struct Origin {
  const char* pointer;
  std::vector<std::string> constants;  ///< prefixes of the constants' names
  const char* otherwise = "catalogue, or usual";
};

// Lists the constants that determine each key of the scenario. Keys without a constant come from the catalogue or from
// defaults.
const std::vector<Origin>& origins() {
  static const std::vector<Origin> all{{"/cluster/host/memory_bandwidth", {}},
                                       {"/cluster/host/memory_latency", {}},
                                       {"/cluster/intra_node/gpu_link/bandwidth", {"link share"}},
                                       {"/cluster/intra_node/gpu_link/latency", {}},
                                       {"/cluster/intra_node/switch_uplink/bandwidth", {"link share"}},
                                       {"/cluster/intra_node/switch_uplink/latency", {}},
                                       {"/cluster/intra_node/socket_link/bandwidth", {"link share"}},
                                       {"/cluster/intra_node/socket_link/latency", {}},
                                       {"/cluster/intra_node/host_staging/bandwidth", {"link share"}},
                                       {"/cluster/intra_node/host_staging/latency", {}},
                                       {"/cluster/intra_node/link/bandwidth", {"link share"}},
                                       {"/cluster/intra_node/link/latency", {}},
                                       {"/cluster/intra_node/pcie/gpu_link/bandwidth", {}},
                                       {"/cluster/intra_node/pcie/gpu_link/latency", {}},
                                       {"/cluster/intra_node/pcie/switch_uplink/bandwidth", {}},
                                       {"/cluster/intra_node/pcie/switch_uplink/latency", {}},
                                       {"/cluster/intra_node/pcie/socket_link/bandwidth", {}},
                                       {"/cluster/intra_node/pcie/socket_link/latency", {}},
                                       {"/cluster/intra_node/pcie_link/bandwidth", {}},
                                       {"/cluster/intra_node/pcie_link/latency", {}},
                                       {"/cluster/nic/bandwidth", {"network share"}},
                                       {"/cluster/nic/latency", {"network hop"}},
                                       {"/cluster/fabric/bandwidth", {"network share"}},
                                       {"/cluster/fabric/latency", {}},
                                       {"/compute/launch_overhead", {"kernel launch"}},
                                       {"/compute/host_launch", {"host launch"}},
                                       {"/compute/efficiency/compute", {"speed"}},
                                       {"/compute/efficiency/memory", {"speed", "memory speed"}},
                                       {"/compute/efficiency/kernel_speed", {"speed"}},
                                       {"/compute/efficiency/half_kernel_speed", {"speed"}},
                                       {"/compute/efficiency/attention", {kFusedAttention}},
                                       {"/compute/efficiency/experts", {"speed of experts"}},
                                       {"/compute/efficiency/on_2_bytes", {kUnalignedProducts}},
                                       {"/compute/efficiency/on_4_bytes", {kUnalignedProducts}},
                                       {"/compute/efficiency/gelu_bytes", {kGeluBytes}},
                                       {"/compute/efficiency/rms_norm_bytes", {kRmsNormBytes}},
                                       {"/compute/efficiency/rotary_bytes", {kRotaryBytes}},
                                       {"/compute/efficiency/loss_bytes_per_logit", {kLossBytes}},
                                       {"/compute/efficiency/sum_bytes", {kSumBytes}},
                                       {"/compute/efficiency/softmax_bytes", {kSoftmaxBytes}},
                                       {"/compute/jitter/coefficient_of_variation", {"jitter"}},
                                       {"/communication/fusion_threshold", {}},
                                       {"/communication/chain_slices", {}},
                                       {"/communication/message_overhead", {"message"}},
                                       {"/communication/launch_overhead", {"call"}},
                                       {"/input/samples_per_s_per_node", {kDecodedImages}},
                                       {"/convergence/train_samples",
                                        {kEvaluationShare, kTrainingOverBenchmark},
                                        "the images of an epoch, and more for the evaluations of a training"},
                                       {"/sharding/unit", {}},
                                       {"/parameter_server/staging_bandwidth", {"host copies"}},
                                       {"/theano_mpi/staging_bandwidth", {"host copies"}},
                                       {"/theano_mpi/host_copy_rate", {}},
                                       {"/theano_mpi/host_reduction_rate", {}}};
  return all;
}

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.rfind(beginning, 0) == 0;
}

// The origin is "fitted" if at least one of the constants is fitted.
Assumption origin_of(const Origin& origin, const std::vector<Assumption>& inputs) {
  Assumption source{origin.pointer, Json(), "assumed", origin.otherwise};
  std::string fitted;
  for (const Assumption& input : inputs)
    for (const std::string& constant : origin.constants) {
      if (!begins_with(input.pointer, constant)) continue;
      if (input.kind == "fitted")
        fitted += (fitted.empty() ? "" : ", ") + input.pointer;
      else
        source.source = input.source;
    }
  if (!fitted.empty()) source = {origin.pointer, Json(), "fitted", "constants fitted on published results: " + fitted};
  return source;
}

// "/gpus/7/peak/fp16" of the catalogue, or "/peak/fp16" of a file, becomes "/cluster/gpu/peak/fp16" of the scenario.
void add_facts(const GpuEntry& gpu, std::vector<Assumption>& sources) {
  const std::string list = "/gpus/";
  for (const Assumption& fact : gpu.facts) {
    const std::size_t key = begins_with(fact.pointer, list) ? fact.pointer.find('/', list.size()) : 0;
    sources.push_back({"/cluster/gpu" + fact.pointer.substr(key), fact.value, fact.kind, fact.source});
  }
}

void add_calibration(const std::string& interval, const QuantityTask& task, std::vector<Assumption>& sources) {
  const std::string pointer = "/uncertainty/calibration/" + interval + "/";
  const std::string results = "errors of published results of the class \"" + task.interval_class.name() +
                              "\": the bounds hold four of five of unseen sources";
  for (const char* bound : {"below", "above"}) sources.push_back({pointer + bound, Json(), "fitted", results});
  sources.push_back({pointer + "always", Json(), "assumed", "error of any prediction, before it is scaled"});
}

std::vector<Assumption> sources_of(const Scenario& scenario, const JobRow& largest, const GpuEntry& gpu,
                                   bool carries_rate) {
  std::vector<Assumption> sources;
  add_facts(gpu, sources);
  for (const Origin& origin : origins()) sources.push_back(origin_of(origin, largest.samples_per_s.task.assumptions));
  for (std::size_t i = 0; i < scenario.compute.rates.size(); ++i)
    sources.push_back(
        {"/compute/rates/" + std::to_string(i) + "/rate", Json(), carries_rate ? "assumed" : "measured",
         carries_rate ? "--rate of another GPU, scaled by what is predicted for one GPU of each" : "--rate"});
  if (scenario.compute.time_factor != 1) sources.push_back({"/compute/time_factor", Json(), "measured", "--step-time"});
  for (const char* part : {"compute", "bandwidth", "latency"})
    sources.push_back({std::string("/uncertainty/") + part, Json(), "fitted", "deviations of the fitted constants"});
  add_calibration("samples_per_s", largest.samples_per_s.task, sources);
  add_calibration("training", (largest.training ? *largest.training : largest.samples_per_s).task, sources);
  if (largest.training && largest.training->task.epochs_uncertainty > 0) {
    for (const char* key : {"/uncertainty/epochs", "/convergence/epochs"})
      sources.push_back({key, Json(), "fitted", "law of MLCommons' reference runs"});
    return sources;
  }
  sources.push_back({"/uncertainty/epochs", Json(), "assumed", "--epochs is given"});
  sources.push_back({"/convergence/epochs", Json(), "assumed",
                     largest.training && largest.training->task.epochs == 0 ? "--samples" : "--epochs"});
  return sources;
}

// Adds a variant with the found split for each number of GPUs. Returns the variants' names.
std::vector<std::string> add_splits(const JobPrediction& predicted, Json& file) {
  std::vector<std::string> names;
  for (const SplitRanking& ranking : predicted.rankings) {
    const Scenario scenario = scenario_with_split(predicted.scenario, ranking.best.front().spec, ranking.gpus);
    names.push_back(std::to_string(ranking.gpus) + " GPUs");
    file["variants"].push_back({{"name", names.back()},
                                {"set",
                                 {{"/gpus", Json::array({ranking.gpus})},
                                  {"/baseline/gpus", ranking.gpus},
                                  {"/parallel", to_json(scenario).at("parallel")}}}});
  }
  return names;
}

CalibrationSpec calibration_at(const JobRow& row, const Catalogue& catalogue) {
  const QuantityTask& rate = row.samples_per_s.task;
  return {calibration_of(rate, catalogue), calibration_of(row.training ? row.training->task : rate, catalogue)};
}

// Writes the scenario of the largest number of GPUs.
Json scenario_file(const JobPrediction& predicted, const Catalogue& catalogue) {
  const JobRow& largest = predicted.largest();
  if (largest.gpus == 1 && !predicted.question.has_machine) {
    JobQuestion on_machine = predicted.question;
    on_machine.has_machine = true;
    return scenario_file(prepare_job(on_machine, catalogue), catalogue);
  }
  Scenario scenario = predicted.scenario;
  scenario.uncertainty = largest.samples_per_s.task.target.front().scenario.uncertainty;
  scenario.uncertainty.calibration = calibration_at(largest, catalogue);
  return to_json(scenario, sources_of(scenario, largest, *catalogue.gpus.with_id(predicted.job.gpu.id),
                                      predicted.job.has_carried_rate()));
}

}  // namespace

Json job_scenario(const JobPrediction& predicted, const Catalogue& catalogue) {
  Json file = scenario_file(predicted, catalogue);
  std::vector<std::string> variants{""};
  if (predicted.rankings.size() > 1) variants = add_splits(predicted, file);
  if (!predicted.own_scenarios.empty())
    variants = add_variants(
        predicted, [&](const JobPrediction& own) { return scenario_file(own, catalogue); }, file);
  for (const std::string& variant : variants)  // the reader refuses values that no scenario may have
    ScenarioTemplate::parse(file.dump(), "--scenario", variant).with({});
  return file;
}

}  // namespace lockstep::sim::job_prediction
