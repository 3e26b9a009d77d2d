#include "sim/api/names.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job_prediction/algorithm_template.hpp"

namespace lockstep::sim::api {
namespace {

Json entry_json(const Entry& entry) {
  return {{"id", entry.id}, {"name", entry.name.empty() ? entry.id : entry.name}, {"aliases", entry.aliases}};
}

template <class Of>
Json list_json(const Entries<Of>& entries) {
  Json list = Json::array();
  for (const Of& entry : entries) list.push_back(entry_json(entry));
  return list;
}

Json gpus_json(const Catalogue& catalogue) {
  Json list = Json::array();
  for (const GpuEntry& gpu : catalogue.gpus) {
    Json one = entry_json(gpu);
    one["memory_bytes"] = gpu.spec.memory_bytes;
    one["gpus_per_node"] = gpu.gpus_per_node;
    one["link"] = gpu.intra_node;
    one["network"] = gpu.network;
    list.push_back(std::move(one));
  }
  return list;
}

Json algorithms_json() {
  Json list = Json::array();
  for (const JobAlgorithm& algorithm : job_algorithms())
    if (algorithm.needs_no_numbers)
      list.push_back({{"id", algorithm.id}, {"name", algorithm.id}, {"aliases", Json::array()}});
  return list;
}

template <class Of>
std::vector<std::string> ids_of(const Entries<Of>& entries) {
  std::vector<std::string> ids;
  for (const Of& entry : entries) ids.push_back(entry.id);
  return ids;
}

}  // namespace

CompletionNames completion_names() {
  const Catalogue catalogue = load_catalogue(default_catalogue_folder());
  std::vector<std::string> algorithms;
  for (const JobAlgorithm& algorithm : job_algorithms())
    if (algorithm.needs_no_numbers) algorithms.push_back(algorithm.id);
  return {{"--model", ids_of(catalogue.models)},          {"--show-model", model::zoo_names()},
          {"--scenario-template", template_algorithms()}, {"--gpu", ids_of(catalogue.gpus)},
          {"--link", ids_of(catalogue.intra_nodes)},      {"--network", ids_of(catalogue.networks)},
          {"--software", ids_of(catalogue.stacks)},       {"--algorithm", algorithms},
          {"--loss-law", ids_of(catalogue.loss_laws)}};
}

Json names_json(const Catalogue& catalogue) {
  return {{"models", list_json(catalogue.models)},     {"gpus", gpus_json(catalogue)},
          {"links", list_json(catalogue.intra_nodes)}, {"networks", list_json(catalogue.networks)},
          {"software", list_json(catalogue.stacks)},   {"algorithms", algorithms_json()}};
}

}  // namespace lockstep::sim::api
