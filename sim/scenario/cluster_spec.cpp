#include "sim/scenario/cluster_spec.hpp"

#include <algorithm>
#include <cmath>

#include "sim/scenario/cluster_read.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim {

using namespace cluster_read;

namespace cluster_read {

LinkSpec read_link(const JsonNode& node, const calib::Profile* profile, const LinkPlace& place) {
  if (names_copy(node)) return measured_link(node, profile, place);
  node.keys({"bandwidth", "latency"});
  return {node.at("bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth),
          node.at("latency").sourced_quantity(Dimension::time, kLatency)};
}

}  // namespace cluster_read

namespace {

constexpr Range kMemory{1e6, 1e15};
constexpr Range kFlops{1e6, 1e18};
constexpr int kMostCores = 4096;

GpuSpec read_gpu(const JsonNode& node) {
  node.keys({"name", "memory", "memory_bandwidth", "peak"});
  GpuSpec gpu;
  gpu.name = node.at("name").text();
  gpu.memory_bytes = node.at("memory").sourced_quantity(Dimension::size, kMemory);
  gpu.memory_bandwidth_bytes_per_s = node.at("memory_bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth);
  const JsonNode peak = node.at("peak");
  peak.keys({"fp32", "tf32", "fp16", "bf16"});
  gpu.fp32_flops = peak.at("fp32").sourced_quantity(Dimension::compute, kFlops);
  if (const auto tf32 = peak.find("tf32")) gpu.tf32_flops = tf32->sourced_quantity(Dimension::compute, kFlops);
  if (const auto fp16 = peak.find("fp16")) gpu.fp16_flops = fp16->sourced_quantity(Dimension::compute, kFlops);
  if (const auto bf16 = peak.find("bf16")) gpu.bf16_flops = bf16->sourced_quantity(Dimension::compute, kFlops);
  return gpu;
}

HostSpec read_host(const JsonNode& node) {
  node.keys({"memory_bandwidth", "memory_latency", "cores"});
  HostSpec host;
  host.memory_bandwidth_bytes_per_s = node.at("memory_bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth);
  if (const auto latency = node.find("memory_latency"))
    host.memory_latency_s = latency->sourced_quantity(Dimension::time, kLatency);
  if (const auto cores = node.find("cores")) host.cores = sourced_whole(*cores, 1, kMostCores);
  return host;
}

// The PCIe switch of every NIC; an nvswitch node has none to name.
std::vector<int> read_attach(const JsonNode& nic, int per_node, const IntraNodeSpec& intra_node) {
  if (intra_node.kind == IntraNodeKind::nvswitch) {
    if (const auto attach = nic.find("attach")) attach->fail("an nvswitch node has no PCIe switches to attach NICs to");
    return {};
  }
  const JsonNode list = nic.at("attach");
  std::vector<int> attach;
  for (const JsonNode& item : list.items())
    attach.push_back(static_cast<int>(item.integer(0, static_cast<int>(intra_node.pcie.switches.size()) - 1)));
  if (static_cast<int>(attach.size()) != per_node)
    list.fail(std::to_string(attach.size()) + " switches for " + std::to_string(per_node) + " NICs",
              "allowed: one per NIC");
  return attach;
}

NicSpec read_nic(const JsonNode& node, int gpus_per_node, const IntraNodeSpec& intra_node) {
  node.keys({"per_node", "bandwidth", "latency", "gpudirect", "attach", "duplex"});
  NicSpec nic;
  nic.per_node = sourced_whole(node.at("per_node"), 1, gpus_per_node);
  nic.link = {node.at("bandwidth").sourced_quantity(Dimension::bandwidth, kBandwidth),
              node.at("latency").sourced_quantity(Dimension::time, kLatency)};
  nic.gpudirect = node.at("gpudirect").boolean();
  if (const auto duplex = node.find("duplex")) nic.half_duplex = duplex->choice({"full", "half"}) == "half";
  nic.attach = read_attach(node, nic.per_node, intra_node);
  return nic;
}

}  // namespace

double GpuSpec::peak_flops(Precision precision) const {
  switch (precision) {
    case Precision::fp32:
      return fp32_flops;
    case Precision::tf32:
      return tf32_flops;
    case Precision::fp16:
      return fp16_flops;
    case Precision::bf16:
      return bf16_flops;
    case Precision::mixed:
      return std::max(fp16_flops, fp32_flops);
  }
  return 0;
}

ClusterSpec read_cluster(const JsonNode& node) {
  node.keys({"schema", "name", "description", "nodes", "gpus_per_node", "gpu", "host", "profile", "intra_node", "nic",
             "fabric"});
  node.at("schema").choice({"lockstep/cluster/1"});
  ClusterSpec cluster;
  cluster.name = node.at("name").text();
  if (const auto description = node.find("description")) cluster.description = description->text();
  cluster.nodes = sourced_whole(node.at("nodes"), 1, kMostNodes);
  cluster.gpus_per_node = sourced_whole(node.at("gpus_per_node"), 1, kMostGpusPerNode);
  cluster.gpu = read_gpu(node.at("gpu"));
  cluster.host = read_host(node.at("host"));
  std::optional<calib::Profile> profile;
  if (const auto measured = node.find("profile")) profile = calib::profile_from_json(*measured);
  cluster.intra_node = read_intra_node(node.at("intra_node"), cluster.gpus_per_node, profile ? &*profile : nullptr);
  // A single server needs no network.
  if (cluster.nodes > 1 || node.has("nic"))
    cluster.nic = read_nic(node.at("nic"), cluster.gpus_per_node, cluster.intra_node);
  if (cluster.nodes > 1 || node.has("fabric"))
    cluster.fabric = read_fabric(node.at("fabric"), cluster.nodes, cluster.nic);
  return cluster;
}

}  // namespace lockstep::sim
