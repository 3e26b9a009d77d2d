#include "sim/records/job_read.hpp"

#include "sim/records/job.hpp"
#include "sim/records/job_names.hpp"
#include "sim/records/network_port.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

std::string with_id(const std::string& name, const std::string& id) {
  return name.empty() ? id : name + " (" + id + ")";
}

}  // namespace

JobRead read_of(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue) {
  const JobSpec& spec = predicted.spec;
  JobRead read;
  read.model = spec.model.id;
  read.title = predicted.scenario.model.title;
  read.gpu = catalogue.gpus.with_id(spec.gpu.id);
  read.gpus_per_node = spec.gpus_per_node;
  read.is_node_stated = job.gpus_per_node > 0;
  if (read.gpus_per_node > 1) {
    read.link = catalogue.intra_nodes.with_id(spec.link.is_known() ? spec.link.id : read.gpu->intra_node);
    read.is_link_stated = spec.link.is_known() && spec.why_assumed("link").empty();
  }
  if (spec.gpus > spec.gpus_per_node) {
    read.is_network_stated = !spec.network.id.empty();
    read.network = read.is_network_stated
                       ? network_found(spec.network, *catalogue.networks.with_id(spec.network.id))
                       : read_network(catalogue.networks, read.gpu->network, read.gpus_per_node).found;
    read.network->is_kind_assumed = !spec.why_assumed("network kind").empty();
  }
  read.software = catalogue.stacks.with_id(spec.software.id);
  if (const JobAlgorithm* algorithm = job_algorithm_named(spec.exchange)) read.algorithm = algorithm->title;
  read.precision = predicted.scenario.compute.precision;
  read.has_half_parameters = spec.has_half_parameters();
  read.channels_last = spec.channels_last;
  read.decodes_on_host = spec.decodes_on_host;
  return read;
}

std::string machine_text(const JobRead& read) {
  std::string text = with_id(read.gpu->name, read.gpu->id) + ", " + std::to_string(read.gpus_per_node) + " per node";
  if (read.link != nullptr) text += " by " + with_id(read.link->name, read.link->id);
  text += ";\n      ";
  if (read.network)
    text += "network " + network_description(*read.network) + (read.is_network_stated ? "; " : ", assumed; ");
  return text;
}

std::string read_text(const JobRead& read) {
  std::string text = "Read: " + with_id(read.title, read.model) + " on " + machine_text(read) +
                     with_id(read.software->name, read.software->id);
  if (!read.algorithm.empty()) text += ", " + read.algorithm;
  const std::string half = read.has_half_parameters ? "bf16 throughout" : "mixed precision";
  text += ", " + (read.precision == Precision::mixed ? half : name_of(read.precision));
  if (read.channels_last) text += ", channels last";
  return text + (read.decodes_on_host ? ", images decoded by the nodes' processors.\n" : ".\n");
}

Json read_json(const JobRead& read) {
  Json json{{"model", {{"id", read.model}, {"title", read.title}}},
            {"gpu", {{"id", read.gpu->id}, {"name", read.gpu->name}, {"memory_bytes", read.gpu->spec.memory_bytes}}},
            {"gpus_per_node", read.gpus_per_node},
            {"gpus_per_node_stated", read.is_node_stated}};
  if (read.link != nullptr)
    json["link"] = {{"id", read.link->id}, {"name", read.link->name}, {"stated", read.is_link_stated}};
  if (read.network)
    json["network"] = {{"id", read.network->entry->id},
                       {"text", network_words(*read.network)},
                       {"ports", read.network->ports},
                       {"port_bytes_per_s", read.network->port_bytes_per_s},
                       {"rdma", read.network->entry->rdma},
                       {"stated", read.is_network_stated},
                       {"kind_stated", !read.network->is_kind_assumed}};
  json["software"] = {{"id", read.software->id}, {"name", read.software->name}};
  if (!read.algorithm.empty()) json["algorithm"] = read.algorithm;
  json["precision"] = name_of(read.precision);
  if (read.has_half_parameters) json["half_parameters"] = true;
  if (read.channels_last) json["channels_last"] = true;
  if (read.decodes_on_host) json["decodes_on_host"] = true;
  return json;
}

}  // namespace records
}  // namespace lockstep::sim
