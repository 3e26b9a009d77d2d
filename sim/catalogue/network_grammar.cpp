#include "sim/catalogue/network_grammar.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/edit_distance.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/catalogue/network_words.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
inline namespace catalogue {
namespace {

constexpr Range kRates{1e6, 100e12};      // bit/s per port
constexpr double kInfiniBandFrom = 56e9;  // bit/s; rates from FDR on are assumed to be InfiniBand if no kind is given
constexpr double kUsualRate = 100e9;      // bit/s, of examples
const char* const kInfiniBand = "ib";
const char* const kEthernet = "ethernet";

using Networks = Entries<NetworkEntry>;

struct Refused {
  std::string wrong;
};

std::string rate_words(double bits_per_s) {
  if (bits_per_s < 1e9) return short_number(bits_per_s / 1e6) + " Mb/s";
  return short_number(bits_per_s / 1e9) + " Gb/s";
}

bool is_same_rate(double a, double b) {
  return std::abs(a - b) <= 1e-9 * b;
}

// Finds the generation of the entry's family with that line rate, or else returns the entry itself.
const NetworkEntry& generation_of(const Networks& networks, const NetworkEntry& entry, double bits_per_s) {
  if (entry.line_bits_per_s > 0 || entry.family.empty()) return entry;
  for (const NetworkEntry& other : networks)
    if (other.family == entry.family && is_same_rate(other.line_bits_per_s, bits_per_s)) return other;
  return entry;
}

const NetworkEntry& kind_of(const Networks& networks, const NetworkWords& words) {
  if (const NetworkEntry* entry = networks.named(words.kind)) return *entry;
  if (words.bare_number) throw Refused{short_number(*words.bare_number) + " has no unit"};
  throw Refused{in_quotes(words.kind) + " is not a kind of network that is known"};
}

// Finds the entry for a rate that has no kind.
const NetworkEntry& assumed_kind(const Networks& networks, const WrittenRate& rate) {
  const bool is_infiniband = !rate.is_ethernet && rate.bits_per_s >= kInfiniBandFrom;
  const NetworkEntry* const kind = networks.with_id(is_infiniband ? kInfiniBand : kEthernet);
  if (kind == nullptr) throw Refused{"it has no kind"};
  return *kind;
}

NetworkFound with_rate(const Networks& networks, const NetworkEntry& kind, const WrittenRate& rate) {
  if (!(rate.bits_per_s >= kRates.low && rate.bits_per_s <= kRates.high))
    throw Refused{"a port's rate is outside of " + rate_words(kRates.low) + " to " + rate_words(kRates.high)};
  if (rate.is_ethernet && !kind.is_ethernet) throw Refused{"GbE is Ethernet, not " + kind.name};
  const NetworkEntry& entry = generation_of(networks, kind, rate.bits_per_s);
  const bool is_standard = is_same_rate(entry.line_bits_per_s, rate.bits_per_s);
  if (!entry.needs_rate && !is_standard && entry.line_bits_per_s > 0)
    throw Refused{entry.name + " has " + rate_words(entry.line_bits_per_s) + " a port"};
  if (!entry.needs_rate && !is_standard) throw Refused{entry.name + " stands without a rate"};
  NetworkFound found{&entry};
  found.line_bits_per_s = rate.bits_per_s;
  found.port_bytes_per_s = is_standard && entry.port_bytes_per_s > 0
                               ? entry.port_bytes_per_s
                               : rate.bits_per_s / 8 * (entry.rdma ? kRdmaShare : 1);
  return found;
}

NetworkFound without_rate(const NetworkEntry& entry) {
  if (entry.needs_rate) throw Refused{"the rate of " + entry.name + " is missing"};
  NetworkFound found{&entry};
  found.line_bits_per_s = entry.line_bits_per_s;
  found.port_bytes_per_s = entry.port_bytes_per_s;
  return found;
}

// Returns the ports of a node. With "per N GPUs" they are scaled to the node's GPUs, which may be fewer than N.
int ports_of(const NetworkWords& words, int gpus_per_node) {
  const double count = words.count.value_or(1);
  if (!words.per_gpus) return static_cast<int>(count);
  const double ports = count * gpus_per_node / *words.per_gpus;
  if (!(ports >= 1 && ports <= double(kMostGpusPerNode) * gpus_per_node && ports == std::floor(ports)))
    throw Refused{short_number(count) + " ports per " + short_number(*words.per_gpus) +
                  " GPUs are no whole ports of a node of " + std::to_string(gpus_per_node)};
  return static_cast<int>(ports);
}

NetworkFound found_in(const Networks& networks, const NetworkWords& words, int gpus_per_node) {
  if (!words.wrong.empty()) throw Refused{words.wrong};
  if (words.count && !(*words.count >= 1 && *words.count <= kMostGpusPerNode))
    throw Refused{short_number(*words.count) + " ports are outside of 1 to " + short_number(kMostGpusPerNode)};
  if (words.bytes_per_s) throw Refused{"bytes where networks are told in bits"};
  if (words.kind.empty() && !words.rate) throw Refused{"it has no rate"};
  const NetworkEntry& kind = words.kind.empty() ? assumed_kind(networks, *words.rate) : kind_of(networks, words);
  if (kind.is_whole_node && (words.count || words.rate || words.per_gpus))
    throw Refused{kind.name + " is the whole network of a node and stands alone"};
  NetworkFound found = words.rate ? with_rate(networks, kind, *words.rate) : without_rate(kind);
  found.is_kind_assumed = words.kind.empty() && !words.rate->is_ethernet;
  found.ports_stated = words.count.has_value() || words.per_gpus || kind.is_whole_node;
  found.ports = ports_of(words, gpus_per_node);
  return found;
}

// The kind that is most similar; "" if none is.
std::string nearest_kind(const Networks& networks, const std::string& kind) {
  const std::string plain = plain_name(kind);
  std::string best;
  std::size_t least = plain.size() / 3 + 1;
  for (const NetworkEntry& entry : networks) {
    std::vector<std::string> names = entry.aliases;
    names.insert(names.begin(), {entry.id, entry.name});
    for (const std::string& name : names) {
      const std::size_t distance = edit_distance(plain, plain_name(name));
      if (distance >= least) continue;
      least = distance;
      best = entry.name;
    }
  }
  return best;
}

// Texts that the user may have meant, closest first.
std::vector<std::string> candidates(const Networks& networks, const NetworkWords& words) {
  std::string letters;  // the kind, without numbers that lack a unit
  for (char c : words.kind)
    if (c < '0' || c > '9') letters += c;
  const std::string count =
      words.count ? short_number(std::clamp(std::round(*words.count), 1.0, double{kMostGpusPerNode})) + "x " : "";
  const std::string per = words.per_gpus ? " per GPU" : "";
  double bits = words.rate ? words.rate->bits_per_s : 0;
  if (words.bytes_per_s) bits = 8 * *words.bytes_per_s;
  if (bits == 0 && words.bare_number) bits = *words.bare_number * 1e9;
  bits = std::clamp(bits == 0 ? kUsualRate : bits, kRates.low, kRates.high);
  std::vector<std::string> texts;
  const NetworkEntry* const generation = networks.named(words.kind);
  if (generation != nullptr && words.rate && !generation->family.empty())
    texts.push_back(count + rate_words(bits) + " " + generation->family + per);
  for (const std::string& kind : {nearest_kind(networks, words.kind), nearest_kind(networks, letters)}) {
    if (kind.empty()) continue;
    if (!words.rate && !words.bare_number) texts.push_back(count + kind + per);
    texts.push_back(count + rate_words(bits) + " " + kind + per);
    texts.push_back(count + kind + per);
    texts.push_back(kind);
  }
  texts.push_back(count +
                  (words.rate && words.rate->is_ethernet ? short_number(bits / 1e9) + " GbE" : rate_words(bits)) + per);
  return texts;
}

bool can_be_read(const Networks& networks, const std::string& text) {
  try {
    found_in(networks, cut_network(text), 1);
  } catch (const Refused&) {
    return false;
  }
  return true;
}

}  // namespace

NetworkReading read_network(const Entries<NetworkEntry>& networks, const std::string& text, int gpus_per_node) {
  const NetworkWords words = cut_network(text);
  NetworkReading reading;
  try {
    reading.found = found_in(networks, words, gpus_per_node);
    return reading;
  } catch (const Refused& refused) {
    reading.wrong = refused.wrong;
  }
  for (const std::string& candidate : candidates(networks, words))
    if (reading.nearest.empty() && can_be_read(networks, candidate)) reading.nearest = candidate;
  return reading;
}

std::string network_words(const NetworkFound& network) {
  const NetworkEntry& entry = *network.entry;
  if (entry.is_whole_node) return entry.name;
  const std::string rate = network.line_bits_per_s > 0 ? rate_words(network.line_bits_per_s) + " " : "";
  return std::to_string(network.ports) + "x " + rate + entry.name;
}

std::string network_description(const NetworkFound& network) {
  const NetworkEntry& entry = *network.entry;
  const char* const each = entry.is_whole_node ? " a node" : network.ports > 1 ? " each" : "";
  return network_words(network) + " (" + format_bandwidth(network.port_bytes_per_s) + each +
         (entry.rdma ? " by RDMA)" : " by TCP)");
}

std::string network_grammar_text(const Entries<NetworkEntry>& networks) {
  std::vector<std::string> kinds, rated;
  for (const NetworkEntry& entry : networks)
    if (!entry.is_whole_node) (entry.needs_rate ? kinds : rated).push_back(entry.name);
  return std::string("network: ") + kNetworkGrammar + ", or a class such as aws-p4d\n" +
         "  COUNT  ports of a node, with \"per GPU\" of each GPU, with \"per 4 GPUs\" of so many: 1 to " +
         std::to_string(kMostGpusPerNode) + "; without it one\n" +
         "  RATE   of a port, in bits: 100 GbE, 400 Gb/s, 400 Gbit/s, 25 Gbps, 1 Tb/s; or one of " + joined(rated) +
         "\n" + "  KIND   one of " + joined(kinds) +
         ", TCP, IB, RoCEv2; GbE is TCP without it, and another rate InfiniBand from " + rate_words(kInfiniBandFrom) +
         " on, TCP below\n" +
         "  such as \"100 GbE\", \"8x 400 Gb/s InfiniBand\", \"400 Gb/s per GPU\", \"8x NDR\", \"4x 100 Gb/s RoCE\"; "
         "case and "
         "blanks do not matter\n";
}

}  // namespace catalogue
}  // namespace lockstep::sim
