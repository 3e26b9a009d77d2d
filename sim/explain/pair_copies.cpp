#include "sim/explain/pair_copies.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "calib/import/imported.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/cluster/node_layout.hpp"
#include "sim/job/gpu_name.hpp"

namespace lockstep::sim::explain {
namespace {

// Standard deviation of log(seconds) among sound nodes, assumed: copy engines reach more of NVLink than NCCL does, which
// the catalogue's bandwidths are of, and PCIe switches differ.
constexpr double kPairDeviation = 0.15;
constexpr std::size_t kMostOdd = 8;

AllReduceQuestion question_of(const MeasuredCollective& measured, const FaultVariant* variant) {
  AllReduceQuestion question = measured.question;
  if (variant != nullptr && !variant->link.empty()) question.link = variant->link;
  question.sizes = {"1 MB"};
  return question;
}

// A node, and the bandwidth of its links in the catalogue over that which an all-reduce reaches of them.
struct Node {
  ClusterSpec cluster;
  double copies_over_all_reduce = 1;
};

double bandwidth_of_links(const ClusterSpec& cluster) {
  const IntraNodeSpec& node = cluster.intra_node;
  return node.kind == IntraNodeKind::pcie_tree  ? node.pcie.gpu_link.bandwidth_bytes_per_s
         : node.kind == IntraNodeKind::nvswitch ? node.gpu_link.bandwidth_bytes_per_s
                                                : 0;
}

double catalogue_bandwidth(const Catalogue& catalogue, const NamedMachine& machine) {
  if (machine.link == nullptr) return 0;
  return machine.link->is_nvlink ? catalogue.nvlink_of(*machine.link, *machine.gpu).bandwidth_bytes_per_s
                                 : machine.link->gpu_link.bandwidth_bytes_per_s;
}

// The node that is simulated for an all-reduce over these GPUs.
Node node_of(const MeasuredCollective& measured, const Catalogue& catalogue, const FaultVariant* variant) {
  std::optional<Catalogue> changed;
  if (variant != nullptr && variant->change_gpu) {
    changed = catalogue;
    if (const GpuEntry* entry = read_gpu_name(catalogue.gpus, measured.question.gpu).entry)
      changed->gpus.change(std::string(entry->id), variant->change_gpu);
  }
  const AllReduceQuestion question = question_of(measured, variant);
  const int gpus = question.gpus.front();
  Node node;
  double reached = 0;
  const auto keep = [&](Workload& workload) {
    reached = bandwidth_of_links(workload.scenario.cluster);
    if (variant != nullptr && variant->change_workload) variant->change_workload(workload);
    node.cluster = workload.scenario.cluster;
  };
  (void)all_reduce_times(question, changed ? *changed : catalogue, 1, keep);
  const double links =
      catalogue_bandwidth(catalogue, machine_of(catalogue, question.gpu, question.link, "", gpus, gpus));
  if (reached > 0 && links > 0) node.copies_over_all_reduce = links / reached;
  return node;
}

double copy_s(const Node& node, int from, int to, double bytes) {
  const NodeLayout layout(node.cluster);
  double bandwidth = std::numeric_limits<double>::infinity();
  for (int link : layout.route(from, to))
    bandwidth = std::min(bandwidth, layout.links()[static_cast<std::size_t>(link)].bandwidth_bytes_per_s);
  return bytes / (node.copies_over_all_reduce * bandwidth) + layout.latency_s(from, to);
}

// Rounds to three digits. Sums over equal routes may differ in their last bits.
double rounded_time(double seconds) {
  const double unit = std::pow(10, std::floor(std::log10(seconds)) - 2);
  return std::round(seconds / unit) * unit;
}

int gpu_in(const Json& key, const char* end) {
  return std::atoi(key.at(end).get<std::string>().c_str() + 3);  // "gpu7"
}

struct Pair {
  int from = 0, to = 0;
  double seconds = 0;
};

void check_pairs_are_known(const std::string& file, const NamedMachine& machine) {
  const std::string& link = machine.link != nullptr ? machine.link->id : "";
  if (link == "nvlink1" || link == "nvlink2" || link == "nvlink-bridge")
    throw InputError(file + ": pairs of " + machine.gpu->name + " by " + machine.link->name +
                     " have different numbers of NVLinks, which the matrix does not tell; allowed: --link of PCIe, or "
                     "GPUs behind NVSwitches");
}

}  // namespace

std::vector<MeasuredCollective> measured_pairs(const std::string& text, const std::string& file,
                                               const CheckedMachine& given, const Catalogue& catalogue) {
  const calib::Imported log = calib::import_p2p_bandwidth(text, file);
  const int gpus = log.device.count;
  const NamedMachine machine = machine_of(catalogue, given.gpu, given.link, "", gpus, gpus);
  check_pairs_are_known(file, machine);
  MeasuredCollective one{file, "copies", {}, {}};
  one.question.gpu = given.gpu;
  one.question.link = given.link;
  one.question.gpus = {gpus};
  one.question.gpus_per_node = gpus;
  const Node node = node_of(one, catalogue, nullptr);
  // By direction, and by expected time.
  std::map<std::pair<bool, double>, std::vector<Pair>> groups;
  std::int64_t bytes = 0;
  for (const calib::Sample& sample : log.samples) {
    const Pair pair{gpu_in(sample.key, "from"), gpu_in(sample.key, "to"), median(sample.seconds)};
    const bool is_both_ways = sample.key.at("both_ways").get<bool>();
    if (is_both_ways && pair.from > pair.to) continue;  // the same two copies
    bytes = static_cast<std::int64_t>(sample.key.at("bytes").get<double>());
    const double expected_s = copy_s(node, pair.from, pair.to, static_cast<double>(bytes));
    groups[{is_both_ways, rounded_time(expected_s)}].push_back(pair);
  }
  std::vector<MeasuredCollective> all, odd_ones;
  const auto add = [&](std::vector<MeasuredCollective>& to, const PairFacts& facts, double seconds) {
    to.push_back(one);
    to.back().pairs = facts;
    to.back().operation = facts.text;
    to.back().points = {{bytes, seconds}};
  };
  for (const auto& [kind, pairs] : groups) {
    const bool is_both_ways = kind.first;
    std::vector<double> seconds;
    for (const Pair& pair : pairs) seconds.push_back(pair.seconds);
    const double usual_s = median(seconds);
    std::vector<Pair> odd;
    for (const Pair& pair : pairs)
      if (usual_s < kOddShare * pair.seconds) odd.push_back(pair);
    std::sort(odd.begin(), odd.end(), [](const Pair& a, const Pair& b) { return a.seconds > b.seconds; });
    if (odd.size() > kMostOdd) odd.resize(kMostOdd);
    const std::string way = is_both_ways ? ", both ways" : "";
    const std::string count = std::to_string(pairs.size()) + (pairs.size() == 1 ? " pair" : " pairs");
    add(all, {pairs.front().from, pairs.front().to, is_both_ways, false, count + way}, usual_s);
    for (const Pair& pair : odd)
      add(odd_ones,
          {pair.from, pair.to, is_both_ways, true,
           "GPU " + std::to_string(pair.from) + " to " + std::to_string(pair.to) + way},
          pair.seconds);
  }
  for (MeasuredCollective& group : all) group.pairs->has_odd = !odd_ones.empty();
  all.insert(all.end(), odd_ones.begin(), odd_ones.end());
  return all;
}

std::string pairs_text(const MeasuredCollective& measured, const Catalogue& catalogue) {
  const AllReduceQuestion& question = measured.question;
  const int gpus = question.gpus.front();
  const NamedMachine machine = machine_of(catalogue, question.gpu, question.link, "", gpus, gpus);
  return "Read: copies between " + std::to_string(gpus) + " " + machine.gpu->name +
         (machine.link != nullptr ? " by " + machine.link->name : "");
}

std::vector<Expected> predict_pairs(const MeasuredCollective& measured, const Catalogue& catalogue,
                                    const FaultVariant* variant) {
  const PairFacts& pair = *measured.pairs;
  const bool is_sound = pair.has_odd && !pair.is_odd;  // the fault is of odd pairs' links
  const Node node = node_of(measured, catalogue, is_sound ? nullptr : variant);
  std::vector<Expected> times;
  for (const MeasuredCollective::Point& point : measured.points)
    times.push_back(with_deviation(copy_s(node, pair.from, pair.to, static_cast<double>(point.bytes)), kPairDeviation));
  return times;
}

}  // namespace lockstep::sim::explain
