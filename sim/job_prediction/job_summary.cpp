#include "sim/job_prediction/job_summary.hpp"

#include "sim/job/job_names.hpp"
#include "sim/job/network_port.hpp"

namespace lockstep::sim::job_prediction {
namespace {

std::string with_id(const std::string& name, const std::string& id) {
  return name.empty() ? id : name + " (" + id + ")";
}

}  // namespace

JobSummary summary_of(const Job& given, const Job& job, const Scenario& scenario, const Catalogue& catalogue) {
  JobSummary summary;
  summary.model = job.model.id;
  summary.title = scenario.model.title;
  summary.gpu = catalogue.gpus.with_id(job.gpu.id);
  summary.gpus_per_node = job.gpus_per_node;
  summary.is_node_stated = given.gpus_per_node > 0;
  if (summary.gpus_per_node > 1) {
    summary.link = catalogue.intra_nodes.with_id(job.link.is_known() ? job.link.id : summary.gpu->intra_node);
    summary.is_link_stated = job.link.is_known() && job.why_assumed("link").empty();
  }
  if (job.gpus > job.gpus_per_node) {
    summary.is_network_stated = !job.network.id.empty();
    summary.network = summary.is_network_stated
                          ? network_found(job.network, *catalogue.networks.with_id(job.network.id))
                          : read_network(catalogue.networks, summary.gpu->network, summary.gpus_per_node).found;
    summary.network->is_kind_assumed = !job.why_assumed("network kind").empty();
  }
  summary.software = catalogue.stacks.with_id(job.software.id);
  if (const JobAlgorithm* algorithm = job_algorithm_named(job.exchange)) summary.algorithm = algorithm->title;
  summary.precision = scenario.compute.precision;
  summary.has_half_parameters = job.has_half_parameters();
  summary.channels_last = job.channels_last;
  summary.decodes_on_host = job.decodes_on_host;
  if (scenario.parallel) {
    summary.lora_rank = scenario.parallel->lora_rank;
    summary.lora_target = scenario.parallel->lora_target;
    summary.frozen_weights = scenario.parallel->frozen_weights;
  }
  return summary;
}

std::string machine_text(const JobSummary& summary) {
  std::string text =
      with_id(summary.gpu->name, summary.gpu->id) + ", " + std::to_string(summary.gpus_per_node) + " per node";
  if (summary.link != nullptr) text += " by " + with_id(summary.link->name, summary.link->id);
  text += ";\n      ";
  if (summary.network)
    text += "network " + network_description(*summary.network) + (summary.is_network_stated ? "; " : ", assumed; ");
  return text;
}

std::string summary_text(const JobSummary& summary) {
  std::string text = "Read: " + with_id(summary.title, summary.model) + " on " + machine_text(summary) +
                     with_id(summary.software->name, summary.software->id);
  if (!summary.algorithm.empty()) text += ", " + summary.algorithm;
  const std::string half = summary.has_half_parameters        ? "bf16 throughout"
                           : summary.gpu->spec.bf16_flops > 0 ? "mixed precision"
                                                              : "mixed precision by fp16";
  text += ", " + (summary.precision == Precision::mixed ? half : name_of(summary.precision));
  if (summary.lora_rank > 0) text += ", LoRA of rank " + std::to_string(summary.lora_rank);
  if (summary.lora_rank > 0 && summary.lora_target == LoraTarget::all) text += " for all dense matrices";
  if (summary.frozen_weights != FrozenWeights::whole) text += " on " + name_of(summary.frozen_weights) + " weights";
  if (summary.channels_last) text += ", channels last";
  return text + (summary.decodes_on_host ? ", images decoded by the nodes' processors.\n" : ".\n");
}

Json summary_json(const JobSummary& summary) {
  Json json{
      {"model", {{"id", summary.model}, {"title", summary.title}}},
      {"gpu", {{"id", summary.gpu->id}, {"name", summary.gpu->name}, {"memory_bytes", summary.gpu->spec.memory_bytes}}},
      {"gpus_per_node", summary.gpus_per_node},
      {"gpus_per_node_stated", summary.is_node_stated}};
  if (summary.link != nullptr)
    json["link"] = {{"id", summary.link->id}, {"name", summary.link->name}, {"stated", summary.is_link_stated}};
  if (summary.network)
    json["network"] = {{"id", summary.network->entry->id},
                       {"text", network_words(*summary.network)},
                       {"ports", summary.network->ports},
                       {"port_bytes_per_s", summary.network->port_bytes_per_s},
                       {"rdma", summary.network->entry->rdma},
                       {"stated", summary.is_network_stated},
                       {"kind_stated", !summary.network->is_kind_assumed}};
  json["software"] = {{"id", summary.software->id}, {"name", summary.software->name}};
  if (!summary.algorithm.empty()) json["algorithm"] = summary.algorithm;
  json["precision"] = name_of(summary.precision);
  if (summary.has_half_parameters) json["half_parameters"] = true;
  if (summary.lora_rank > 0) {
    json["lora_rank"] = summary.lora_rank;
    json["lora_target"] = name_of(summary.lora_target);
  }
  if (summary.frozen_weights != FrozenWeights::whole) json["frozen_weights"] = name_of(summary.frozen_weights);
  if (summary.channels_last) json["channels_last"] = true;
  if (summary.decodes_on_host) json["decodes_on_host"] = true;
  return json;
}

}  // namespace lockstep::sim::job_prediction
