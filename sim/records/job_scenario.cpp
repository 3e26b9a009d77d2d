#include "sim/records/job_scenario.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/records/run.hpp"

namespace lockstep::sim {
namespace {

const char* const kByDefault = "usual; the catalogue says nothing of it";
constexpr double kMostUncertain = 0.5;

std::string text_of(double value, double unit, const char* name) {
  char text[64];
  std::snprintf(text, sizeof text, "%.12g %s", value / unit, name);
  return text;
}

std::string bandwidth_text(double bytes_per_s) {
  return text_of(bytes_per_s, 1e9, "GB/s");
}

std::string time_text(double seconds) {
  return text_of(seconds, 1e-6, "us");
}

// The file of one job. What is fitted is told by the constants' names.
class JobFile {
 public:
  /// `prediction` is of images/s, `training` of the training time on as many GPUs: null where none is asked for.
  JobFile(const Job& job, const Prediction& prediction, const Prediction* training, const RecordRun& task)
      : job_(job), prediction_(prediction), training_(training), task_(task), scenario_(task.scenario) {}

  Json json() const {
    Json json{{"schema", "lockstep/scenario/1"},
              {"name", scenario_.model.title + " on " + scenario_.cluster.gpu.name},
              {"description", description()},
              {"cluster", cluster()},
              {"model", model::zoo_name_of(scenario_.model)},
              {"algorithm", name_of(scenario_.algorithm)},
              {"gpus", job_.gpus},
              {"baseline", {{"gpus", 1}}},
              {"batch_per_gpu", task_.batch_per_gpu},
              {"compute", compute()},
              {"communication", communication()}};
    if (scenario_.algorithm == Algorithm::sharded)
      json["sharding"] = {{"unit", text_of(static_cast<double>(scenario_.sharding.unit_bytes), 1, "B")}};
    if (job_.ignores_memory) json["ignore_memory"] = true;
    if (training_ != nullptr) json["convergence"] = convergence();
    json["uncertainty"] = uncertainty();
    json["fidelity"] = "analytic";
    return json;
  }

 private:
  std::string description() const {
    return "Made by simulate job, with links, overheads and all-reduce as it has them for " +
           std::to_string(task_.gpus) +
           " GPUs. The constants were fitted with the closed form; fast and message replay the same inputs.";
  }

  Json with(const Json& value, const std::string& kind, const std::string& source) const {
    return {{"value", value}, {"kind", kind}, {"source", source}};
  }

  // Fitted where one of the prediction's constants begins so.
  Json fitted(const Json& value, const std::vector<std::string>& beginnings) const {
    std::vector<std::string> names;
    for (const Assumption& input : prediction_.mapped.assumptions)
      for (const std::string& beginning : beginnings)
        if (input.kind == "fitted" && input.pointer.rfind(beginning, 0) == 0) names.push_back(input.pointer);
    if (names.empty()) return with(value, "assumed", kByDefault);
    return with(value, "fitted", "constants fitted on published results: " + joined(names));
  }

  Json of_gpu(const std::string& key, const std::string& value) const {
    for (const Assumption& fact : prediction_.record->names->gpu->facts)
      if (fact.pointer.size() > key.size() && fact.pointer.substr(fact.pointer.size() - key.size() - 1) == "/" + key)
        return with(value, fact.kind, fact.source);
    return with(value, "assumed", kByDefault);
  }

  Json gpu() const {
    const GpuSpec& spec = scenario_.cluster.gpu;
    Json peak;
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
      if (const double flops = spec.peak_flops(precision); flops > 0)
        peak[name_of(precision)] = of_gpu("peak/" + name_of(precision), text_of(flops, 1e12, "TFLOP/s"));
    return {{"name", spec.name},
            {"memory", of_gpu("memory", text_of(spec.memory_bytes, 1e9, "GB"))},
            {"memory_bandwidth", of_gpu("memory_bandwidth", bandwidth_text(spec.memory_bandwidth_bytes_per_s))},
            {"peak", peak}};
  }

  Json link(const LinkSpec& spec, const std::vector<std::string>& constants) const {
    return {{"bandwidth", fitted(bandwidth_text(spec.bandwidth_bytes_per_s), constants)},
            {"latency", with(time_text(spec.latency_s), "assumed", "catalogue of links")}};
  }

  Json intra_node() const {
    const IntraNodeSpec& node = scenario_.cluster.intra_node;
    const auto share = [&](const LinkSpec& spec) { return link(spec, {"link share"}); };
    if (node.kind == IntraNodeKind::nvswitch)
      return {{"kind", "nvswitch"}, {"gpu_link", share(node.gpu_link)}, {"pcie_link", link(node.pcie.gpu_link, {})}};
    Json switches = Json::array();
    for (const SwitchSpec& spec : node.pcie.switches)
      switches.push_back({{"socket", spec.socket}, {"gpus", spec.gpus}});
    Json json{{"kind", "pcie-tree"},
              {"switches", switches},
              {"gpu_link", share(node.pcie.gpu_link)},
              {"switch_uplink", share(node.pcie.switch_uplink)},
              {"peer_across_sockets", node.pcie.peer_across_sockets}};
    if (node.pcie.sockets() > 1) json["socket_link"] = share(node.pcie.socket_link);
    return json;
  }

  Json nic() const {
    const NicSpec& spec = scenario_.cluster.nic;
    Json json = link(spec.link, {"network share"});
    json["latency"] = fitted(time_text(spec.link.latency_s), {"network hop"});
    json["per_node"] = spec.per_node;
    json["gpudirect"] = spec.gpudirect;
    if (!spec.attach.empty()) json["attach"] = spec.attach;
    return json;
  }

  Json cluster() const {
    const ClusterSpec& spec = scenario_.cluster;
    Json json{
        {"schema", "lockstep/cluster/1"},
        {"name", spec.gpu.name},
        {"nodes", spec.nodes},
        {"gpus_per_node", spec.gpus_per_node},
        {"gpu", gpu()},
        {"host",
         {{"memory_bandwidth", with(bandwidth_text(spec.host.memory_bandwidth_bytes_per_s), "assumed", kByDefault)},
          {"memory_latency", with(time_text(spec.host.memory_latency_s), "assumed", kByDefault)}}},
        {"intra_node", intra_node()}};
    if (spec.nic.per_node == 0) return json;
    json["nic"] = nic();
    json["fabric"] = link(spec.fabric.link, {"network share"});
    json["fabric"]["kind"] = "star";
    return json;
  }

  Json compute() const {
    const ComputeSpec& spec = scenario_.compute;
    const std::vector<std::string> speeds{"speed", "memory speed"};
    Json json{{"precision", name_of(spec.precision)},
              {"launch_overhead", fitted(time_text(spec.launch_s), {"kernel launch"})},
              {"efficiency",
               {{"compute", fitted(spec.compute_efficiency.front().efficiency, speeds)},
                {"memory", fitted(spec.memory_efficiency, speeds)},
                {"fast_convolution", spec.fast_convolution_gain},
                {"channel_tile", spec.channel_tile},
                {"cast_bytes_per_parameter", spec.cast_bytes_per_parameter}}},
              {"optimizer", name_of(spec.optimizer)},
              {"jitter", {{"distribution", "none"}}}};
    for (const RateSpec& rate : spec.rates)
      json["rates"].push_back(
          {{"batch", rate.batch}, {"rate", with(text_of(rate.samples_per_s, 1, "images/s"), "measured", "--rate")}});
    if (spec.jitter != JitterKind::none)
      json["jitter"] = {{"distribution", "lognormal"},
                        {"coefficient_of_variation", fitted(spec.jitter_variation, {"jitter"})}};
    return json;
  }

  Json communication() const {
    const CommunicationSpec& spec = scenario_.communication;
    return {{"all_reduce", name_of(spec.all_reduce)},
            {"group_size", spec.group_size},
            {"chain_slices", spec.chain_slices},
            {"hybrid_threshold", text_of(static_cast<double>(spec.hybrid_threshold_bytes), 1, "B")},
            {"torus_columns", spec.torus_columns},
            {"tree_slices", spec.tree_slices},
            {"wire", name_of(spec.wire)},
            {"fusion_threshold", text_of(static_cast<double>(spec.fusion_threshold_bytes), 1, "B")},
            {"overlap", spec.overlap},
            {"message_overhead", fitted(time_text(spec.message_overhead_s), {"message"})},
            {"launch_overhead", fitted(time_text(spec.launch_overhead_s), {"call"})}};
  }

  Json convergence() const {
    return {{"target", short_number(job_.epochs) + " epochs"},
            {"train_samples", std::llround(training_->mapped.samples / job_.epochs)},
            {"epochs", with(job_.epochs, "assumed", "--epochs")}};
  }

  // What unseen results have shown of the whole prediction: whatever part of an iteration is off, it is off by so much.
  Json uncertainty() const {
    const double half_width = (prediction_.high - prediction_.low) / (2 * prediction_.predicted);
    const Json of_all = with(std::min(half_width, kMostUncertain), "fitted",
                             "half width of the job's bounds at " + std::to_string(task_.gpus) +
                                 " GPUs, which hold four unseen published results of five");
    return {{"compute", of_all},
            {"bandwidth", of_all},
            {"latency", of_all},
            {"epochs", with(0, "assumed", "--epochs is given")}};
  }

  const Job& job_;
  const Prediction& prediction_;
  const Prediction* training_;
  const RecordRun& task_;
  const Scenario& scenario_;
};

// As NCCL does, the fastest of what may be chosen.
const RecordRun& chosen_of(const Alternatives& alternatives) {
  std::vector<const RecordRun*> tasks;
  for (const RecordRun& task : alternatives) tasks.push_back(&task);
  const std::vector<RunTime> times = run_all(tasks, {1, true});
  const auto best = std::min_element(times.begin(), times.end(),
                                     [](const RunTime& a, const RunTime& b) { return a.seconds < b.seconds; });
  return alternatives[static_cast<std::size_t>(best - times.begin())];
}

}  // namespace

Json job_scenario(const Job& job, const JobPrediction& predicted) {
  const Prediction* largest = nullptr;  // of images/s
  for (const Prediction& p : predicted.predictions)
    if (p.mapped.quantity == Quantity::images_per_s &&
        (largest == nullptr || p.mapped.target.front().gpus > largest->mapped.target.front().gpus))
      largest = &p;
  const RecordRun& task = chosen_of(largest->mapped.target);
  if (task.gpus == 1) throw InputError("--scenario: a scenario is of a cluster; allowed: with --gpus of two or more");
  const Algorithm algorithm = task.scenario.algorithm;
  if (algorithm != Algorithm::s_sgd && algorithm != Algorithm::sharded)
    throw InputError("--scenario: a job of the algorithm \"" + name_of(algorithm) +
                     "\" is not written; allowed: jobs with all-reduces, or sharded");
  const Prediction* training = nullptr;
  for (const Prediction& p : predicted.predictions)
    if (p.mapped.quantity == Quantity::samples_time_s && p.record->gpus == largest->record->gpus) training = &p;
  return JobFile(job, *largest, training, task).json();
}

}  // namespace lockstep::sim
