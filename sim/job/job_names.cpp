#include "sim/job/job_names.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/catalogue/network_grammar.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job/hub_name.hpp"
#include "sim/job/network_port.hpp"
#include "sim/job/shape_model.hpp"
#include "sim/job/software_name.hpp"

namespace lockstep::sim::job {
namespace {

const std::string kFused = "_fused";
constexpr std::size_t kNearest = 3;
constexpr const char* kOtherSoftware = "other";
constexpr int kUsualNode = 8;  // GPUs per node, for networks "per GPU"

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

template <class Of>
const Of* resolve(NamedFact& named, const Entries<Of>& entries) {
  if (named.stated.empty()) return nullptr;
  const Of* entry = entries.named(named.stated);
  named.id = entry == nullptr ? "" : entry->id;
  if (entry == nullptr) named.why_not = "; " + entries.nearest_text(named.stated);
  return entry;
}

const ModelEntry* transformer_named(const std::string& name, const Catalogue& catalogue) {
  const ModelEntry* entry = catalogue.models.named(name);
  return entry != nullptr && entry->tokens > 0 ? entry : nullptr;
}

// Finds the entry of a transformer's name with "_fused" at its end, which selects fused attention.
const ModelEntry* fused_model(const Catalogue& catalogue, const std::string& text) {
  if (text.size() <= kFused.size() || text.compare(text.size() - kFused.size(), kFused.size(), kFused) != 0)
    return nullptr;
  return transformer_named(text.substr(0, text.size() - kFused.size()), catalogue);
}

// Reads "llama3_8b@4096" as a length of 4096 tokens. If the job gives a length as well, the name is not cut.
void cut_sequence(Job& job, const Catalogue& catalogue) {
  constexpr std::size_t kMostDigits = 9;
  const std::string& text = job.model.stated;
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) return;
  const std::string digits = text.substr(at + 1);
  const bool is_number = !digits.empty() && digits.size() <= kMostDigits && digits.front() != '0' &&
                         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (transformer_named(text.substr(0, at), catalogue) == nullptr || !is_number || job.shape.sequence > 0) return;
  job.shape.sequence = std::stoi(digits);
  job.model.stated = text.substr(0, at);
}

// Reads "llama3_70b (12 layers)" as that model with only its first 12 layers.
void cut_layers(Job& job, const Catalogue& catalogue) {
  constexpr std::size_t kMostDigits = 4;
  const std::string& text = job.model.stated;
  const std::size_t open = text.rfind(" (");
  if (open == std::string::npos || transformer_named(text.substr(0, open), catalogue) == nullptr) return;
  const std::size_t begin = open + 2, end = text.find_first_not_of("0123456789", begin);
  if (end == begin || end == std::string::npos || end - begin > kMostDigits || text.substr(end) != " layers)") return;
  const int layers = std::stoi(text.substr(begin, end - begin));
  if (layers < 1 || (job.shape.layers > 0 && job.shape.layers != layers)) return;
  job.shape.layers = layers;
  job.model.stated = text.substr(0, open);
}

// Reads the task from names such as "Llama-2-70B LoRA" or MLPerf's "llama2_70b_lora".
void cut_task(Job& job, const Catalogue& catalogue) {
  std::string small = lower_case(job.model.stated);
  for (char& c : small)
    if (c == '_' || c == '-') c = ' ';
  for (const auto& [behind, task] : {std::pair<std::string, const char*>{" lora", kAdapters}, {" sft", kAllWeights}}) {
    const bool ends = small.size() > behind.size() && small.rfind(behind) == small.size() - behind.size();
    const std::string name = ends ? job.model.stated.substr(0, small.size() - behind.size()) : "";
    if (transformer_named(name, catalogue) == nullptr || (!job.split.task.empty() && job.split.task != task)) continue;
    job.model.stated = name;
    job.split.task = task;
  }
}

// Masked words are trained on samples of many lengths. Software without padding computes only the real tokens, on
// average half of the longest length. This average is used if the job gives the longest length, or no length.
void set_unpadded_length(Job& job, const ModelEntry* entry, const Catalogue& catalogue) {
  const StackEntry* stack = catalogue.stacks.with_id(job.software.id);
  if (entry == nullptr || entry->tokens == 0 || stack == nullptr || !stack->unpadded) return;
  const std::string fused = model::fused_attention_name(entry->id);
  const model::Graph& graph = model::zoo_graph(fused);
  using model::Objective;
  const Objective objective = graph.transformer ? graph.transformer->spec.objective : Objective::next_token;
  if (objective != Objective::masked_token && objective != Objective::masked_and_next_sentence) return;
  const int longest = graph.transformer->spec.context, stated = job.shape.sequence;
  if (longest < 2 || (stated != 0 && stated != longest)) return;
  job.shape.sequence = longest / 2;
  job.assumed["tokens of a sequence"] = stack->name + " does not pad samples of at most " + std::to_string(longest) +
                                        ", which are half as long at a mean";
}

// Uses a GPT of the given numbers if it has about the given parameters. Otherwise the model is no GPT.
void set_shape_model(Job& job, const Catalogue& catalogue) {
  constexpr double kMostOff = 1.3;
  const std::shared_ptr<const OwnModel> gpt = model_of_shape(job.shape, job.model.stated, *catalogue.own_models);
  if (!gpt) return;
  const double stated = job.shape.parameters, has = static_cast<double>(gpt->graph.parameter_count());
  if (stated > 0 && std::max(has / stated, stated / has) > kMostOff) {
    job.model.why_not += "; a GPT of the stated layers, hidden and heads has " + short_number(has) +
                         " parameters, not " + short_number(stated);
    return;
  }
  job.own_model = gpt;
  job.model.id = gpt->entry.id;
  job.assumed["model"] = "a GPT of the stated layers, hidden and heads; no network of that name is known";
}

// The model's name and the length of its sequences together determine the entry.
void resolve_model(Job& job, const Catalogue& catalogue) {
  if (job.own_model) {
    job.model.id = job.own_model->entry.id;
    return;
  }
  read_hub_name(job, catalogue);
  cut_task(job, catalogue);
  cut_layers(job, catalogue);
  cut_sequence(job, catalogue);
  if (const ModelEntry* fused = fused_model(catalogue, job.model.stated)) {
    job.model.id = fused->id;
    job.fused_attention = true;
    return;
  }
  const ModelEntry* entry = resolve(job.model, catalogue.models);
  set_unpadded_length(job, entry, catalogue);
  const int tokens = job.shape.sequence;
  if (entry == nullptr && complete_shape(job.shape, job.split.has("tensor") ? job.split.values.tensor : 0))
    job.record_default("layers", "by the parameters and the hidden features, as are heads that are not stated");
  if (entry == nullptr && says_shape(job.shape)) {
    if (job.shape.sequence == 0) job.record_default("tokens of a sequence", "usual");
    if (job.shape.vocabulary == 0) job.record_default("words", "usual");
    set_shape_model(job, catalogue);
  }
  if (entry == nullptr || entry->tokens == 0) return;
  if (job.shape.layers > 0) job.own_model = of_layers(*entry, job.shape.layers, tokens, *catalogue.own_models);
  if (job.own_model) {
    job.model.id = job.own_model->entry.id;
    return;
  }
  if (tokens == 0 || entry->tokens == tokens) return;
  const ModelEntry* longer = catalogue.models.named(job.model.stated + " " + std::to_string(tokens));
  const bool is_listed = longer != nullptr && longer->tokens == tokens;
  if (!is_listed) job.own_model = find_with_sequence(*entry, tokens, *catalogue.own_models);
  job.model.id = job.own_model ? job.own_model->entry.id : is_listed ? longer->id : "";
}

void resolve_gpu(Job& job, const Catalogue& catalogue) {
  const GpuRead read = read_gpu_name(catalogue.gpus, job.gpu.stated);
  if (read.entry == nullptr) {
    resolve(job.gpu, catalogue.gpus);
    if (const std::string why = why_no_gpu(job.gpu.stated); !why.empty()) job.gpu.why_not = ": " + why;
    return;
  }
  job.gpu.id = read.entry->id;
  if (!read.entry->file.empty()) job.assumed["gpu"] = "as " + read.entry->file + " describes it";
  if (!read.part.empty()) job.assumed["gpu"] = in_quotes(read.part) + " of " + in_quotes(job.gpu.stated);
}

void set_exchange(Job& job) {
  const JobAlgorithm* named = job_algorithm_named(job.exchange);
  if (named == nullptr) return;
  const auto is_open = [&](const char* key) { return job.given.count(key) == 0; };
  job.algorithm = named->algorithm;
  if (is_open("transport")) job.transport = named->transport;
  if (is_open("all_reduce")) job.all_reduce = named->all_reduce;
  if (is_open("scheme")) job.scheme = named->scheme;
  if (is_open("overlap") && !named->overlaps) job.overlap = false;
  // Poseidon and BytePS divide parameters into pairs; TensorFlow's servers hold whole tensors.
  if (named->scheme && is_open("whole_tensors"))
    job.places_tensors = job.software.id == "tensorflow" && job.transport == Transport::servers_on_host;
}

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& wrong,
                         const std::string& allowed) {
  throw InputError(option + " " + in_quotes(text) + ": " + wrong + "; allowed: " + allowed);
}

[[noreturn]] void refuse_name(const std::string& option, const std::string& text, const char* what,
                              const std::vector<std::string>& nearest, const std::string& otherwise = "") {
  const std::string known =
      nearest.empty() ? "the names of --list" : "the names of --list, the nearest " + joined(nearest);
  refuse(option, text, std::string("no ") + what + " of that name is known", known + otherwise);
}

template <class Of>
void check_name(const NamedFact& named, const Entries<Of>& entries, const char* option, const char* what,
                const std::string& otherwise = "") {
  if (!named.is_known())
    refuse_name(option, named.stated, what, entries.nearest_ids(named.stated, kNearest), otherwise);
}

void check_network(const NetworkStated& network, int gpus_per_node, const Catalogue& catalogue) {
  if (network.stated.empty() || !network.id.empty()) return;
  std::string ports = network.stated;
  if (cut_nvl(ports) > 0 && ports.empty()) return;
  const NetworkReading reading = read_network(catalogue.networks, ports, gpus_per_node);
  refuse("--network", network.stated, reading.wrong,
         std::string(kNetworkGrammar) + " (--list explains it), the nearest " + in_quotes(reading.nearest));
}

// For backup and asynchronous workers, suggests one node more than their GPUs fill, for the server.
void check_algorithm(const Job& job) {
  const std::string& name = job.exchange;
  if (name.empty()) return;
  const JobAlgorithm* named = job_algorithm_named(name);
  if (named == nullptr) refuse_name("--algorithm", name, "algorithm", nearest_algorithms(name));
  if (named->needs_no_numbers) return;
  if (!named->algorithm)
    refuse("--algorithm", name, "simulate job cannot simulate this algorithm",
           "a scenario file with it, or an algorithm that --list prints");
  const int nodes = (job.gpus + std::max(1, job.gpus_per_node) - 1) / std::max(1, job.gpus_per_node);
  refuse("--algorithm", name, "simulate job has no options for the parameters of this algorithm",
         std::string("a scenario to start from, by simulate --scenario-template ") + named->id +
             ", or the same command with --scenario job.json instead of --algorithm, then: simulate job.json --set "
             "/algorithm=" +
             named->id +
             (named->algorithm == Algorithm::local_sgd ? "" : " --set /cluster/nodes=" + std::to_string(nodes + 1)));
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

const JobAlgorithm* job_algorithm_named(const std::string& name) {
  const std::optional<std::size_t> found = index_of_algorithms().find(name);
  return found ? &job_algorithms()[*found] : nullptr;
}

std::vector<std::string> nearest_algorithms(const std::string& name) {
  std::vector<std::string> ids;
  for (std::size_t place : index_of_algorithms().nearest(name, kNearest)) ids.push_back(job_algorithms()[place].id);
  return ids;
}

namespace {

// Boards of four GPUs have no switch. A job on four GPUs may use part of a larger node.
void assume_direct_link(Job& job, const GpuEntry* gpu, const Catalogue& catalogue) {
  if (gpu == nullptr || job.gpus_per_node != kGpusWithoutSwitch || job.gpus <= kGpusWithoutSwitch) return;
  const IntraNodeEntry* board = catalogue.board_of(gpu->intra_node);
  if (board == nullptr) return;
  job.link.id = board->id;
  job.record_default("link", "nodes of four GPUs have no switch");
}

}  // namespace

// "NVLink" or "Infinity Fabric" without a generation means the GPU's generation. Between PCIe boards, NVLink is a
// bridge.
void resolve_link(Job& job, const Catalogue& catalogue) {
  const std::string plain = plain_name(job.link.stated);
  const GpuEntry* gpu = catalogue.gpus.with_id(job.gpu.id);
  if (plain.empty()) return assume_direct_link(job, gpu, catalogue);
  const bool is_nvlink = plain == "nvlink" || plain == "nvswitch",
             is_fabric = plain == "infinityfabric" || plain == "xgmi";
  if (gpu == nullptr || !(is_nvlink || is_fabric)) {
    resolve(job.link, catalogue.intra_nodes);
    return;
  }
  const bool is_of_vendor = is_fabric == (gpu->vendor == Vendor::amd);
  const bool is_usual = is_of_vendor && catalogue.intra_node_by_id(gpu->intra_node).is_nvlink;
  if (is_fabric && !is_usual) {
    job.link.why_not = "; " + gpu->name + " has no Infinity Fabric";
    return;
  }
  job.assumed["link"] = is_usual ? "generation not stated" : "NVLink between PCIe boards: a bridge";
  job.link.id = is_usual ? gpu->intra_node : "nvlink-bridge";
}

namespace {

// True for names that mean no network or an unknown one; ignores a remark in brackets after them.
bool is_no_network(const std::string& text) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all{""};
    for (const char* name : {"none", "n/a", "unknown", "unspecified", "not specified", "not known", "single node",
                             "single server", "single machine", "one node", "one server", "one machine", "intra-node"})
      all.insert(plain_name(name));
    return all;
  }();
  return names.count(plain_name(text.substr(0, text.find(" (")))) > 0;
}

}  // namespace

void resolve_network(Job& job, const Catalogue& catalogue) {
  NetworkStated& network = job.network;
  if (!network.id.empty()) {
    if (catalogue.networks.with_id(network.id) == nullptr)
      network.why_not = "network " + in_quotes(network.id) + " is not in the catalogue; " +
                        catalogue.networks.nearest_text(network.id);
    return;
  }
  if (is_no_network(network.stated)) {
    network.is_none = job.why_assumed("network").empty();
    return;
  }
  const std::string text = network.stated;
  std::string ports = text;
  if (cut_nvl(ports) > 0 && ports.empty()) {
    network.is_none = true;
    return;
  }
  const NetworkReading reading =
      read_network(catalogue.networks, ports, job.gpus_per_node > 0 ? job.gpus_per_node : kUsualNode);
  if (!reading.found) {
    network.is_stated = true;
    network.why_not = "network " + in_quotes(text) + ": " + reading.wrong + "; nearest: " + reading.nearest;
    return;
  }
  network = network_stated(*reading.found);
  network.stated = text;
  network.is_count_stated = true;  // the grammar assumes one port if there is no count
  if (reading.found->is_kind_assumed)
    job.record_default("network kind", "a rate alone is InfiniBand from 56 Gb/s on, else TCP");
  if (!reading.found->ports_stated) job.record_default("network ports", "");
}

JoinedNode joined_node_of(const Job& job, const std::vector<int>& gpus_of_jobs, const Catalogue& catalogue) {
  const GpuRead read = read_gpu_name(catalogue.gpus, job.gpu.stated);
  std::string network = job.network.stated;
  int domain = std::max(read.nvl, cut_nvl(network));
  if (domain == 0 && read.entry != nullptr && job.link.stated.empty()) domain = read.entry->nvlink_domain;
  if (job.gpus_per_node > 0) return joined_node(job.gpus_per_node, domain, gpus_of_jobs);
  const int tray = read.entry != nullptr ? read.entry->gpus_per_tray : 0;
  if (tray == 0) return {};
  return {joined_node(tray, domain > 0 ? domain : read.entry->nvlink_domain, gpus_of_jobs).gpus, 1};
}

void join_nodes(Job& job, const std::vector<int>& gpus_of_jobs, const Catalogue& catalogue) {
  const JoinedNode node = joined_node_of(job, gpus_of_jobs, catalogue);
  if (node.trays <= 1) return;
  job.assumed["gpus_per_node"] =
      "NVLink joins nodes of " + std::to_string(job.gpus_per_node) + " GPUs, as far as a rack goes";
  job.gpus_per_node = node.gpus;
  job.trays = node.trays;
  job.network.count *= node.trays;
}

void resolve_software(Job& job, const Catalogue& catalogue) {
  const std::string stated = job.software.stated;
  const SoftwareName named = software_named(stated, catalogue);
  if (named.entry == nullptr) {
    resolve(job.software, catalogue.stacks);
    return;
  }
  job.software.id = named.entry->id;
  if (named.lost_version)
    job.assumed["software"] = in_quotes(stated) + " is taken for " + named.entry->name + ", whatever its version";
}

void set_software(Job& job, const std::string& name, const Catalogue& catalogue) {
  job.software = {};
  job.software.stated = name;
  resolve_software(job, catalogue);
}

void resolve_names(Job& job, const Catalogue& catalogue) {
  resolve_software(job, catalogue);
  resolve_model(job, catalogue);
  resolve_gpu(job, catalogue);
  resolve_link(job, catalogue);
  resolve_network(job, catalogue);
  set_exchange(job);
}

namespace {
// Refuses sequences with more tokens than the model has positions, or with layers that are too large to predict.
void check_sequence(const Job& job, const Catalogue& catalogue) {
  const ModelEntry* entry = transformer_named(job.model.stated, catalogue);
  if (entry == nullptr || job.model.is_known() || job.shape.sequence == 0) return;
  const auto& transformer = model::zoo_graph(model::fused_attention_name(entry->id)).transformer;
  const std::string tokens = std::to_string(job.shape.sequence);
  try {  // throws the same error about positions, or that a layer is too large
    (void)model::zoo_graph(model::fused_attention_name(entry->id + "@" + tokens));
  } catch (const InputError& error) {
    const bool has_positions = !transformer || transformer->spec.positions == model::PositionKind::learned;
    if (!has_positions) refuse("--seq-length", tokens, error.what(), "shorter sequences");
  }
  const std::string most = std::to_string(transformer ? transformer->spec.context : entry->tokens);
  refuse("--model", job.model.stated + "@" + tokens,
         "a sequence of " + tokens + " tokens exceeds its " + most + " positions", "at most " + most + " tokens");
}

}  // namespace

void check_names(const Job& job, const Catalogue& catalogue, bool needs_model) {
  if (needs_model && !job.own_model) check_sequence(job, catalogue);
  if (needs_model && !job.own_model) check_name(job.model, catalogue.models, "--model", "model");
  if (const std::string why = why_no_gpu(job.gpu.stated); !job.gpu.is_known() && !why.empty())
    refuse("--gpu", job.gpu.stated, why, "the GPUs of --list");
  check_name(job.gpu, catalogue.gpus, "--gpu", "GPU");
  check_name(job.software, catalogue.stacks, "--software", "software",
             ", or " + std::string(kOtherSoftware) + " for software that is not among them");
  if (!job.link.stated.empty()) check_name(job.link, catalogue.intra_nodes, "--link", "link in a node");
  check_network(job.network, job.gpus_per_node, catalogue);
  check_algorithm(job);
}

std::string names_text(const Catalogue& catalogue) {
  std::vector<std::string> networks, algorithms;
  for (const NetworkEntry& entry : catalogue.networks)
    if (!entry.needs_rate) networks.push_back(entry.id);
  for (const JobAlgorithm& algorithm : job_algorithms())
    if (algorithm.needs_no_numbers) algorithms.push_back(algorithm.id);
  return line_of("models", ids_of(catalogue.models)) + line_of("GPUs", ids_of(catalogue.gpus)) +
         line_of("links in a node", ids_of(catalogue.intra_nodes)) + line_of("networks", networks) +
         line_of("software", ids_of(catalogue.stacks)) + line_of("algorithms", algorithms) +
         line_of("laws of the loss", ids_of(catalogue.loss_laws)) +
         "The whole name must match; case, blanks and - _ / . do not matter. More names: scenarios/catalogue.\n" +
         network_grammar_text(catalogue.networks);
}

}  // namespace lockstep::sim::job
