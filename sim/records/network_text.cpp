#include "sim/records/network_text.hpp"

#include <algorithm>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/records/names.hpp"
#include "sim/records/names_in_texts.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr double kNoRate = 0;

std::string compute_part(const std::string& text) {
  const std::string small = lower_case(text);
  const std::size_t begin = small.find("compute:");
  if (begin == std::string::npos) return text;
  std::string part = text.substr(begin + 8);
  const std::string small_part = lower_case(part);
  for (const char* other : {"management:", "storage:"}) {
    const std::size_t end = small_part.find(other);
    if (end != std::string::npos) part = part.substr(0, std::min(part.size(), end));
  }
  return part;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  const std::regex separators(R"(,|\+|;| and | / )");
  for (std::sregex_token_iterator it(text.begin(), text.end(), separators, -1), end; it != end; ++it)
    parts.push_back(it->str());
  return parts;
}

// "100 Gb/s", "200Gb/Sec", "40GbE", "400Gbps", "10GigE", "10 Gigabit"; the higher end of "20-25 Gb/s". Bytes
// ("500 GB/s") are no line rate. "Gigabit Ethernet" alone is 1 Gbit/s.
double line_rate(const std::string& part) {
  std::smatch found;
  static const std::regex giga(R"((\d{1,6}(?:\.\d+)?)[ -]?(?:G[bB]E\b|GE\b|Gb|Gbit|Gbps|[Gg]ig[Ee]\b|[Gg]igabit|G\b))");
  if (std::regex_search(part, found, giga)) return std::stod(found[1].str()) * 1e9;
  static const std::regex mega(R"((\d{1,9}(?:\.\d+)?) ?(?:Mb|Mbit|Mbps))");
  if (std::regex_search(part, found, mega)) return std::stod(found[1].str()) * 1e6;
  return mentions(part, "gigabit ethernet") || mentions(part, "gige") ? 1e9 : kNoRate;
}

// "8x HDR", "4 x Mellanox", "NDR x8", "8 NICs", "dual-rail".
int port_count(const std::string& part) {
  std::smatch found;
  static const std::regex before(R"((?:^|[^\w.])(\d{1,2}) ?x(?: |[A-Z]|\d{2,3} ?G))");
  static const std::regex after(R"((?:^|\s)x ?(\d{1,2})\b)");
  static const std::regex counted(R"((\d{1,2}) (?:NICs|nics|HCAs|ports|rails|adapters|cards))");
  for (const std::regex* pattern : {&before, &after, &counted})
    if (std::regex_search(part, found, *pattern)) {
      const int ports = std::stoi(found[1].str());
      if (ports >= 1 && ports <= 32) return ports;
    }
  return mentions(part, "dual-rail") || mentions(part, "dual rail") ? 2 : 0;
}

std::optional<NetworkFound> read_part(const Catalogue& catalogue, const std::string& part) {
  const NetworkEntry* entry = network_in_text(catalogue, part);
  // An adapter alone says its generation.
  static const std::vector<std::pair<const char*, const char*>> adapters{{"connectx-7", "ndr"},
                                                                         {"connectx-6", "hdr"},
                                                                         {"connectx-5", "edr"},
                                                                         {"connectx-4", "edr"},
                                                                         {"connectx-3", "fdr"}};
  for (const auto& [adapter, generation] : adapters)
    if (entry == nullptr && mentions(part, adapter)) entry = catalogue.networks.named(generation);
  if (entry == nullptr) return std::nullopt;
  NetworkFound found{entry};
  const int ports = port_count(part);
  found.ports = std::max(1, ports);
  found.ports_stated = ports > 0;
  found.line_bits_per_s = line_rate(part);
  // A stated rate counts where it is not the entry's own: "EFA 400 Gb/s", "InfiniBand 100 Gb/s".
  const double stated = found.line_bits_per_s / 8 * (entry->rdma ? kRdmaShare : 1);
  const double off = entry->port_bytes_per_s > 0 ? stated / entry->port_bytes_per_s : 0;
  const bool by_rate = stated > 0 && !entry->is_whole_node && (entry->port_bytes_per_s == 0 || off < 0.8 || off > 1.25);
  found.port_bytes_per_s = by_rate ? stated : entry->port_bytes_per_s;
  return found;
}

}  // namespace

std::optional<NetworkFound> read_network_text(const Catalogue& catalogue, const std::string& text, int gpus_per_node) {
  if (text.size() > kLongestSearched) return std::nullopt;
  if (const NetworkReading reading = read_network(catalogue.networks, text, gpus_per_node); reading.found)
    return reading.found;
  std::optional<NetworkFound> best;
  for (const std::string& part : parts_of(compute_part(text))) {
    const std::optional<NetworkFound> found = read_part(catalogue, part);
    if (found && (!best || found->ports * found->port_bytes_per_s > best->ports * best->port_bytes_per_s)) best = found;
  }
  // "10 GbE class, own knowledge" says the rate of the network named before it.
  if (best && best->port_bytes_per_s == 0) {
    best->line_bits_per_s = line_rate(text);
    best->port_bytes_per_s = best->line_bits_per_s / 8 * (best->entry->rdma ? kRdmaShare : 1);
  }
  // "100GbE ConnectX-4, RoCEv2": Ethernet used without TCP.
  const bool is_rdma = mentions(text, "roce") || mentions(text, "rdma");
  const NetworkEntry* roce = catalogue.networks.named("roce");
  if (best && is_rdma && !best->entry->rdma && roce != nullptr) {
    best->entry = roce;
    best->port_bytes_per_s *= kRdmaShare;
  }
  return best;
}

bool says_no_network(const std::string& text) {
  static const std::vector<std::string> words{"single node", "single-node", "single server", "single machine",
                                              "one node",    "intra-node",  "one server",    "one machine"};
  const std::string small = lower_case(text);
  for (const char* word : {"unknown", "unspecified", "not specified", "not known"})
    if (small == word) return true;
  return small.empty() || small.rfind("none", 0) == 0 || small == "n/a" || small == "na" || small == "-" ||
         std::any_of(words.begin(), words.end(), [&](const auto& word) { return mentions(small, word); });
}

}  // namespace records
}  // namespace lockstep::sim
