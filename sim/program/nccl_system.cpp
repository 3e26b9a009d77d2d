#include "sim/program/nccl_system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "engine/base/index.hpp"
#include "sim/cluster/node_layout.hpp"

namespace lockstep::sim::program {
namespace {

constexpr double kGiga = 1e9;

// Returns the fastest speed up to `limit_gb_per_s` in bytes/s, or the slowest speed if all are above.
double speed_up_to(const std::vector<double>& speeds, double limit_gb_per_s) {
  for (double speed : speeds)
    if (speed <= limit_gb_per_s) return speed * kGiga;
  return speeds.back() * kGiga;
}

double line_rate_gb_per_s(double bandwidth_bytes_per_s) {
  for (double gbit_per_s : {10, 25, 40, 56, 100, 200, 400, 800})
    if (bandwidth_bytes_per_s <= gbit_per_s / 8 * kGiga) return gbit_per_s / 8;
  constexpr double kPort = 400.0 / 8;  // several ports that count as one NIC
  return kPort * std::ceil(bandwidth_bytes_per_s / kGiga / kPort);
}

// Returns the bytes/s that all ranks of a ring over a node's first GPUs can send at the same time.
double ring_bandwidth(const ClusterSpec& cluster, int gpus) {
  const NodeLayout layout(cluster);
  std::vector<int> flows(layout.links().size(), 0);
  for (int gpu = 0; gpu < gpus && gpus > 1; ++gpu)
    for (int link : layout.route(gpu, (gpu + 1) % gpus)) ++flows[to_index(link)];
  double bandwidth = std::numeric_limits<double>::infinity();
  for (std::size_t link = 0; link < flows.size(); ++link)
    if (flows[link] > 0) bandwidth = std::min(bandwidth, layout.links()[link].bandwidth_bytes_per_s / flows[link]);
  return bandwidth;
}

// Returns the fewest NVLinks that any of the first `gpus` GPUs has.
int mesh_links(const NvlinkMeshSpec& mesh, int gpus) {
  int fewest = std::numeric_limits<int>::max();
  for (int gpu = 0; gpu < gpus; ++gpu) {
    int links = 0;
    for (int other = 0; other < gpus; ++other)
      if (other != gpu) links += mesh.links_between(gpu, other);
    fewest = std::min(fewest, links);
  }
  return fewest;
}

void find_one_node(const ClusterSpec& cluster, const NcclGenerationFacts& machine, int ppn, NcclSystem& system) {
  const bool is_switch = cluster.intra_node.kind == IntraNodeKind::nvswitch;
  if (is_switch) {
    system.ring = {machine.node_channels, machine.node_speed * kGiga, machine.node_speed * kGiga};
    const double of_gpu = machine.nvlink * machine.links;
    const double speed = speed_up_to(machine.speeds, of_gpu / ppn);
    const double most = machine.speeds.front() * kGiga;
    const int channels = std::min(ppn, static_cast<int>(of_gpu * kGiga / speed));
    if (machine.has_nvls) system.nvls = {channels, speed, std::min(most, 2 * speed)};
  } else if (system.has_nvlink) {
    const double speed = machine.nvlink * kGiga;
    system.ring = {mesh_links(cluster.intra_node.mesh, ppn), speed, speed};
  } else {
    const double speed = ring_bandwidth(cluster, ppn);
    system.ring = {1, speed, speed};
  }
  system.tree = system.ring;
}

// NCCL replaces a fast channel by two of half the speed (src/graph/search.cc, ncclTopoDupChannels). Channels are fast
// from kFast GB/s on if there are at most kFew of them, else from the generation's fast_channel on.
NcclGraph duplicated(NcclGraph graph, const NcclGenerationFacts& machine) {
  constexpr double kFast = 25;
  constexpr int kFew = 4, kMostChannels = 32;
  const double fast = graph.channels > kFew ? machine.fast_channel : kFast;
  if (graph.inter_bytes_per_s < fast * kGiga) return graph;
  const int channels = std::max(graph.channels, std::min(2 * graph.channels, kMostChannels));
  const double share = std::ceil(double(channels) / graph.channels);
  return {channels, graph.intra_bytes_per_s / share, graph.inter_bytes_per_s / share};
}

// True if the limit of a tree's channel is far below a NIC's rate, so that more, slower channels carry more. From
// Hopper on, NCCL's limits are close to such rates, and more channels do not speed up racks of GB200.
bool has_slow_tree_channels(const NcclGenerationFacts& machine) {
  return machine.generation < NcclGeneration::hopper;
}

// Derives the graphs between nodes. On entry, `system` has the graphs of one node.
void find_nodes(const ClusterSpec& cluster, const NcclGenerationFacts& machine, int ppn, NcclSystem& system) {
  const int nics = cluster.nic.per_node;
  const double rate = line_rate_gb_per_s(cluster.nic.link.bandwidth_bytes_per_s);
  const double inter = speed_up_to(machine.network_speeds, rate);
  // A NIC takes channels as long as its rate suffices (src/graph/search.cc, ncclTopoSearchRecNet).
  const int of_nics = nics * std::max(1, static_cast<int>(rate * kGiga / inter));
  // Every channel passes the PCIe link of every GPU, so that more channels than this link carries add nothing.
  const bool is_on_pcie = !system.has_nvlink && ppn > 1;
  const double of_pcie = system.ring.channels * system.ring.intra_bytes_per_s / inter;
  const int channels = is_on_pcie ? std::clamp(static_cast<int>(of_pcie), 1, of_nics) : of_nics;
  const double node = ppn > 1 ? system.ring.channels * system.ring.intra_bytes_per_s / channels : inter;
  const double channel = system.has_nvlink || ppn == 1 ? inter : std::min(inter, node);
  const double tree = system.has_nvlink ? speed_up_to(machine.network_speeds, node / kGiga) : node;
  if (system.nvls.channels > 0)
    system.nvls = {nics, system.nvls.channels * system.nvls.intra_bytes_per_s / nics, inter};
  // Every channel passes every GPU, and a rack has more NICs than a GPU's NVLinks can carry channels.
  const bool is_switch = cluster.intra_node.kind == IntraNodeKind::nvswitch;
  const auto channels_at = [&](double speed) {
    const double most = is_switch ? std::ceil(machine.nvlink * machine.links * kGiga / speed) : channels;
    return std::min(channels, std::max(1, static_cast<int>(most)));
  };
  system.ring = duplicated({channels_at(channel), channel, channel}, machine);
  const auto tree_at = [&](double speed) {
    return duplicated({channels_at(speed), std::min(2 * inter, std::max(speed, tree)), speed}, machine);
  };
  system.tree = tree_at(channel);
  if (!has_slow_tree_channels(machine)) return;
  const double limit = machine.limits.tree[std::min(system.nodes, 3) - 1] * kGiga;
  const auto most_of = [&](const NcclGraph& graph) {
    return graph.channels * std::min(graph.inter_bytes_per_s, limit);
  };
  for (const double speed : machine.network_speeds) {
    const NcclGraph slower = tree_at(std::min(channel, speed * kGiga));
    if (most_of(slower) > most_of(system.tree)) system.tree = slower;
  }
}

// Returns the order in which a ring from `entry` passes the first `gpus` GPUs. The next one is the nearest that is left:
// below the same switch, else the same socket (NCCL's src/graph/search.cc, ncclTopoSearchNextGpuSort). Every ring thus
// crosses from socket to socket as rarely as possible. Places of equally near GPUs rotate with the entry, so that rings
// leave at different GPUs.
std::vector<int> ring_over_pcie(const PcieTreeSpec& pcie, int entry, int gpus) {
  const auto switch_of = [&](int gpu) { return pcie.switch_of(gpu); };
  const auto socket_of = [&](int gpu) { return pcie.switches[to_index(pcie.switch_of(gpu))].socket; };
  const auto gpus_with_entry = [&](const auto& place_of) {
    int count = 0;
    for (int gpu = 0; gpu < gpus; ++gpu) count += place_of(gpu) == place_of(entry) ? 1 : 0;
    return count;
  };
  const int of_switch = gpus_with_entry(switch_of), of_socket = gpus_with_entry(socket_of);
  const auto distance = [&](int from, int to) {
    const int after_entry = (to - entry + gpus) % gpus;
    const int apart = switch_of(from) == switch_of(to) ? 0 : socket_of(from) == socket_of(to) ? 1 : 2;
    return std::array{apart, after_entry % of_switch, after_entry % of_socket, after_entry};
  };
  std::vector<int> ring{entry}, left;
  for (int gpu = 0; gpu < gpus; ++gpu)
    if (gpu != entry) left.push_back(gpu);
  while (!left.empty()) {
    const auto nearest = std::min_element(
        left.begin(), left.end(), [&](int a, int b) { return distance(ring.back(), a) < distance(ring.back(), b); });
    ring.push_back(*nearest);
    left.erase(nearest);
  }
  return ring;
}

void set_graph(const std::optional<NcclGraphSpec>& spec, NcclGraph& graph) {
  if (spec) graph = {spec->channels, spec->intra_bytes_per_s, spec->inter_bytes_per_s};
}

void set_only(const NcclSpec& spec, NcclSystem& system) {
  system.only_algorithm = spec.algorithm;
  system.only_protocol = spec.protocol;
}

NcclSpec without_measured(NcclSpec spec) {
  spec.measured.clear();
  spec.measured_between_nodes.clear();
  return spec;
}

// Corrects by the operations measured on one node.
NcclCorrection node_correction(const ClusterSpec& cluster, const NcclSpec& spec) {
  const int gpus = std::min(spec.measured_ranks, cluster.gpus_per_node);
  std::vector<MeasuredNcclOperation> calls;
  for (const auto& [bytes, seconds] : spec.measured) calls.push_back({bytes, seconds});
  return fit_nccl(nccl_system(cluster, without_measured(spec), gpus), NcclOperation::all_reduce, calls);
}

NcclSystem as_measured(const ClusterSpec& cluster, const NcclSpec& spec, NcclSystem system) {
  if (system.nodes > 1 && !spec.measured_between_nodes.empty())
    return corrected(system, fit_nccl_network(measured_between_nodes(cluster, spec), NcclOperation::all_reduce,
                                              measured_excess_s(cluster, spec)));
  if (spec.measured.empty()) return system;
  const NcclCorrection correction = node_correction(cluster, spec);
  system.latency_excess_s = correction.latency_excess_s;
  system.bandwidth_factor = correction.bandwidth_factor;
  return system;
}

}  // namespace

NcclSystem nccl_system(const ClusterSpec& cluster, const NcclSpec& spec, int gpus) {
  const NcclGenerationFacts& machine = facts_of(spec.generation);
  const int ppn = std::min(gpus, cluster.gpus_per_node);
  const IntraNodeSpec& intra_node = cluster.intra_node;
  NcclSystem system;
  system.generation = machine.generation;
  system.ranks = gpus;
  system.nodes = gpus / ppn;
  system.has_nvlink = intra_node.kind == IntraNodeKind::nvswitch ||
                      (intra_node.kind == IntraNodeKind::nvlink_mesh && mesh_links(intra_node.mesh, ppn) > 0);
  system.has_gpudirect = cluster.nic.gpudirect;
  system.has_amd_cpu = spec.has_amd_cpu;
  system.nic_latency_s = spec.nic_latency_s;
  if (intra_node.kind == IntraNodeKind::nvlink_mesh && system.has_nvlink)
    for (const NvlinkPairSpec& pair : intra_node.mesh.pairs) system.nvlinks.push_back({pair.a, pair.b, pair.links});

  find_one_node(cluster, machine, ppn, system);
  if (system.nodes > 1) find_nodes(cluster, machine, ppn, system);
  const int nics = system.nodes > 1 ? cluster.nic.per_node : 1;
  // The first GPU of each NIC; if there are more NICs than GPUs, the GPU of each NIC.
  const int rounding = nics > ppn ? 0 : nics - 1;
  for (int nic = 0; nic < nics; ++nic) system.entry_gpus.push_back((nic * ppn + rounding) / nics);
  if (intra_node.kind == IntraNodeKind::pcie_tree)
    for (int entry : system.entry_gpus) system.rings.push_back(ring_over_pcie(intra_node.pcie, entry, ppn));
  set_graph(spec.ring, system.ring);
  set_graph(spec.tree, system.tree);
  set_graph(spec.nvls, system.nvls);
  if (!spec.in_switch) system.nvls = {};
  set_only(spec, system);
  return as_measured(cluster, spec, system);
}

std::vector<NcclCurve> measured_between_nodes(const ClusterSpec& cluster, const NcclSpec& spec) {
  std::map<int, NcclCurve> curves;
  for (const NcclSpec::BetweenNodes& call : spec.measured_between_nodes) {
    NcclCurve& curve = curves[call.nodes];
    if (curve.calls.empty())
      curve.system = nccl_system(cluster, without_measured(spec), call.nodes * cluster.gpus_per_node);
    curve.calls.push_back({call.bytes, call.seconds});
  }
  std::vector<NcclCurve> result;
  for (auto& [nodes, curve] : curves) result.push_back(std::move(curve));
  return result;
}

std::optional<double> measured_excess_s(const ClusterSpec& cluster, const NcclSpec& spec) {
  if (spec.measured.empty()) return std::nullopt;
  return node_correction(cluster, spec).latency_excess_s;
}

}  // namespace lockstep::sim::program
