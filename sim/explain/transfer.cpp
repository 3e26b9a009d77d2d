#include "sim/explain/transfer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/job/network_port.hpp"

namespace lockstep::sim::explain {
namespace {

// A packet has these bytes besides its payload. InfiniBand (volume 1, 5.2): local route 8, base transport 12, both
// checksums 6. RoCE v2 on Ethernet: preamble and gap 20, Ethernet 14 and its checksum 4, IPv4 20, UDP 8, base
// transport 12, checksum 4.
constexpr double kInfinibandHeader = 8 + 12 + 6, kRoceHeader = 20 + 14 + 4 + 20 + 8 + 12 + 4;
constexpr int kLargestMtu = 4096;  // of RDMA; used if the file does not print it

// Standard deviation of log(seconds) among sound NICs, assumed. Bandwidth is sharp: PCIe and completions cost a few per
// cent. Latency differs by the number of switches between the nodes, one to five.
constexpr double kBandwidthDeviation = 0.04, kLatencyDeviation = 0.5;

constexpr double kMostOfBound = 1.03;  // of the upper bound: clocks and rounding; more is another network

constexpr double kAdapterLatency = 0.8e-6;  // seconds of both adapters and their PCIe paths, assumed

void check_link_type(const std::string& file, const std::string& link_type, const NetworkFound& network) {
  if (network.is_kind_assumed || link_type.empty()) return;
  const bool contradicts =
      (link_type == "Ethernet" && is_infiniband(*network.entry)) || (link_type == "IB" && network.entry->id == "roce");
  if (contradicts)
    throw InputError(file + ": has link type " + link_type + ", and --network is " + network_words(network) +
                     "; allowed: a network of the file's link type, or its rate alone, such as \"400 Gb/s\"");
}

NetworkFound network_of(const std::string& file, const std::string& network, int gpus_per_node,
                        const Catalogue& catalogue) {
  if (network.empty())
    throw InputError(file + ": does not log the NIC's rate; allowed: with --network, such as \"400 Gb/s InfiniBand\"");
  const NetworkReading reading =
      read_network(catalogue.networks, network, std::max(1, gpus_per_node > 0 ? gpus_per_node : kUsualGpusPerNode));
  if (!reading.found)
    throw InputError("--network " + network + ": " + reading.wrong +
                     (reading.nearest.empty() ? "" : "; nearest: " + reading.nearest));
  return *reading.found;
}

double line_bytes_per_s(const NetworkFound& network) {
  const double bits =
      network.line_bits_per_s > 0 ? network.line_bits_per_s : line_rate_of(*network.entry, network.port_bytes_per_s);
  return bits / 8 / (network.entry->is_whole_node ? std::max(1, network.entry->node_ports) : 1);
}

TransferFacts facts_of(const calib::TransferTest& test, const NetworkFound& network) {
  TransferFacts facts;
  facts.is_latency = test.quantity == calib::TransferQuantity::latency;
  facts.directions = test.is_both_ways ? 2 : 1;
  const int mtu = test.mtu_bytes > 0 ? test.mtu_bytes : kLargestMtu;
  const std::string type = !test.link_type.empty() ? test.link_type : is_infiniband(*network.entry) ? "IB" : "Ethernet";
  facts.bytes_per_s = test.ports * line_bytes_per_s(network) * payload_share(type, mtu);
  facts.latency_s = (network.entry->latency_s + kAdapterLatency) * (test.is_round_trip() ? 2 : 1);
  facts.text = (test.device.empty() ? "" : test.device + ", ") + type + ", MTU " + std::to_string(mtu) + " B" +
               (test.mtu_bytes > 0 ? "" : " (assumed)") + ": at most " + format_bandwidth(facts.bytes_per_s) +
               (test.ports > 1 ? " of " + std::to_string(test.ports) + " ports of " : " of a port of ") +
               network_words(network);
  if (mtu < kLargestMtu)
    facts.text += "; with an MTU of " + std::to_string(kLargestMtu) + " B at most " +
                  format_bandwidth(facts.bytes_per_s * payload_share(type, kLargestMtu) / payload_share(type, mtu));
  return facts;
}

std::string varied_facts(const calib::TransferTest& test) {
  return (test.link_type.empty() ? "" : test.link_type + ", ") +
         (test.mtu_bytes > 0 ? "MTU " + std::to_string(test.mtu_bytes) + " B, " : "") +
         std::to_string(test.queue_pairs) + (test.queue_pairs == 1 ? " queue pair, " : " queue pairs, ") +
         std::to_string(test.ports) + (test.ports == 1 ? " port" : " ports");
}

void check_rate(const std::string& file, const MeasuredCollective& one, const calib::TransferRow& row) {
  const double bytes_per_s = row.bytes / row.seconds;
  if (one.transfer->is_latency || bytes_per_s <= kMostOfBound * one.transfer->bytes_per_s) return;
  throw InputError(file + " line " + std::to_string(row.line) + ": " + format_bandwidth(bytes_per_s) +
                   " in a direction, and " + one.question.network + " carries at most " +
                   format_bandwidth(one.transfer->bytes_per_s) +
                   "; allowed: --network of the NIC that was measured, the title of a test in both directions (-b), " +
                   "the head of one over two ports (Dual-port: ON)");
}

}  // namespace

bool is_infiniband(const NetworkEntry& network) {
  return network.family == "InfiniBand";
}

double payload_share(const std::string& link_type, int mtu_bytes) {
  return mtu_bytes / (mtu_bytes + (link_type == "IB" ? kInfinibandHeader : kRoceHeader));
}

std::vector<MeasuredCollective> measured_transfers(const std::string& text, const std::string& file,
                                                   const std::string& network, int gpus_per_node,
                                                   const Catalogue& catalogue) {
  std::vector<std::string> refused;
  const std::vector<calib::TransferTest> tests = calib::read_perftest(text, file, refused);
  const NetworkFound found = network_of(file, network, gpus_per_node, catalogue);
  struct Curve {
    MeasuredCollective measured;
    std::map<std::int64_t, std::vector<double>> seconds;  ///< by size
  };
  using Run = std::tuple<std::string, bool, std::string>;
  std::map<std::pair<Run, std::string>, Curve> all;  // by run, and the facts that its bandwidth depends on
  std::map<Run, std::set<std::string>> facts_of_runs;
  for (const calib::TransferTest& test : tests) {
    check_link_type(file, test.link_type, found);
    const Run run{test.name(), test.is_both_ways, test.device};
    const std::string facts = varied_facts(test);
    facts_of_runs[run].insert(facts);
    auto& [one, seconds] = all[{run, facts}];
    one.file = file;
    one.operation = test.name() + (test.is_both_ways ? ", both ways" : "");
    one.question.network = network;
    one.question.gpus = {2};
    one.question.gpus_per_node = 1;
    one.transfer = facts_of(test, found);
    for (const calib::TransferRow& row : test.rows)
      if (one.transfer->is_latency || row.bytes >= kLatencyBytes) {
        check_rate(file, one, row);
        seconds[static_cast<std::int64_t>(row.bytes)].push_back(row.seconds);
      }
  }
  std::vector<MeasuredCollective> measured;
  for (auto& [key, entry] : all) {
    for (const auto& [bytes, seconds] : entry.seconds) entry.measured.points.push_back({bytes, median(seconds), 0});
    if (facts_of_runs[key.first].size() > 1) entry.measured.operation += ", " + key.second;
    if (!entry.measured.points.empty()) measured.push_back(entry.measured);
  }
  if (measured.empty())
    throw InputError(file + ": no bandwidth of messages of 64 KiB or more; allowed: -s 65536, or -a for all sizes");
  if (!refused.empty())
    measured.front().transfer->text += "; " + std::to_string(refused.size()) +
                                       (refused.size() == 1 ? " row is left out: " : " rows are left out, first: ") +
                                       refused.front();
  return measured;
}

std::vector<Expected> predict_transfer(const MeasuredCollective& measured, const FaultVariant* variant) {
  const TransferFacts& facts = *measured.transfer;
  Workload workload;
  ClusterSpec& cluster = workload.scenario.cluster;
  cluster.nic.per_node = 1;
  cluster.nic.link = {facts.bytes_per_s, facts.latency_s / 2};
  workload.scenario.communication.launch_overhead_s = 0;
  if (variant != nullptr && variant->change_workload) variant->change_workload(workload);
  const double by_host_s = workload.scenario.communication.launch_overhead_s;
  std::vector<Expected> times;
  for (const MeasuredCollective::Point& point : measured.points) {
    const double bytes_s = static_cast<double>(point.bytes) / cluster.nic.link.bandwidth_bytes_per_s;
    times.push_back(facts.is_latency
                        ? with_deviation(2 * cluster.nic.link.latency_s + by_host_s + bytes_s, kLatencyDeviation)
                        : with_deviation(bytes_s, kBandwidthDeviation));
  }
  return times;
}

std::string transfer_text(const MeasuredCollective& measured) {
  return "Read: " + measured.operation + ", " + measured.transfer->text;
}

}  // namespace lockstep::sim::explain
