#include "sim/collective/nccl.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/collective/nccl_tables.hpp"

namespace lockstep::sim::collective {
namespace {

using nccl_tables::Latencies;

constexpr double kMicro = 1e-6;
constexpr double kGiga = 1e9;

int floor_log2(std::int64_t n) {
  int log = 0;
  while (n > 1) {
    n /= 2;
    ++log;
  }
  return log;
}

// The cost model of one operation. It counts in GB/s and microseconds, as NCCL's tables do.
class CostModel {
 public:
  CostModel(const NcclSystem& system, NcclOperation operation, std::int64_t bytes)
      : system_(system),
        operation_(operation),
        bytes_(bytes),
        limits_(facts_of(system.generation).limits),
        intra_(system.has_nvlink ? nccl_tables::kNvlink : nccl_tables::kPci),
        column_(std::min(system.nodes, 3) - 1) {}

  bool can_run(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    if (system_.only_algorithm && *system_.only_algorithm != algorithm) return false;
    if (system_.only_protocol && *system_.only_protocol != protocol) return false;
    if (protocol == NcclProtocol::ll128 && !has_ll128()) return false;
    const bool is_all_reduce = operation_ == NcclOperation::all_reduce;
    const bool one_node = system_.nodes == 1, is_simple = protocol == NcclProtocol::simple;
    switch (algorithm) {
      case NcclAlgorithm::ring:
        return system_.ring.channels > 0;
      case NcclAlgorithm::tree:
        return is_all_reduce && system_.tree.channels > 0;
      case NcclAlgorithm::nvls:
        return operation_ != NcclOperation::broadcast && one_node && is_simple && has_nvls();
      case NcclAlgorithm::nvls_tree:
        return is_all_reduce && !one_node && is_simple && has_nvls();
    }
    return false;
  }

  NcclTime time(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    double latency_us = 0, algbw = 0;
    switch (algorithm) {
      case NcclAlgorithm::ring:
        latency_us = ring_latency(protocol);
        algbw = ring_bus(protocol) * system_.ranks / steps();
        break;
      case NcclAlgorithm::tree:
        latency_us = tree_latency(protocol);
        algbw = tree_bus(protocol) / 2 * tree_correction(protocol);
        break;
      case NcclAlgorithm::nvls:
        latency_us = intra_.nvls;
        algbw = nvls_algbw();
        break;
      case NcclAlgorithm::nvls_tree:
        latency_us = intra_.nvls_tree + 2 * floor_log2(system_.nodes) * network_latency(&Latencies::nvls_tree);
        algbw = nvls_tree_bus() * system_.ranks / steps();
        break;
    }
    const double latency_s = latency_us * kMicro, bandwidth = algbw * kGiga;
    const double seconds = latency_s + static_cast<double>(bytes_) / bandwidth;
    return {
        algorithm, protocol, latency_s, bandwidth, seconds, network_passes(algorithm), fill_s(algorithm, bandwidth)};
  }

 private:
  // Returns the time of the first round beyond its bytes / bandwidth (nccl.hpp).
  double fill_s(NcclAlgorithm algorithm, double bytes_per_s) const {
    const bool is_tree = algorithm == NcclAlgorithm::nvls_tree;
    if (operation_ != NcclOperation::all_reduce || (algorithm != NcclAlgorithm::nvls && !is_tree)) return 0;
    const double in_node = 2 / (system_.nvls.channels * system_.nvls.intra_bytes_per_s);
    const double between = network_passes(algorithm) / (system_.nvls.channels * system_.nvls.inter_bytes_per_s);
    return nvls_round_bytes(is_tree) * std::max(0.0, in_node + between - 1 / bytes_per_s);
  }

  int ppn() const { return system_.ranks / system_.nodes; }
  // Returns the number of the ring's rounds.
  int steps() const {
    if (operation_ == NcclOperation::all_reduce) return 2 * (system_.ranks - 1);
    return operation_ == NcclOperation::broadcast ? system_.ranks : system_.ranks - 1;
  }
  int network_passes(NcclAlgorithm algorithm) const {
    if (system_.nodes == 1) return 0;
    if (algorithm != NcclAlgorithm::ring) return 2 * floor_log2(system_.nodes);
    if (operation_ == NcclOperation::broadcast) return 1;  // because NCCL counts one network latency for it
    return (operation_ == NcclOperation::all_reduce ? 2 : 1) * (system_.nodes - 1);
  }
  bool has_nvls() const { return limits_.nvls_efficiency > 0 && system_.nvls.channels >= 2 && ppn() >= 2; }
  // LL128 requires that stores of 128 bytes are not split: NVLink, GPUs from Volta on, and GPUDirect for the NICs.
  bool has_ll128() const {
    return system_.generation != NcclGeneration::pascal && (system_.has_nvlink || ppn() == 1) &&
           (system_.nodes == 1 || system_.has_gpudirect);
  }

  double bandwidth(const NcclGraph& graph) const {
    return (system_.nodes <= 2 ? graph.intra_bytes_per_s : graph.inter_bytes_per_s) * graph.channels / kGiga;
  }
  double ll_limit() const {
    if (system_.nodes == 1) return limits_.ll_one_node;
    return (system_.has_amd_cpu ? nccl_tables::kLlAmd : nccl_tables::kLlIntel)[column_ - 1];
  }
  double ring_bus(NcclProtocol protocol) const {
    const double bus = bandwidth(system_.ring);
    if (protocol == NcclProtocol::ll) return std::min(ll_limit(), bus * 0.5);
    if (protocol == NcclProtocol::ll128)
      return std::min(bus * 0.92, system_.ring.channels * limits_.ring_ll128[column_]);
    return bus;
  }
  double tree_bus(NcclProtocol protocol) const {
    const int channels = system_.tree.channels;
    const double bus = std::min(bandwidth(system_.tree) * 0.92, channels * limits_.tree[column_]);
    if (protocol == NcclProtocol::ll) return std::min(bus / 3.8, ll_limit());
    if (protocol == NcclProtocol::ll128)
      return std::min(bus * (system_.nodes == 1 ? 7.0 / 9 : 120.0 / 128), channels * limits_.tree_ll128[column_]);
    return bus;
  }
  double tree_correction(NcclProtocol protocol) const {
    const int size = floor_log2(bytes_ >> 6);
    if (bytes_ < 64 || size >= nccl_tables::kTreeSizes) return 1;
    return nccl_tables::kTreeCorrection[static_cast<int>(protocol)][size];
  }
  // Bandwidth (GB/s) of a channel within a node. Each GPU pulls its share of the vector from the switch.
  double nvls_intra() const {
    const NcclGraph& graph = system_.nvls;
    return graph.intra_bytes_per_s / kGiga * limits_.nvls_efficiency * (graph.channels - 1) / graph.channels;
  }
  double nvls_algbw() const {
    const NcclGraph& graph = system_.nvls;
    const double inter = graph.inter_bytes_per_s / kGiga;
    const bool is_measured = system_.nodes == 1 && limits_.nvls_bus > 0;
    if (operation_ == NcclOperation::all_reduce && is_measured)
      return std::min(graph.channels * 2 * nvls_intra(), limits_.nvls_bus) * system_.ranks / steps();
    if (operation_ == NcclOperation::all_reduce)
      return graph.channels * std::min(2 * nvls_intra(), inter) * system_.ranks / steps();
    return graph.channels * std::min(nvls_intra() * (ppn() - 1) / ppn(), inter);
  }
  double nvls_tree_bus() const {
    const NcclGraph& graph = system_.nvls;
    const double inter = graph.inter_bytes_per_s / kGiga * (system_.nodes == 2 ? 2 : 1);
    return graph.channels * std::min({2 * nvls_intra(), inter, limits_.nvls_tree[column_]});
  }

  // Returns the bytes that all channels and heads pass on in one round.
  double nvls_round_bytes(bool is_tree) const {
    const int channels = facts_of(system_.generation).nvls_channels[is_tree ? 1 : 0];
    const std::int64_t operations = std::int64_t{channels} * std::min(ppn(), nccl_tables::kNvlsHeads);
    std::int64_t chunk = is_tree && system_.nodes >= 4 ? nccl_tables::kNvlsTreeChunkOfMany : nccl_tables::kNvlsChunk;
    const auto shrink_by = [&](const auto& steps) {
      for (const nccl_tables::NvlsChunkStep& step : steps)
        if (bytes_ < step.times * operations * chunk) chunk = std::min(chunk, step.chunk);
    };
    if (is_tree)
      shrink_by(nccl_tables::kNvlsTreeSteps);
    else
      shrink_by(nccl_tables::kNvlsSteps);
    return static_cast<double>(std::min(bytes_, operations * chunk));
  }

  double network_latency(double Latencies::*algorithm) const {
    return nccl_tables::kNetwork.*algorithm + 2 * system_.nic_latency_s / kMicro;
  }
  // Returns the latency between nodes. Simple flushes, which adds another pass of the NIC. A node with one GPU cannot
  // hide it and has the latency of the tree.
  double network_latency(const double (&algorithm)[3], NcclProtocol protocol) const {
    const double(&latencies)[3] = ppn() == 1 ? nccl_tables::kNetwork.tree : algorithm;
    const double nic_us = system_.nic_latency_s / kMicro;
    return latencies[static_cast<int>(protocol)] + nic_us * (protocol == NcclProtocol::simple ? 2 : 1);
  }
  double ring_latency(NcclProtocol protocol) const {
    const int p = static_cast<int>(protocol);
    if (operation_ == NcclOperation::broadcast)
      return nccl_tables::kBase.ring[p] + (system_.nodes == 1 ? intra_ : nccl_tables::kNetwork).ring[p];
    const double post_us = (system_.has_amd_cpu ? 2.0 : 1.0) * (protocol == NcclProtocol::simple ? 3 : 1);
    const double hop = system_.nodes == 1 ? intra_.ring[p] : std::max(intra_.ring[p], post_us);
    const int between = network_passes(NcclAlgorithm::ring);
    const double latency = nccl_tables::kBase.ring[p] + (steps() - between) * hop +
                           between * network_latency(nccl_tables::kNetwork.ring, protocol);
    const bool is_large = bytes_ / (std::int64_t{system_.ring.channels} * system_.ranks) >= 64;
    const bool has_plateau =
        protocol == NcclProtocol::simple && system_.nodes > 1 && operation_ == NcclOperation::all_reduce && is_large;
    return has_plateau ? latency * limits_.ring_plateau : latency;
  }
  double tree_latency(NcclProtocol protocol) const {
    const int p = static_cast<int>(protocol);
    return nccl_tables::kBase.tree[p] +
           2 * ((ppn() - 1) * intra_.tree[p] +
                floor_log2(system_.nodes) * network_latency(nccl_tables::kNetwork.tree, protocol));
  }

  const NcclSystem& system_;
  NcclOperation operation_;
  std::int64_t bytes_;
  const NcclLimits& limits_;
  const Latencies& intra_;
  int column_;
};

// Returns the fastest by the tables, as measured on one and two nodes. On more nodes, adds the first round's time.
NcclTime choose(const std::vector<NcclTime>& times, int nodes) {
  const auto seconds_of = [&](const NcclTime& time) { return time.seconds + (nodes > 2 ? time.fill_s : 0); };
  return *std::min_element(times.begin(), times.end(),
                           [&](const NcclTime& a, const NcclTime& b) { return seconds_of(a) < seconds_of(b); });
}

}  // namespace

std::string to_string(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return "ring";
    case NcclAlgorithm::tree:
      return "tree";
    case NcclAlgorithm::nvls:
      return "NVLS";
    case NcclAlgorithm::nvls_tree:
      return "NVLSTree";
  }
  return "";
}

std::string to_string(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::ll:
      return "LL";
    case NcclProtocol::ll128:
      return "LL128";
    case NcclProtocol::simple:
      return "Simple";
  }
  return "";
}

std::string to_string(NcclOperation operation) {
  switch (operation) {
    case NcclOperation::all_reduce:
      return "all-reduce";
    case NcclOperation::reduce_scatter:
      return "reduce-scatter";
    case NcclOperation::all_gather:
      return "all-gather";
    case NcclOperation::broadcast:
      return "broadcast";
  }
  return "";
}

std::vector<NcclTime> nccl_times(const NcclSystem& system, NcclOperation operation, std::int64_t bytes) {
  std::vector<NcclTime> times;
  if (system.ranks < 2) return times;
  const CostModel model(system, operation, bytes);
  for (NcclAlgorithm algorithm :
       {NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree})
    for (NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple})
      if (model.can_run(algorithm, protocol)) times.push_back(model.time(algorithm, protocol));
  return times;
}

NcclTime nccl_choice(const NcclSystem& system, NcclOperation operation, std::int64_t bytes) {
  const std::vector<NcclTime> times = nccl_times(system, operation, bytes);
  if (times.empty())
    throw std::invalid_argument("NCCL has no algorithm for " + to_string(operation) + " on this machine as set");
  NcclTime chosen = choose(times, system.nodes);
  chosen.latency_s += chosen.fill_s;
  chosen.seconds += chosen.fill_s;
  const double excess_s = system.latency_excess_s + chosen.network_passes * system.pass_excess_s;
  if (excess_s == 0 && system.bandwidth_factor == 1) return chosen;
  chosen.latency_s = std::max(0.0, chosen.latency_s + excess_s);
  chosen.bandwidth_bytes_per_s *= system.bandwidth_factor;
  chosen.seconds = chosen.latency_s + static_cast<double>(bytes) / chosen.bandwidth_bytes_per_s;
  return chosen;
}

// Solves the normal equations of the two unknowns e and g = 1 / f. Each row is divided by its t_i.
double slowdown_by(int thread_blocks, int multiprocessors) {
  constexpr double kMostHeld = 0.5;  // of a GPU
  return multiprocessors == 0 ? 1 : 1 / (1 - std::min(kMostHeld, double(thread_blocks) / multiprocessors));
}

int thread_blocks(const NcclSystem& system, NcclAlgorithm algorithm) {
  const NcclGenerationFacts& facts = facts_of(system.generation);
  if (algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree)
    return facts.nvls_channels[system.nodes > 1 ? 1 : 0];
  constexpr int kMost = 64, kFew = 16;
  constexpr double kFast = 45e9;  // bytes/s of a channel
  const int blocks = std::min(kMost, 2 * system.ring.channels);
  const bool is_doubled = facts.has_nvls && system.nodes > 1 && system.ring.intra_bytes_per_s > kFast && blocks < kFew;
  return is_doubled ? 2 * blocks : blocks;
}

NcclCorrection fit_nccl(const NcclSystem& system, NcclOperation operation,
                        const std::vector<MeasuredNcclOperation>& measured) {
  NcclSystem tables = system;
  tables.latency_excess_s = 0;
  tables.bandwidth_factor = 1;
  double ee = 0, eg = 0, gg = 0, et = 0, gt = 0;
  for (const MeasuredNcclOperation& call : measured) {
    const NcclTime chosen = nccl_choice(tables, operation, static_cast<std::int64_t>(call.bytes));
    const double e = 1 / call.seconds, g = call.bytes / chosen.bandwidth_bytes_per_s / call.seconds;
    const double t = 1 - chosen.latency_s / call.seconds;
    ee += e * e;
    eg += e * g;
    gg += g * g;
    et += e * t;
    gt += g * t;
  }
  const double determinant = ee * gg - eg * eg;
  if (!(determinant > 1e-9 * ee * gg)) throw std::invalid_argument("measured calls of one size determine no bandwidth");
  const double inverse_factor = (ee * gt - eg * et) / determinant;
  if (!(inverse_factor > 0)) throw std::invalid_argument("measured calls do not take longer with more bytes");
  return {(et - eg * inverse_factor) / ee, 1 / inverse_factor};
}

}  // namespace lockstep::sim::collective
