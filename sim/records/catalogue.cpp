#include "sim/records/catalogue.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/records/names.hpp"

namespace lockstep::sim {
namespace {

constexpr Range kAnyBandwidth{0, 1e15};
constexpr Range kAnyLatency{0, 10};

std::vector<std::string> texts_of(const JsonNode& array) {
  std::vector<std::string> texts;
  for (const JsonNode& node : array.items()) texts.push_back(node.json().get<std::string>());
  return texts;
}

// What reading `entry` has noted, as the facts of that entry.
std::vector<Assumption> facts_below(const JsonDocument& document, const JsonNode& entry) {
  std::vector<Assumption> facts;
  for (const Assumption& fact : document.assumptions())
    if (fact.pointer.rfind(entry.pointer() + "/", 0) == 0) facts.push_back(fact);
  return facts;
}

LinkSpec read_link(const JsonNode& node) {
  node.keys({"bandwidth", "latency"});
  return {node.at("bandwidth").sourced_quantity(Dimension::bandwidth, {1, 1e15}),
          node.at("latency").sourced_quantity(Dimension::time, kAnyLatency)};
}

GpuEntry read_gpu(const JsonNode& node) {
  node.keys({"id", "name", "generation", "aliases", "intra_node", "network", "memory", "memory_bandwidth", "peak"});
  GpuEntry gpu;
  gpu.id = node.at("id").text();
  gpu.name = node.at("name").text();
  gpu.generation = node.at("generation").text();
  gpu.intra_node = node.at("intra_node").text();
  gpu.network = node.at("network").text();
  gpu.aliases = texts_of(node.at("aliases"));
  gpu.spec.name = gpu.name;
  gpu.spec.memory_bytes = node.at("memory").sourced_quantity(Dimension::size, {1, 1e15});
  gpu.spec.memory_bandwidth_bytes_per_s = node.at("memory_bandwidth").sourced_quantity(Dimension::bandwidth, {1, 1e15});
  const JsonNode peak = node.at("peak");
  peak.keys({"fp32", "tf32", "fp16", "bf16"});
  const auto flops = [&](const char* key) {
    const std::optional<JsonNode> found = peak.find(key);
    return found ? found->sourced_quantity(Dimension::compute, {1e9, 1e18}) : 0.0;
  };
  gpu.spec.fp32_flops = flops("fp32");
  gpu.spec.tf32_flops = flops("tf32");
  gpu.spec.fp16_flops = flops("fp16");
  gpu.spec.bf16_flops = flops("bf16");
  return gpu;
}

IntraNodeEntry read_intra_node(const JsonNode& node) {
  IntraNodeEntry entry;
  entry.id = node.at("id").text();
  entry.is_nvlink = node.at("kind").choice({"pcie-tree", "nvlink"}) == "nvlink";
  entry.aliases = texts_of(node.at("aliases"));
  entry.host_memory_bytes_per_s = node.at("host_memory_bandwidth").sourced_quantity(Dimension::bandwidth, {1, 1e15});
  if (entry.is_nvlink) {
    node.keys({"id", "kind", "aliases", "description", "bus_bandwidth", "latency", "nvls_bandwidth",
               "host_memory_bandwidth"});
    entry.bus = {node.at("bus_bandwidth").sourced_quantity(Dimension::bandwidth, {1, 1e15}),
                 node.at("latency").sourced_quantity(Dimension::time, kAnyLatency)};
    if (const auto nvls = node.find("nvls_bandwidth"))
      entry.nvls_bytes_per_s = nvls->sourced_quantity(Dimension::bandwidth, kAnyBandwidth);
    return entry;
  }
  node.keys({"id", "kind", "aliases", "description", "gpus_per_switch", "switches_per_socket", "gpu_link",
             "switch_uplink", "socket_link", "peer_across_sockets", "host_memory_bandwidth"});
  entry.gpus_per_switch = static_cast<int>(node.at("gpus_per_switch").integer(1, 64));
  entry.switches_per_socket = static_cast<int>(node.at("switches_per_socket").integer(1, 64));
  entry.gpu_link = read_link(node.at("gpu_link"));
  entry.switch_uplink = read_link(node.at("switch_uplink"));
  entry.socket_link = read_link(node.at("socket_link"));
  entry.peer_across_sockets = node.at("peer_across_sockets").boolean();
  return entry;
}

NetworkEntry read_network(const JsonNode& node) {
  node.keys({"id", "aliases", "bandwidth", "latency", "rdma"});
  NetworkEntry entry;
  entry.id = node.at("id").text();
  entry.aliases = texts_of(node.at("aliases"));
  entry.port_bytes_per_s = node.at("bandwidth").sourced_quantity(Dimension::bandwidth, kAnyBandwidth);
  entry.latency_s = node.at("latency").sourced_quantity(Dimension::time, kAnyLatency);
  entry.rdma = node.at("rdma").boolean();
  return entry;
}

StackEntry read_stack(const JsonNode& node) {
  node.keys(
      {"id", "keywords", "fusion_threshold", "all_reduce", "wire_mixed", "optimizer", "overlap", "fast_convolutions"});
  StackEntry entry;
  entry.id = node.at("id").text();
  entry.keywords = texts_of(node.at("keywords"));
  entry.fusion_bytes = node.at("fusion_threshold").sourced_quantity(Dimension::size, {0, 1e12});
  entry.all_reduce = node.at("all_reduce").choice({"auto", "ring", "hybrid", "node-hierarchical"});
  entry.wire_mixed = node.at("wire_mixed").choice({"fp32", "fp16"});
  entry.optimizer = read_choice<Optimizer>(node.at("optimizer"));
  entry.overlap = node.at("overlap").boolean();
  if (const auto fast = node.find("fast_convolutions")) entry.fast_convolutions = fast->boolean();
  return entry;
}

ModelEntry read_model(const JsonNode& node) {
  node.keys({"id", "aliases", "train_samples", "tokens"});
  const std::optional<JsonNode> samples = node.find("train_samples"), tokens = node.find("tokens");
  return {node.at("id").text(), texts_of(node.at("aliases")), samples ? samples->number({1, 1e12}) : 0,
          tokens ? static_cast<int>(tokens->integer(1, 1 << 20)) : 0};
}

JsonDocument open(const std::string& folder, const std::string& file, const std::string& key) {
  JsonDocument document = JsonDocument::load(folder + "/" + file);
  document.root().keys({"schema", "description", key});
  document.root().at("schema").choice({"lockstep/catalogue/1"});
  return document;
}

template <typename Entry>
std::vector<Entry> read_entries(const std::string& folder, const std::string& file, const std::string& key,
                                Entry (*read)(const JsonNode&)) {
  const JsonDocument document = open(folder, file, key);
  std::vector<Entry> entries;
  for (const JsonNode& node : document.root().at(key).items()) {
    entries.push_back(read(node));
    if constexpr (!std::is_same_v<Entry, ModelEntry>) entries.back().facts = facts_below(document, node);
  }
  return entries;
}

std::map<std::string, Constant> read_constants(const std::string& folder) {
  std::map<std::string, Constant> constants;
  if (!std::filesystem::exists(folder + "/fitted.json")) return constants;
  const JsonDocument document = open(folder, "fitted.json", "constants");
  for (const JsonNode& node : document.root().at("constants").items()) {
    node.keys({"name", "value", "records"});
    constants[node.at("name").text()] = {node.at("value").number({0, 1e9}), texts_of(node.at("records"))};
  }
  return constants;
}

// The entry with the best match; the first of equals.
template <typename Entry>
const Entry* best_of(const std::vector<Entry>& entries, const std::string& name) {
  const Entry* best = nullptr;
  double most = 0;
  for (const Entry& entry : entries) {
    const double match = alias_match(name, entry.aliases);
    if (match <= most) continue;
    most = match;
    best = &entry;
  }
  return best;
}

// "DenseNet-201" is no DenseNet-121, "GPT-3 175B" none of the smaller ones: the number behind the family's name, or the
// billions of parameters, must be among the entry's.
bool is_of_another_size(const std::string& name, const ModelEntry& entry) {
  static const std::regex depth(
      R"((?:resnet|resnext|densenet|vgg|gpt|vit|mobilenet|efficientnet|squeezenet)[ _-]?([0-9]{1,3})(?![0-9]))"),
      version(R"((?:mobilenet|shufflenet)[ _-]?v([0-9]))"), billions(R"(([0-9]+(?:\.[0-9]+)?) ?b(?![a-z0-9]))");
  const std::string small = lower(name);
  for (const std::regex* pattern : {&depth, &version, &billions}) {
    std::smatch found;
    if (!std::regex_search(small, found, *pattern)) continue;
    const std::string wanted = found[1].str();
    const bool is_known = std::any_of(entry.aliases.begin(), entry.aliases.end(), [&](const std::string& alias) {
      if (pattern != &billions) return squeezed(alias).find(wanted) != std::string::npos;
      std::smatch own;
      return std::regex_search(alias, own, billions) && own[1].str() == wanted;
    });
    if (!is_known) return true;
  }
  return false;
}

}  // namespace

const GpuEntry* Catalogue::gpu(const std::string& name) const {
  return best_of(gpus, name);
}

const IntraNodeEntry* Catalogue::intra_node(const std::string& name) const {
  return best_of(intra_nodes, name);
}

const IntraNodeEntry& Catalogue::intra_node_by_id(const std::string& id) const {
  for (const IntraNodeEntry& entry : intra_nodes)
    if (entry.id == id) return entry;
  throw InputError("catalogue: no intra-node link " + in_quotes(id));
}

const NetworkEntry* Catalogue::network(const std::string& name) const {
  return best_of(networks, name);
}

const ModelEntry* Catalogue::model(const std::string& name) const {
  // Networks with one of the catalogue's as their backbone are others: "SSD300 (ResNet-34)", "SE-ResNet-50".
  static const std::set<std::string> others{"wide",    "cnn", "mask", "se",         "small", "tiny",   "distil",
                                            "roberta", "3d",  "xl",   "industrial", "swin",  "vision", "universal"};
  static const std::vector<std::string> beginnings{"ssd",        "rcnn", "retinanet", "deeplab", "unet",
                                                   "yolo",       "wrn",  "seresne",   "faster",  "fpn",
                                                   "distilbert", "nnu",  "unet3",     "unetr",   "vnet"};
  const ModelEntry* found = best_of(models, name);
  if (found == nullptr) return nullptr;
  std::string own;
  for (const std::string& alias : found->aliases) own += " " + lower(alias) + " ";
  for (const std::string& word : words_of(name)) {
    const bool is_beginning = std::any_of(beginnings.begin(), beginnings.end(),
                                          [&](const std::string& beginning) { return word.rfind(beginning, 0) == 0; });
    const bool is_kin = word.size() > 4 && word.compare(word.size() - 4, 4, "bert") == 0;  // ALBERT, SciBERT
    if ((is_beginning || is_kin || others.count(word) > 0) && own.find(word) == std::string::npos) return nullptr;
  }
  if (is_of_another_size(name, *found)) return nullptr;
  const bool small_images = mentions(name, "cifar") || mentions(name, "mnist");
  return small_images && found->train_samples > 1e5 ? nullptr : found;
}

const StackEntry& Catalogue::stack(const std::string& texts) const {
  for (const StackEntry& entry : stacks)
    for (const std::string& keyword : entry.keywords)
      if (mentions(texts, keyword)) return entry;
  return stacks.back();
}

Catalogue load_catalogue(const std::string& folder) {
  Catalogue catalogue;
  catalogue.gpus = read_entries(folder, "gpus.json", "gpus", read_gpu);
  catalogue.intra_nodes = read_entries(folder, "intra_node.json", "intra_node", read_intra_node);
  catalogue.networks = read_entries(folder, "networks.json", "networks", read_network);
  catalogue.stacks = read_entries(folder, "stacks.json", "stacks", read_stack);
  catalogue.models = read_entries(folder, "models.json", "models", read_model);
  catalogue.constants = read_constants(folder);
  return catalogue;
}

std::string default_catalogue_folder() {
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::filesystem::path installed = program.parent_path().parent_path() / "share/lockstep/scenarios/catalogue";
  const std::filesystem::path beside_build = program.parent_path().parent_path() / "scenarios/catalogue";
  for (const std::filesystem::path& folder :
       {installed, beside_build, std::filesystem::path(LOCKSTEP_SOURCE_DIR "/scenarios/catalogue")})
    if (std::filesystem::exists(folder / "gpus.json")) return folder.string();
  throw InputError("no catalogue beside the program: " + installed.string() + "; allowed: --catalogue FOLDER");
}

}  // namespace lockstep::sim
