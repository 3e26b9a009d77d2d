#include "sim/records/job_names.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/catalogue/network_grammar.hpp"

namespace lockstep::sim {
namespace {

const std::string kFused = "_fused";
constexpr std::size_t kNearest = 3;

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& wrong,
                         const std::string& allowed) {
  throw InputError(option + " " + in_quotes(text) + ": " + wrong + "; allowed: " + allowed);
}

[[noreturn]] void refuse_name(const std::string& option, const std::string& text, const char* what,
                              const std::vector<std::string>& nearest) {
  refuse(option, text, std::string("no ") + what + " of that name is known",
         "the names of --list, the nearest " + joined(nearest));
}

template <typename Of>
const Of* named(const Entries<Of>& entries, const std::string& option, const std::string& text, const char* what) {
  const Of* entry = entries.named(text);
  if (entry == nullptr) refuse_name(option, text, what, entries.nearest_ids(text, kNearest));
  return entry;
}

// A transformer with "_fused" behind its name has attention whose scores stay on the chip.
const ModelEntry* fused_model(const Catalogue& catalogue, const std::string& text) {
  if (text.size() <= kFused.size() || text.compare(text.size() - kFused.size(), kFused.size(), kFused) != 0)
    return nullptr;
  const ModelEntry* entry = catalogue.models.named(text.substr(0, text.size() - kFused.size()));
  return entry != nullptr && entry->tokens > 0 ? entry : nullptr;
}

bool is_any_nvlink(const std::string& text) {
  const std::string plain = plain_name(text);
  return plain == "nvlink" || plain == "nvswitch";
}

// NVLink without its generation is that of the GPU, which is then assumed and said (cluster_map.cpp).
const IntraNodeEntry* link_of(const Job& job, const Catalogue& catalogue) {
  if (job.intra_node_link.empty() || is_any_nvlink(job.intra_node_link)) return nullptr;
  return named(catalogue.intra_nodes, "--link", job.intra_node_link, "link in a node");
}

std::optional<NetworkFound> network_of(const Job& job, const Catalogue& catalogue) {
  if (job.network.empty()) return std::nullopt;
  const NetworkReading reading = read_network(catalogue.networks, job.network, job.gpus_of_node());
  if (!reading.found)
    refuse("--network", job.network, reading.wrong,
           std::string(kNetworkGrammar) + " (--list explains it), the nearest " + in_quotes(reading.nearest));
  return reading.found;
}

const NameIndex& index_of_algorithms() {
  static const NameIndex index = [] {
    NameIndex names;
    const std::vector<JobAlgorithm>& all = job_algorithms();
    for (std::size_t i = 0; i < all.size(); ++i) {
      names.add(all[i].id, i);
      names.add(all[i].title, i);
      for (const std::string& alias : all[i].aliases) names.add(alias, i);
    }
    return names;
  }();
  return index;
}

const JobAlgorithm* algorithm_of(const Job& job) {
  if (job.algorithm.empty()) return nullptr;
  const std::vector<JobAlgorithm>& all = job_algorithms();
  const std::optional<std::size_t> found = index_of_algorithms().find(job.algorithm);
  if (!found) {
    std::vector<std::string> nearest;
    for (std::size_t place : index_of_algorithms().nearest(job.algorithm, kNearest)) nearest.push_back(all[place].id);
    refuse_name("--algorithm", job.algorithm, "algorithm", nearest);
  }
  if (all[*found].in_texts.empty())
    refuse("--algorithm", job.algorithm, "a job in words cannot have it", "a scenario with it, or another of --list");
  return &all[*found];
}

template <class Ids>
std::string line_of(const char* what, Ids ids) {
  std::sort(ids.begin(), ids.end());
  return std::string(what) + ": " + joined(ids) + "\n";
}

template <class Listed>
std::vector<std::string> ids_of(const Listed& entries) {
  std::vector<std::string> ids;
  for (const auto& entry : entries) ids.push_back(entry.id);
  return ids;
}

}  // namespace

NamesRead read_names(const Job& job, const Catalogue& catalogue) {
  NamesRead read;
  const ModelEntry* const fused = fused_model(catalogue, job.model);
  read.has_fused_attention = fused != nullptr;
  read.model = fused != nullptr ? fused : named(catalogue.models, "--model", job.model, "model");
  read.gpu = named(catalogue.gpus, "--gpu", job.gpu, "GPU");
  read.stack = named(catalogue.stacks, "--software", job.software, "software");
  read.intra_node = link_of(job, catalogue);
  read.network = network_of(job, catalogue);
  if (const JobAlgorithm* algorithm = algorithm_of(job)) {
    read.algorithm = algorithm->in_texts;
    read.algorithm_title = algorithm->title;
    read.all_reduce = algorithm->all_reduce;
  }
  return read;
}

std::string names_text(const Catalogue& catalogue) {
  std::vector<std::string> networks, algorithms;
  for (const NetworkEntry& entry : catalogue.networks)
    if (!entry.needs_rate) networks.push_back(entry.id);
  for (const JobAlgorithm& algorithm : job_algorithms())
    if (!algorithm.in_texts.empty()) algorithms.push_back(algorithm.id);
  return line_of("models", ids_of(catalogue.models)) + line_of("GPUs", ids_of(catalogue.gpus)) +
         line_of("links in a node", ids_of(catalogue.intra_nodes)) + line_of("networks", networks) +
         line_of("software", ids_of(catalogue.stacks)) + line_of("algorithms", algorithms) +
         "Names are matched whole, case, blanks and - _ / . aside; scenarios/catalogue has the other names of each.\n" +
         network_grammar_text(catalogue.networks);
}

}  // namespace lockstep::sim
