#include "sim/explain/nccl_statements.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "engine/base/any_format.hpp"
#include "engine/base/json.hpp"
#include "sim/explain/transfer.hpp"
#include "sim/job/network_port.hpp"

namespace lockstep::sim::explain {
namespace {

using calib::NcclChannels;
using calib::NcclFacts;
using calib::NcclQuote;

constexpr std::int64_t kLargeBytes = 64 << 20;  // where the bandwidth of an algorithm decides
constexpr const char* kSocket = "Socket";

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

bool has_part(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string all_of(int part, int all, const std::string& what) {
  return (part == all ? "all " : std::to_string(part) + " of ") + std::to_string(all) + " " + what;
}

// Channels over NCCL's own RDMA ("IB") or the plugin of HPC-X ("IBext", "IBext_v8"); null if there are none.
const NcclChannels* by_ib(const NcclFacts& facts) {
  for (const auto& [name, channels] : facts.channels)
    if (name.rfind("IB", 0) == 0) return &channels;
  return nullptr;
}

class Statements {
 public:
  Statements(const NcclLog& log, const NamedMachine& machine)
      : file_(log.file), facts_(log.facts), machine_(machine), nodes_(machine.nodes) {}

  std::vector<NcclStatement> all() {
    if (nodes_ > 1) {
      say_sockets();
      say_nics();
      say_gpudirect();
    }
    say_peers();
    say_nvls();
    say_pcie();
    return std::move(all_);
  }

 private:
  void say(CauseId cause, bool is_present, const std::string& text, const NcclQuote& quote, int count = 0) {
    const bool is_known =
        std::any_of(all_.begin(), all_.end(), [&](const NcclStatement& one) { return one.cause == cause; });
    if (!is_known) all_.push_back({cause, is_present, text, file_, quote, count});
  }

  const std::string* variable(const char* name) const {
    const auto found = facts_.environment.find(name);
    return found == facts_.environment.end() ? nullptr : &found->second;
  }
  // Says that the variable asks for the cause.
  void say_variable(CauseId cause, const char* name, const std::vector<std::string>& values) {
    const std::string* const value = variable(name);
    if (value == nullptr) return;
    for (const std::string& one : values)
      if (upper(*value) == one)
        say(cause, true, std::string(name) + " is " + *value, facts_.environment_quotes.at(name));
  }

  // Which network carries channels between nodes; without logged channels, the one that NCCL chose.
  void say_sockets() {
    int sockets = 0, all = 0;
    const NcclQuote* other = nullptr;
    std::string others;
    for (const auto& [name, channels] : facts_.channels) {
      all += channels.count;
      if (name == kSocket)
        sockets += channels.count;
      else
        other = &channels.first, others = name;
    }
    const int interfaces = facts_.most_interfaces();
    if (sockets > 0 && 2 * sockets > all)
      say(CauseId::sockets, true, "NET/Socket carries " + all_of(sockets, all, "channels between nodes"),
          facts_.channels.at(kSocket).first, interfaces);
    if (all > 0 && sockets == 0)
      say(CauseId::sockets, false, "NET/" + others + " carries " + all_of(all, all, "channels between nodes"), *other);
    if (facts_.networks.size() == 1) {
      const auto& [name, quote] = *facts_.networks.begin();
      say(CauseId::sockets, name == kSocket, "NCCL uses the network " + name, quote, name == kSocket ? interfaces : 0);
    }
    if (facts_.no_ib_device.line > 0 && facts_.networks.empty() && facts_.first_nics.line == 0)
      say(CauseId::sockets, true, "NCCL found no RDMA device", facts_.no_ib_device, interfaces);
    say_variable(CauseId::sockets, "NCCL_IB_DISABLE", {"1"});
    say_variable(CauseId::sockets, "NCCL_NET", {"SOCKET"});
  }

  // Compared with a given network. Used NICs, if the channels of all GPUs of a node are logged, and one for each NIC at least; else the NICs that NCCL
  // found.
  void say_nics() {
    const int expected = std::min(machine_.network.ports, machine_.gpus_per_node);
    if (!machine_.is_network_given || expected < 2 || facts_.first_nics.line == 0) return;
    int nics = facts_.most_nics();
    std::string text = "NCCL found " + std::to_string(nics);
    int used = 0;
    for (const auto& [host, ranks] : facts_.logging_ranks)
      if (static_cast<int>(ranks.size()) >= machine_.gpus_per_node && facts_.used_nics.count(host) > 0 &&
          static_cast<int>(facts_.used_channels.at(host).size()) >= expected)
        used = std::max(used, static_cast<int>(facts_.used_nics.at(host).size()));
    if (used > 0 && used < nics && by_ib(facts_) != nullptr) {
      text = "channels of a node use " + std::to_string(used);
      nics = used;
    }
    say(CauseId::fewer_nics, nics < expected,
        text + (nics == 1 ? " NIC, " : " NICs, ") + std::to_string(expected) + " are expected", facts_.first_nics,
        nics < expected ? nics : 0);
  }

  void say_gpudirect() {
    int all = 0, direct = 0;
    const NcclQuote *with = nullptr, *without = nullptr;
    for (const auto& [name, channels] : facts_.channels) {
      if (name == kSocket) continue;
      all += channels.count;
      direct += channels.gpudirect;
      without = &channels.first;
      if (channels.gpudirect > 0) with = &channels.first_gpudirect;
    }
    const std::string of_all = all_of(all, all, "channels between nodes");
    if (all > 0 && direct == all) say(CauseId::no_gpudirect, false, of_all + " use GPUDirect RDMA", *with);
    if (all > 0 && direct == 0) say(CauseId::no_gpudirect, true, of_all + " lack GPUDirect RDMA", *without);
    // Sending may need a nearer NIC than receiving, so that a host whose ends receive with it lacks nothing.
    if (direct > 0)
      for (const auto& [host, ends] : facts_.receiving)
        if (ends.gpudirect == 0)
          say(CauseId::no_gpudirect, true, host + " receives without GPUDirect RDMA, and others have it", ends.first);
    if (direct > 0 || facts_.channels.count(kSocket) > 0) return;
    if (facts_.rings_use_gpudirect.size() == 1) {
      const auto& [is_used, quote] = *facts_.rings_use_gpudirect.begin();
      say(CauseId::no_gpudirect, !is_used, is_used ? "rings use GPUDirect RDMA" : "rings use no GPUDirect RDMA", quote);
    }
    if (facts_.adapters_gpudirect.size() == 1 && facts_.adapters_gpudirect.count(false) > 0)
      say(CauseId::no_gpudirect, true, "GPUDirect RDMA is disabled for every NIC", facts_.adapters_gpudirect.at(false));
    say_variable(CauseId::no_gpudirect, "NCCL_NET_GDR_LEVEL", {"LOC", "0"});
    say_variable(CauseId::no_gpudirect, "NCCL_IB_GDR_LEVEL", {"LOC", "0"});
  }

  int local(const char* way) const {
    const auto found = facts_.local.find(way);
    return found == facts_.local.end() ? 0 : found->second.count;
  }

  // Some by each: by the distance of the GPUs on PCIe, which is no fault.
  void say_peers() {
    const int peers = local("P2P"), shared = local("SHM"), indirect = local("P2P/indirect");
    const int all = peers + shared + indirect;
    if (all > 0 && peers == all)
      say(CauseId::no_peer_access, false, all_of(all, all, "channels within nodes") + " are by P2P",
          facts_.local.at("P2P").first);
    if (all > 0 && shared == all)
      say(CauseId::no_peer_access, true, all_of(all, all, "channels within nodes") + " are by SHM",
          facts_.local.at("SHM").first);
    if (all > 0) return;
    say_variable(CauseId::no_peer_access, "NCCL_P2P_DISABLE", {"1"});
    say_variable(CauseId::no_peer_access, "NCCL_P2P_LEVEL", {"LOC", "0"});
  }

  void say_nvls() {
    if (!facts_.algorithms.empty() && facts_.algorithms.rbegin()->first >= kLargeBytes) {
      const auto& [bytes, name] = *facts_.algorithms.rbegin();
      const NcclQuote& quote = facts_.algorithm_quotes.at(bytes);
      const bool is_ring = name == "RING", has_switch = has_part(name, "NVLS");
      if (is_ring || has_switch)
        say(CauseId::no_nvls, is_ring, "NCCL chose " + name + " for the largest all-reduce", quote);
    }
    if (const std::string* algorithms = variable("NCCL_ALGO")) {
      const std::string list = upper(*algorithms);
      const bool excludes = !list.empty() && list.front() == '^', names_nvls = has_part(list, "NVLS");
      if (excludes ? names_nvls : !names_nvls && !has_part(list, "TREE"))
        say(CauseId::no_nvls, true, "NCCL_ALGO is " + *algorithms, facts_.environment_quotes.at("NCCL_ALGO"));
    }
    say_variable(CauseId::no_nvls, "NCCL_NVLS_ENABLE", {"0"});
    if (facts_.nvls_support.size() == 1 && facts_.nvls_support.count(false) > 0)
      say(CauseId::no_nvls, true, "NVLS is not available", facts_.nvls_support.at(false));
    if (facts_.nvls_channels)
      say(CauseId::no_nvls, *facts_.nvls_channels == 0, std::to_string(*facts_.nvls_channels) + " NVLS channels",
          facts_.first_nvls_channels);
    if (facts_.nvls_support.size() == 1)
      say(CauseId::no_nvls, false, "NVLS is available", facts_.nvls_support.begin()->second);
  }

  void say_pcie() {
    const bool has_nvls = facts_.nvls_channels.value_or(0) > 0;
    if (has_nvls) say(CauseId::pcie_link, false, "NVLS channels need NVLink", facts_.first_nvls_channels);
    // Bridges join pairs alone, so that a ring over more GPUs crosses PCIe on sound machines.
    const bool has_bridges = machine_.link != nullptr && machine_.link->share_of_bridge > 0;
    if (facts_.ring_types.size() != 1 || has_bridges) return;
    const auto& [type, quote] = *facts_.ring_types.begin();
    const bool is_nvlink = type == "NVL" || type == "NVB";
    if (is_nvlink || type == "PIX" || type == "PXB" || type == "PHB" || type == "SYS")
      say(CauseId::pcie_link, !is_nvlink, "rings within a node have the type " + type, quote);
  }

  std::string file_;
  const NcclFacts& facts_;
  const NamedMachine& machine_;
  int nodes_;
  std::vector<NcclStatement> all_;
};

std::string place_of(const NcclLog& log, const NcclQuote& quote) {
  return log.file + " line " + std::to_string(quote.line);
}

}  // namespace

std::vector<NcclStatement> nccl_statements(const NcclLog& log, const NamedMachine& machine) {
  return Statements(log, machine).all();
}

double log_fact_factor(bool is_present) {
  const double odds = std::log((1 - kFactError) / kFactError);
  return is_present ? odds : -odds;
}

void check_link_types(const NcclLog& log, const NamedMachine& machine) {
  const NetworkEntry* const entry = machine.network.entry;
  if (entry == nullptr || !machine.is_network_given || machine.network.is_kind_assumed) return;
  for (const auto& [type, quote] : log.facts.link_types) {
    const bool is_alone = log.facts.link_types.size() == 1;
    const bool contradicts =
        is_alone && ((type == "RoCE" && is_infiniband(*entry)) || (type == "IB" && entry->id == "roce"));
    if (contradicts)
      throw InputError(place_of(log, quote) + ": NCCL's NICs are of " + type + ", and --network is " +
                       network_words(machine.network) + "; allowed: --network \"" +
                       std::to_string(machine.network.ports) + "x " +
                       format_text::shortest(line_rate_of(*entry, machine.network.port_bytes_per_s) / 1e9) + " Gb/s " +
                       (type == "IB" ? "InfiniBand" : type) + "\"");
  }
  const NcclChannels* const channels = by_ib(log.facts);
  if (channels != nullptr && entry->id == "ethernet")
    throw InputError(place_of(log, channels->first) + ": NCCL uses NET/IB, and --network is " +
                     network_words(machine.network) + ", which has TCP; allowed: RoCE or InfiniBand of that rate");
}

void check_ranks(const NcclLog& log, const std::string& what, int ranks, int nodes) {
  const calib::NcclCommunicator& largest = log.facts.largest;
  if (largest.ranks == 0) return;
  if (log.facts.sizes.count(ranks) == 0)
    throw InputError(place_of(log, largest.first) + ": NCCL has " + std::to_string(largest.ranks) + " ranks, and " +
                     what + " " + std::to_string(ranks) + "; allowed: NCCL's lines of the same run");
  if (largest.ranks != ranks || largest.nodes == 0 || largest.is_mnnvl || largest.nodes == nodes) return;
  throw InputError(place_of(log, largest.first) + ": NCCL has " + std::to_string(largest.nodes) + " nodes, and " +
                   what + " " + std::to_string(nodes) + "; allowed: --gpus-per-node " +
                   std::to_string(std::max(1, largest.ranks / largest.nodes)) + ", as NCCL has them");
}

}  // namespace lockstep::sim::explain
