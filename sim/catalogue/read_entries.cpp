#include "sim/catalogue/read_entries.hpp"

#include <utility>

#include "engine/base/text.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
inline namespace catalogue {
namespace {

constexpr Range kBandwidth{1, 1e15};
constexpr Range kAnyBandwidth{0, 1e15};
constexpr Range kAnyLatency{0, 10};

// Reads the names of an entry, and allows the keys of its kind.
void read_names(const JsonNode& node, Entry& entry, std::vector<std::string> own_keys) {
  own_keys.insert(own_keys.begin(), {"id", "name", "aliases"});
  node.keys(own_keys);
  entry.id = node.at("id").text();
  entry.aliases = texts_of(node.at("aliases"));
  if (const auto name = node.find("name")) entry.name = name->text();
}

bool flag(const JsonNode& node, const std::string& key, bool otherwise = false) {
  const std::optional<JsonNode> found = node.find(key);
  return found ? found->boolean() : otherwise;
}

// Compute capability: the least of the generation's GPUs (CUDA C++ Programming Guide, compute capabilities). ROCm's
// fused attention (Composable Kernel, AOTriton) has kernels for CDNA 2 and later, as NVIDIA's has for 8.0 and later.
struct Generation {
  const char* name;
  double compute_capability;
  Vendor vendor = Vendor::nvidia;
};

Generation read_generation(const JsonNode& node) {
  static const std::vector<Generation> all{{"kepler", 3.5},
                                           {"maxwell", 5.0},
                                           {"pascal", 6.0},
                                           {"volta", 7.0},
                                           {"turing", 7.5},
                                           {"ampere", 8.0},
                                           {"ampere-ga102", 8.6},
                                           {"ada", 8.9},
                                           {"hopper", 9.0},
                                           {"blackwell", 10.0},
                                           {"blackwell-gb202", 12.0},
                                           {"cdna2", 8.0, Vendor::amd},
                                           {"cdna3", 9.0, Vendor::amd},
                                           {"cdna4", 10.0, Vendor::amd}};
  std::vector<std::string> names;
  for (const Generation& generation : all) {
    if (generation.name == node.text()) return generation;
    names.emplace_back(generation.name);
  }
  node.fail("an unknown generation", "allowed: " + joined(names));
}

LinkSpec read_link(const JsonNode& node) {
  node.keys({"bandwidth", "latency"});
  return {node.at("bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth),
          node.at("latency").sourced_quantity(Dimension::time, kAnyLatency)};
}

}  // namespace

std::vector<std::string> texts_of(const JsonNode& array) {
  std::vector<std::string> texts;
  for (const JsonNode& node : array.items()) texts.push_back(node.text());
  return texts;
}

GpuEntry read_gpu(const JsonNode& node) {
  GpuEntry gpu;
  read_names(node, gpu,
             {"generation", "chip", "speed_of", "kernels_of", "intra_node", "gpus_per_node", "gpus_per_tray",
              "nvlink_domain", "network", "memory", "memory_bandwidth", "peak", "gpudirect", "pcie_peers",
              "nvlink_bridge", "bridged_gpus", "other_links", "host_link", "multiprocessors"});
  node.at("name");
  const Generation generation = read_generation(node.at("generation"));
  gpu.generation = generation.name;
  gpu.compute_capability = generation.compute_capability;
  gpu.vendor = generation.vendor;
  const std::optional<JsonNode> speed_of = node.find("speed_of");
  gpu.speed_of = speed_of ? speed_of->text() : gpu.id;
  if (const auto chip = node.find("chip")) gpu.chip = chip->text();
  if (const auto kernels_of = node.find("kernels_of")) gpu.kernels_of = kernels_of->text();
  gpu.intra_node = node.at("intra_node").text();
  if (const auto links = node.find("other_links")) gpu.other_links = texts_of(*links);
  gpu.network = node.at("network").text();
  if (const auto size = node.find("gpus_per_node"))
    gpu.gpus_per_node = static_cast<int>(size->integer(1, kMostGpusOfRack));
  if (const auto size = node.find("gpus_per_tray"))
    gpu.gpus_per_tray = static_cast<int>(size->sourced_number({1, kMostGpusOfRack}));
  if (const auto domain = node.find("nvlink_domain"))
    gpu.nvlink_domain = static_cast<int>(domain->integer(1, kMostGpusOfRack));
  if (const auto direct = node.find("gpudirect")) gpu.has_gpudirect = direct->sourced_boolean();
  if (const auto peers = node.find("pcie_peers")) gpu.has_pcie_peers = peers->sourced_boolean();
  if (const auto bridge = node.find("nvlink_bridge"))
    gpu.nvlink_bridge_bytes_per_s = bridge->sourced_quantity(Dimension::bandwidth, kBandwidth);
  if (const auto joined_gpus = node.find("bridged_gpus"))
    gpu.bridged_gpus = static_cast<int>(joined_gpus->integer(2, 8));
  gpu.spec.name = gpu.name;
  gpu.spec.memory_bytes = node.at("memory").sourced_quantity(Dimension::size, {1, 1e15});
  gpu.spec.memory_bandwidth_bytes_per_s =
      node.at("memory_bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth);
  if (const auto link = node.find("host_link"))
    gpu.spec.host_link_bytes_per_s = link->sourced_quantity(Dimension::bandwidth, kBandwidth);
  if (const auto count = node.find("multiprocessors"))
    gpu.spec.multiprocessors = static_cast<int>(count->sourced_number({1, 1024}));
  const JsonNode peak = node.at("peak");
  peak.keys({"fp32", "tf32", "fp16", "bf16", "fp8", "fp4"});
  const auto flops = [&](const char* key) {
    const std::optional<JsonNode> found = peak.find(key);
    return found ? found->sourced_quantity(Dimension::compute, {1e9, 1e18}) : 0.0;
  };
  gpu.spec.fp32_flops = flops("fp32");
  gpu.spec.tf32_flops = flops("tf32");
  gpu.spec.fp16_flops = flops("fp16");
  gpu.spec.bf16_flops = flops("bf16");
  gpu.spec.fp8_flops = flops("fp8");
  gpu.spec.fp4_flops = flops("fp4");
  return gpu;
}

IntraNodeEntry read_intra_node(const JsonNode& node) {
  IntraNodeEntry entry;
  entry.is_nvlink = node.at("kind").choice({"pcie-tree", "nvlink", "infinity-fabric"}) != "pcie-tree";
  std::vector<std::string> keys{
      "kind",          "description", "gpus_per_switch",     "switches_per_socket",  "gpu_link",
      "switch_uplink", "socket_link", "peer_across_sockets", "host_memory_bandwidth"};
  const std::optional<JsonNode> board_of = node.find("board_of");
  if (entry.is_nvlink) keys = {"kind", "description", "bus_bandwidth", "latency", "host_memory_bandwidth"};
  const std::optional<JsonNode> share_of_bridge = node.find("share_of_bridge");
  if (share_of_bridge) keys = {"kind", "description", "share_of_bridge", "latency", "host_memory_bandwidth"};
  if (entry.is_nvlink && board_of) keys = {"kind", "description", "board_of", "links_per_pair"};
  read_names(node, entry, keys);
  if (board_of) {
    entry.board_of = board_of->text();
    entry.links_per_pair = static_cast<int>(node.at("links_per_pair").integer(1, 72));
    return entry;
  }
  entry.host_memory_bytes_per_s = node.at("host_memory_bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth);
  if (entry.is_nvlink) {
    entry.bus.latency_s = node.at("latency").sourced_quantity(Dimension::time, kAnyLatency);
    if (share_of_bridge)
      entry.share_of_bridge = share_of_bridge->sourced_number({0.01, 1});
    else
      entry.bus.bandwidth_bytes_per_s = node.at("bus_bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth);
    return entry;
  }
  entry.gpus_per_switch = static_cast<int>(node.at("gpus_per_switch").integer(1, 64));
  entry.switches_per_socket = static_cast<int>(node.at("switches_per_socket").integer(1, 64));
  entry.gpu_link = read_link(node.at("gpu_link"));
  entry.switch_uplink = read_link(node.at("switch_uplink"));
  entry.socket_link = read_link(node.at("socket_link"));
  entry.peer_across_sockets = node.at("peer_across_sockets").boolean();
  return entry;
}

MachineSigns read_signs(const JsonNode& node) {
  node.keys({"network", "rate", "gpus"});
  MachineSigns signs{node.at("network").text(), 8 * node.at("rate").quantity(Dimension::bandwidth, kAnyBandwidth), {}};
  for (const JsonNode& gpu : node.at("gpus").items()) signs.gpus.insert(gpu.text());
  return signs;
}

NetworkEntry read_network(const JsonNode& node) {
  NetworkEntry entry;
  read_names(node, entry,
             {"whole_node", "ports", "signs", "line_rate", "needs_rate", "ethernet", "slow_plugin", "family",
              "bandwidth", "latency", "rdma"});
  entry.port_bytes_per_s = node.at("bandwidth").sourced_quantity(Dimension::bandwidth, kAnyBandwidth);
  if (const auto rate = node.find("line_rate"))
    entry.line_bits_per_s = 8 * rate->quantity(Dimension::bandwidth, kBandwidth);
  entry.latency_s = node.at("latency").sourced_quantity(Dimension::time, kAnyLatency);
  entry.rdma = node.at("rdma").boolean();
  entry.is_whole_node = flag(node, "whole_node");
  if (const auto ports = node.find("ports")) entry.node_ports = static_cast<int>(ports->integer(1, 64));
  if (const auto signs = node.find("signs")) entry.signs = read_signs(*signs);
  entry.needs_rate = flag(node, "needs_rate");
  entry.is_ethernet = flag(node, "ethernet");
  entry.has_slow_plugin = flag(node, "slow_plugin");
  if (const auto family = node.find("family")) entry.family = family->text();
  if (!entry.needs_rate && entry.port_bytes_per_s == 0)
    node.at("bandwidth").fail("no bandwidth", "allowed: above 0 B/s, or 0 B/s with \"needs_rate\"");
  return entry;
}

template <class E>
std::set<E> choices_in(const JsonNode& array) {
  std::set<E> choices;
  for (const JsonNode& node : array.items()) choices.insert(read_choice<E>(node));
  return choices;
}

RecomputeChoice read_recompute_choice(const JsonNode& node) {
  if (node.is_string()) return {read_choice<Recomputation>(node)};
  return {Recomputation::selective, choices_in<RecomputeModule>(node)};
}

SplitAbilities read_splits(const JsonNode& node) {
  node.keys({"dimensions", "schedules", "sharding", "sharding_groups", "sequence", "expert_overlap", "expert_dispatch",
             "recompute", "source"});
  SplitAbilities splits;
  splits.dimensions = choices_in<ParallelDimension>(node.at("dimensions"));
  splits.schedules = choices_in<PipelineSchedule>(node.at("schedules"));
  splits.sharding = choices_in<ShardingStage>(node.at("sharding"));
  splits.has_sharding_groups = flag(node, "sharding_groups");
  splits.splits_sequences = flag(node, "sequence", true);
  splits.overlaps_experts = flag(node, "expert_overlap");
  if (const auto dispatch = node.find("expert_dispatch"))
    splits.expert_dispatch = read_choice<ExpertDispatch>(*dispatch);
  splits.recomputations.clear();
  for (const JsonNode& one : node.at("recompute").items()) splits.recomputations.push_back(read_recompute_choice(one));
  splits.source = node.at("source").text();
  return splits;
}

SplitAbilities replicas_alone() {
  SplitAbilities splits;
  splits.dimensions = {};
  splits.sharding = {ShardingStage::none};
  splits.has_sharding_groups = false;
  splits.recomputations = {{}};
  splits.source = "no splits of it are known";
  return splits;
}

StackEntry read_stack(const JsonNode& node) {
  StackEntry entry;
  read_names(node, entry, {"fusion_threshold", "all_reduce",       "wire_mixed",
                           "optimizer",        "overlap",          "fast_convolutions",
                           "fused_norms",      "transposes",       "cuda_graphs",
                           "fused_attention",  "hopper_attention", "sequence_parallel",
                           "tensor_overlap",   "whole_experts",    "pads_vocabulary",
                           "fused_loss",       "gelu_in_steps",    "norms_in_steps",
                           "eight_bits",       "unpadded",         "trains_as_measured",
                           "recompute",        "selective",        "causal_flops_of",
                           "peak_memory",      "parameter_bytes",  "fused_attention_capability",
                           "constants_of",     "splits",           "expert_overlap",
                           "expert_dispatch",  "partition"});
  entry.fusion_bytes = node.at("fusion_threshold").sourced_quantity(Dimension::size, {0, 1e12});
  entry.all_reduce = node.at("all_reduce").choice({"auto", "ring", "hybrid", "node-hierarchical"});
  entry.wire_mixed = node.at("wire_mixed").choice({"fp32", "fp16"});
  entry.optimizer = read_choice<Optimizer>(node.at("optimizer"));
  entry.overlap = node.at("overlap").boolean();
  entry.fast_convolutions = flag(node, "fast_convolutions", true);
  entry.fused_norms = flag(node, "fused_norms");
  entry.transposes = flag(node, "transposes");
  entry.cuda_graphs = flag(node, "cuda_graphs");
  entry.fused_attention = flag(node, "fused_attention");
  if (const auto capability = node.find("fused_attention_capability"))
    entry.fused_attention_capability = capability->sourced_number({kAnyFusedAttention, 100});
  entry.hopper_attention = flag(node, "hopper_attention");
  if (const auto software = node.find("constants_of")) entry.constants_of = software->text();
  entry.sequence_parallel = flag(node, "sequence_parallel");
  entry.whole_experts = flag(node, "whole_experts");
  entry.expert_overlap = flag(node, "expert_overlap");
  entry.pads_vocabulary = flag(node, "pads_vocabulary");
  entry.fused_loss = flag(node, "fused_loss");
  entry.gelu_in_steps = flag(node, "gelu_in_steps");
  entry.norms_in_steps = flag(node, "norms_in_steps");
  entry.eight_bits = flag(node, "eight_bits");
  entry.trains_as_measured = flag(node, "trains_as_measured");
  entry.unpadded = flag(node, "unpadded");
  if (const auto recompute = node.find("recompute")) entry.recompute = read_choice<Recomputation>(*recompute);
  if (const auto selective = node.find("selective")) entry.selective = read_choice<Recomputation>(*selective);
  if (const auto programs = node.find("causal_flops_of")) entry.causal_flops_of = texts_of(*programs);
  if (const auto counter = node.find("peak_memory")) entry.peak_memory = read_choice<MemoryCounter>(*counter);
  if (const auto dispatch = node.find("expert_dispatch"))
    entry.expert_dispatch = read_choice<ExpertDispatch>(*dispatch);
  if (const auto overlap = node.find("tensor_overlap")) entry.tensor_overlap = read_choice<TensorOverlap>(*overlap);
  const auto splits = node.find("splits");
  entry.splits = splits ? read_splits(*splits) : replicas_alone();
  if (const auto keeping = node.find("parameter_bytes")) entry.keeping = read_choice<StateKeeping>(*keeping);
  if (const auto partition = node.find("partition")) entry.partition = read_choice<StagePartition>(*partition);
  return entry;
}

ModelEntry read_model(const JsonNode& node) {
  ModelEntry entry;
  read_names(node, entry, {"train_samples", "tokens"});
  if (const auto samples = node.find("train_samples")) entry.train_samples = samples->number({1, 1e12});
  if (const auto tokens = node.find("tokens")) entry.tokens = static_cast<int>(tokens->integer(1, 1 << 20));
  return entry;
}

}  // namespace catalogue
}  // namespace lockstep::sim
