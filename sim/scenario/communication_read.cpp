#include "sim/scenario/communication_read.hpp"

#include "sim/scenario/cluster_read.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim {
namespace {

std::int64_t read_bytes(const JsonNode& node, Range range) {
  return static_cast<std::int64_t>(node.sourced_quantity(Dimension::size, range));
}

void read_ddp(const JsonNode& node, CommunicationSpec& spec) {
  node.keys({"bucket_cap", "first_bucket"});
  spec.fusion_threshold_bytes = read_bytes(node.at("bucket_cap"), kBytes);
  spec.first_bucket_bytes = read_bytes(node.at("first_bucket"), kBytes);
}

// Of an object that is not used: its mistakes are found, and nothing of it is noted.
void check_unused_ddp(const JsonNode& node) {
  node.keys({"bucket_cap", "first_bucket"});
  const UnnotedCopy copy(node);
  for (const char* key : {"bucket_cap", "first_bucket"})
    if (const auto value = copy.node().find(key)) read_bytes(*value, kBytes);
}

}  // namespace

CommunicationSpec read_communication(const JsonNode& node, const ClusterSpec& cluster) {
  node.keys({"all_reduce", "group_size", "chain_slices", "hybrid_threshold", "torus_columns", "tree_slices", "wire",
             "fusion_threshold", "overlap", "message_overhead", "launch_overhead", "reduction_rate", "nccl", "fusion",
             "ddp", "accumulation"});
  CommunicationSpec spec;
  spec.all_reduce = read_choice<AllReduceKind>(node.at("all_reduce"));
  spec.group_size = static_cast<int>(node.at("group_size").integer(1, kMostGpus));
  spec.chain_slices = sourced_whole(node.at("chain_slices"), 0, 65536);
  if (spec.all_reduce == AllReduceKind::hybrid || node.has("hybrid_threshold"))
    spec.hybrid_threshold_bytes = read_bytes(node.at("hybrid_threshold"), kBytes);
  spec.torus_columns = static_cast<int>(node.at("torus_columns").integer(0, kMostGpus));
  spec.tree_slices = static_cast<int>(node.at("tree_slices").integer(1, 4096));
  spec.wire = read_choice<Wire>(node.at("wire"));
  spec.fusion_threshold_bytes = read_bytes(node.at("fusion_threshold"), {0, kBytes.high});
  if (node.at("fusion").choice({"threshold", "ddp"}) == "ddp")
    read_ddp(node.at("ddp"), spec);
  else if (const auto ddp = node.find("ddp"))
    check_unused_ddp(*ddp);
  spec.accumulation = static_cast<int>(node.at("accumulation").integer(1, 100000));
  spec.overlap = node.at("overlap").boolean();
  spec.message_overhead_s = node.at("message_overhead").sourced_quantity(Dimension::time, kSeconds);
  spec.launch_overhead_s = node.at("launch_overhead").sourced_quantity(Dimension::time, kSeconds);
  if (spec.all_reduce == AllReduceKind::nccl || node.has("nccl"))
    spec.nccl = read_nccl(node.at("nccl"), cluster.gpu.name, cluster.gpus_per_node);
  if (spec.nccl.is_measured() && spec.launch_overhead_s > 0)
    node.at("launch_overhead").fail("measured calls contain their launch", "allowed: \"0 us\" beside nccl/profile");
  const JsonNode rates = node.at("reduction_rate");
  rates.keys({"fp32", "fp16"});
  for (const Wire wire : {Wire::fp32, Wire::fp16})
    if (const auto rate = rates.find(name_of(wire))) {
      const double bytes_per_s = rate->sourced_quantity(Dimension::bandwidth, {1e3, 1e15});
      if (spec.wire == wire) spec.reduction_rate_bytes_per_s = bytes_per_s;
    }
  return spec;
}

}  // namespace lockstep::sim
