#include "sim/records/job_read.hpp"

#include <algorithm>

#include "sim/records/job.hpp"

namespace lockstep::sim {
namespace {

std::string with_id(const std::string& name, const std::string& id) {
  return name.empty() ? id : name + " (" + id + ")";
}

// Of the largest number of GPUs that is asked for.
const Prediction& largest_of(const JobPrediction& predicted) {
  return *std::max_element(predicted.predictions.begin(), predicted.predictions.end(),
                           [](const Prediction& a, const Prediction& b) { return a.record->gpus < b.record->gpus; });
}

// Where the job leaves it open.
const std::string* assumed(const Prediction& prediction, const std::string& key) {
  for (const Assumption& input : prediction.mapped.assumptions)
    if (input.pointer == key && input.value.is_string()) return &input.value.get_ref<const std::string&>();
  return nullptr;
}

}  // namespace

JobRead read_of(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue) {
  const NamesRead& names = predicted.names;
  const Prediction& largest = largest_of(predicted);
  const Scenario& scenario = largest.mapped.target.front().scenario;
  JobRead read;
  read.model = names.model->id;
  read.title = scenario.model.title;
  read.gpu = names.gpu;
  read.gpus_per_node = largest.record->gpus_per_node;
  read.is_node_stated = job.gpus_per_node > 0;
  if (read.gpus_per_node > 1) {
    const std::string* const link = assumed(largest, "intra_node_link");
    read.link = names.intra_node;
    read.is_link_stated = read.link != nullptr;
    if (read.link == nullptr)
      read.link = catalogue.intra_nodes.with_id(link != nullptr ? *link : names.gpu->intra_node);
  }
  if (largest.record->gpus > read.gpus_per_node) {
    read.is_network_stated = names.network.has_value();
    read.network = names.network;
    if (!read.network) read.network = read_network(catalogue.networks, names.gpu->network, read.gpus_per_node).found;
  }
  read.software = names.stack;
  read.algorithm = names.algorithm_title;
  read.precision = scenario.compute.precision;
  return read;
}

std::string read_text(const JobRead& read) {
  std::string text = "Read: " + with_id(read.title, read.model) + " on " + with_id(read.gpu->name, read.gpu->id) +
                     ", " + std::to_string(read.gpus_per_node) + " per node";
  if (read.link != nullptr) text += " by " + with_id(read.link->name, read.link->id);
  text += ";\n      ";
  if (read.network)
    text += "network " + network_description(*read.network) + (read.is_network_stated ? "; " : ", assumed; ");
  text += with_id(read.software->name, read.software->id);
  if (!read.algorithm.empty()) text += ", " + read.algorithm;
  return text + ", " + (read.precision == Precision::mixed ? "mixed precision" : name_of(read.precision)) + ".\n";
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
  return json;
}

}  // namespace lockstep::sim
