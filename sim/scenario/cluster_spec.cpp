#include "sim/scenario/cluster_spec.hpp"

#include <algorithm>

#include "sim/scenario/cluster_faults.hpp"
#include "sim/scenario/cluster_read.hpp"
#include "sim/scenario/file_schema.hpp"
#include "sim/scenario/measured_transfer.hpp"

namespace lockstep::sim::scenario {

using namespace cluster_read;

namespace cluster_read {
namespace {

const ObjectFormat<LinkSpec>& link_format() {
  static const ObjectFormat<LinkSpec> format = [] {
    ObjectFormat<LinkSpec> f("link");
    f.quantity("bandwidth", &LinkSpec::bandwidth_bytes_per_s, Dimension::bandwidth, kBandwidth)
        .means("per direction, as an application sees it");
    f.quantity("latency", &LinkSpec::latency_s, Dimension::time, kLatency).means("that it adds to a message's time");
    return f;
  }();
  return format;
}

}  // namespace

LinkSpec read_link(const JsonNode& node, const calib::Profile* profile, const LinkPlace& place) {
  if (names_transfer(node)) return measured_link(node, profile, place);
  return link_format().read(node);
}

Json to_json(const LinkSpec& link) {
  return link_format().write(link);
}

const Json& link_schema() {
  static const Json schema{{"anyOf", Json::array({link_format().schema(), copy_schema()})}};
  return schema;
}

const LinkQuantity& link_bandwidth() {
  static const LinkQuantity quantity{"bandwidth, **S**", format_text::range_of(kBandwidth, Dimension::bandwidth),
                                     format_text::schema_of_sourced(format_text::schema_of(Dimension::bandwidth))};
  return quantity;
}

const LinkQuantity& link_latency() {
  static const LinkQuantity quantity{"time, **S**", format_text::range_of(kLatency, Dimension::time),
                                     format_text::schema_of_sourced(format_text::schema_of(Dimension::time))};
  return quantity;
}

}  // namespace cluster_read

namespace {

constexpr Range kMemory{1e6, 1e15};
constexpr Range kFlops{1e6, 1e18};
constexpr int kMostCores = 4096;

const ObjectFormat<GpuSpec>& gpu_format() {
  static const ObjectFormat<GpuSpec> format = [] {
    ObjectFormat<GpuSpec> peak("peak");
    peak.quantity("fp32", &GpuSpec::fp32_flops, Dimension::compute, kFlops)
        .means("roofline of convolutions and fully-connected layers");
    const std::string others = "needed for that `precision`";
    peak.quantity("tf32", &GpuSpec::tf32_flops, Dimension::compute, kFlops).optional("not stated").means(others);
    peak.quantity("fp16", &GpuSpec::fp16_flops, Dimension::compute, kFlops).optional("not stated").means(others);
    peak.quantity("bf16", &GpuSpec::bf16_flops, Dimension::compute, kFlops).optional("not stated").means(others);
    peak.quantity("fp8", &GpuSpec::fp8_flops, Dimension::compute, kFlops)
        .optional("not stated")
        .means(others + ", with fp16 or bf16 for what stays in half precision");
    peak.quantity("fp4", &GpuSpec::fp4_flops, Dimension::compute, kFlops)
        .optional("not stated")
        .means(others + ", with fp16 or bf16 as for fp8; dense, without sparsity");
    ObjectFormat<GpuSpec> f("gpu");
    f.text("name", &GpuSpec::name).means("in the table");
    f.quantity("memory", &GpuSpec::memory_bytes, Dimension::size, kMemory)
        .means("what a point must [fit into](#memory-of-a-gpu)");
    f.quantity("reserved_memory", &GpuSpec::reserved_bytes, Dimension::size, {0, kMemory.high})
        .optional(quantity_text(kReservedBytes, Dimension::size) + ", assumed")
        .means(
            "of it that driver and framework take before they train; the default is what PyTorch's context and "
            "kernels take");
    f.quantity("memory_bandwidth", &GpuSpec::memory_bandwidth_bytes_per_s, Dimension::bandwidth, kBandwidth)
        .means("roofline of kernels bound by memory, and of the update");
    f.quantity("host_link", &GpuSpec::host_link_bytes_per_s, Dimension::bandwidth, kBandwidth)
        .optional("the GPU's PCIe path in `intra_node`")
        .means("between a GPU and host memory, each way, such as NVLink-C2C: for what is offloaded");
    f.sourced_whole("multiprocessors", &GpuSpec::multiprocessors, 1, 1024)
        .optional("passes do not slow down")
        .means("of which NCCL's kernels hold one for each of their channels, while a split's passes go on");
    f.group("peak", peak).means("by precision");
    f.then([](const JsonNode& node, GpuSpec&) {
      if (!node.has("reserved_memory"))
        node.document().note(
            {node.pointer() + "/reserved_memory", quantity_text(kReservedBytes, Dimension::size), "assumed",
             "default: what PyTorch's context and kernels take (Hugging Face, Model training anatomy)"});
    });
    return f;
  }();
  return format;
}

const ObjectFormat<HostSpec>& host_format() {
  static const ObjectFormat<HostSpec> format = [] {
    ObjectFormat<HostSpec> f("host");
    f.quantity("memory_bandwidth", &HostSpec::memory_bandwidth_bytes_per_s, Dimension::bandwidth, kBandwidth)
        .means(
            "of copies staged in host memory, per socket. One link per socket carries all staged "
            "messages, in and out");
    f.quantity("memory_latency", &HostSpec::memory_latency_s, Dimension::time, kLatency)
        .optional("0 s")
        .means("added by every staging");
    f.sourced_whole("cores", &HostSpec::cores, 1, kMostCores).optional("not stated").means("recorded; no effect");
    return f;
  }();
  return format;
}

// The facts of a node on which the keys of a NIC depend.
struct NodeShape {
  int gpus = 1;
  IntraNodeKind kind = IntraNodeKind::pcie_tree;
  int switches = 0;
};

// The PCIe switch of every NIC; an nvswitch node has no switches.
std::vector<int> read_attach(const JsonNode& list, int per_node, const NodeShape& node) {
  if (node.kind == IntraNodeKind::nvswitch) list.fail("an nvswitch node has no PCIe switches to attach NICs to");
  std::vector<int> attach;
  for (const JsonNode& item : list.items()) attach.push_back(static_cast<int>(item.integer(0, node.switches - 1)));
  if (static_cast<int>(attach.size()) != per_node)
    list.fail(std::to_string(attach.size()) + " switches for " + std::to_string(per_node) + " NICs",
              "allowed: one per NIC");
  return attach;
}

Json with_transfer(const Json& quantity_schema) {
  return {{"anyOf", Json::array({quantity_schema, transfer_schema()})}};
}

// `profile` belongs to the cluster; null: there is none.
ObjectFormat<NicSpec> nic_format(const NodeShape& shape, const calib::Profile* profile = nullptr) {
  ObjectFormat<NicSpec> f("nic");
  f.sourced_whole("per_node", &NicSpec::per_node, 1, shape.gpus)
      .means("NICs; GPU i of a node uses NIC `i * per_node / gpus_per_node`, rounded down");
  const LinkQuantity &of_bandwidth = link_bandwidth(), &of_latency = link_latency();
  auto bandwidth = f.custom("bandwidth", of_bandwidth.type, of_bandwidth.range, with_transfer(of_bandwidth.schema));
  bandwidth.means("of one NIC; or `{\"from\": \"node0\", \"to\": \"node1\"}`: as [perftest](#nic) measured it");
  bandwidth.reads([profile](const JsonNode& node, NicSpec& nic) {
    nic.link.bandwidth_bytes_per_s = names_transfer(node) ? measured_nic_bandwidth(node, profile)
                                                          : node.sourced_quantity(Dimension::bandwidth, kBandwidth);
  });
  bandwidth.writes(
      [](const NicSpec& nic) { return Json(quantity_text(nic.link.bandwidth_bytes_per_s, Dimension::bandwidth)); });
  auto latency = f.custom("latency", of_latency.type, of_latency.range, with_transfer(of_latency.schema));
  latency.means("of one NIC; a message between nodes pays it twice; or a transfer, as for `bandwidth`");
  latency.reads([profile](const JsonNode& node, NicSpec& nic) {
    nic.link.latency_s =
        names_transfer(node) ? measured_nic_latency(node, profile) : node.sourced_quantity(Dimension::time, kLatency);
  });
  latency.writes([](const NicSpec& nic) { return Json(quantity_text(nic.link.latency_s, Dimension::time)); });
  f.boolean("gpudirect", &NicSpec::gpudirect).means("`false`: staged in host memory at both ends, of the GPU's socket");
  f.either("duplex", &NicSpec::half_duplex, "full", "half")
      .optional("`full`")
      .means("`half`: what a node sends and what it receives share a NIC's bandwidth");
  auto attach = f.custom("attach", "array of whole", "index of a switch, one per NIC",
                         {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}});
  attach.optional("required; refused for `nvswitch`").means("PCIe switch of each NIC");
  attach.reads([shape](const JsonNode& node, NicSpec& nic) { nic.attach = read_attach(node, nic.per_node, shape); });
  attach.writes([](const NicSpec& nic) { return nic.attach.empty() ? Json() : Json(nic.attach); });
  f.then([kind = shape.kind](const JsonNode& node, NicSpec&) {
    if (kind != IntraNodeKind::nvswitch) node.at("attach");
  });
  return f;
}

ObjectFormat<NicSpec> nic_format(const ClusterSpec& cluster, const calib::Profile* profile = nullptr) {
  return nic_format(NodeShape{cluster.gpus_per_node, cluster.intra_node.kind,
                              static_cast<int>(cluster.intra_node.pcie.switches.size())},
                    profile);
}

// Parts that are read earlier determine how later ones are read.
void add_parts(ObjectFormat<ClusterSpec>& f) {
  auto profile = f.custom("profile", "text or object", "path ending in `.json`, or a `lockstep/profile/1` object",
                          file_or_object_schema());
  profile.optional("none").means("copies that links name");
  profile.reads([](const JsonNode&, ClusterSpec&) {});  // read by the links that name one of its copies
  profile.writes([](const ClusterSpec&) { return Json(); });
  auto intra_node = f.custom("intra_node", "object", "", intra_node_schema());
  intra_node.means("[intra_node](#intra_node)");
  intra_node.writes([](const ClusterSpec& cluster) { return to_json(cluster.intra_node); });
  // Read when the whole cluster is known, because a profile may give its links.
  intra_node.reads([](const JsonNode&, ClusterSpec&) {});
  auto nic = f.custom("nic", "object", "", nic_format(NodeShape{kMostGpusPerNode}).schema());
  nic.optional("required from 2 nodes on").means("[nic](#nic)");
  nic.reads([](const JsonNode&, ClusterSpec&) {});  // like intra_node
  nic.writes([](const ClusterSpec& cluster) {
    return cluster.nic.per_node == 0 ? Json() : nic_format(cluster).write(cluster.nic);
  });
  auto fabric = f.custom("fabric", "object", "", fabric_schema());
  fabric.optional("required from 2 nodes on").means("[fabric](#fabric)");
  fabric.reads([](const JsonNode& node, ClusterSpec& cluster) {
    cluster.fabric = read_fabric(node, cluster.nodes, cluster.nic);
  });
  fabric.writes([](const ClusterSpec& cluster) {
    return cluster.fabric.link.bandwidth_bytes_per_s > 0 ? to_json(cluster.fabric) : Json();
  });
  add_faults(f);
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
    case Precision::fp8:
      return fp8_flops;
    case Precision::fp4:
      return fp4_flops;
  }
  return 0;
}

std::string cluster_read::nic_table() {
  return nic_format(NodeShape{kMostGpusPerNode}).table();
}

const ObjectFormat<ClusterSpec>& cluster_format() {
  static const ObjectFormat<ClusterSpec> format = [] {
    ObjectFormat<ClusterSpec> f("cluster");
    auto schema = f.custom("schema", "text", "`lockstep/cluster/1`", {{"const", "lockstep/cluster/1"}});
    schema.means("version of the format");
    schema.reads([](const JsonNode& node, ClusterSpec&) { node.choice({"lockstep/cluster/1"}); });
    schema.writes([](const ClusterSpec&) { return Json("lockstep/cluster/1"); });
    add_schema_link(f);
    f.text("name", &ClusterSpec::name).means("in the table's title");
    f.text("description", &ClusterSpec::description).optional("none").means("for the reader; no effect");
    f.sourced_whole("nodes", &ClusterSpec::nodes, 1, kMostNodes)
        .means("nodes of the cluster; a prediction uses the first ones");
    f.sourced_whole("gpus_per_node", &ClusterSpec::gpus_per_node, 1, kMostGpusPerNode)
        .means("all nodes are alike. GPUs are numbered from 0, node by node");
    f.object("gpu", &ClusterSpec::gpu, gpu_format()).means("[gpu](#gpu-and-host)");
    f.object("host", &ClusterSpec::host, host_format()).means("[host](#gpu-and-host)");
    add_parts(f);
    return f;
  }();
  return format;
}

ClusterSpec read_cluster(const JsonNode& node) {
  // The fabric needs the NICs' bandwidth; faults and nodes_used are checked against nodes and NICs.
  const auto is_late = [](const std::string& key) { return key == "fabric" || key == "nodes_used" || key == "faults"; };
  ClusterSpec cluster;
  cluster_format().read_some(node, cluster, [&](const std::string& key) { return !is_late(key); });
  std::optional<calib::Profile> profile;
  if (const auto measured = node.find("profile")) profile = calib::profile_from_json(*measured);
  cluster.intra_node = read_intra_node(node.at("intra_node"), cluster.gpus_per_node, profile ? &*profile : nullptr);
  if (cluster.nodes > 1)  // a single server needs no network
    for (const char* key : {"nic", "fabric"}) node.at(key);
  if (const auto nic = node.find("nic")) nic_format(cluster, profile ? &*profile : nullptr).read(*nic, cluster.nic);
  cluster_format().read_some(node, cluster, is_late);
  return cluster;
}

}  // namespace lockstep::sim::scenario
