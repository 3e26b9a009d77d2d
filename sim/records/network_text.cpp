#include "sim/records/network_text.hpp"

#include <regex>

#include "sim/records/names.hpp"

namespace lockstep::sim {
namespace {

constexpr double kRdmaShare = 0.94;  // of a line rate that an application reaches with RDMA: 11.75 of 12.5 GB/s
constexpr double kNoRate = 0;

std::string compute_part(const std::string& text) {
  const std::string small = lower(text);
  const std::size_t begin = small.find("compute:");
  if (begin == std::string::npos) return text;
  std::string part = text.substr(begin + 8);
  const std::string small_part = lower(part);
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

// "100 Gb/s", "200Gb/Sec", "40GbE", "400Gbps"; the higher end of "20-25 Gb/s". Bytes ("500 GB/s") are no line rate.
double line_rate(const std::string& part) {
  std::smatch found;
  static const std::regex pattern(R"((\d+(?:\.\d+)?) ?(?:G[bB]E\b|Gb|Gbit|Gbps|gigabit))");
  return std::regex_search(part, found, pattern) ? std::stod(found[1].str()) * 1e9 : kNoRate;
}

int port_count(const std::string& part) {
  std::smatch found;
  static const std::regex pattern(R"((?:^|[^\w.])(\d{1,2}) ?x(?: |[A-Z]))");
  return std::regex_search(part, found, pattern) ? std::stoi(found[1].str()) : 0;
}

std::optional<NetworkFound> read_part(const Catalogue& catalogue, const std::string& part) {
  const NetworkEntry* entry = catalogue.network(part);
  if (entry == nullptr) return std::nullopt;
  NetworkFound found{entry};
  const int ports = port_count(part);
  found.ports = std::max(1, ports);
  found.ports_stated = ports > 0;
  found.line_bits_per_s = line_rate(part);
  const bool by_rate = found.line_bits_per_s > 0 && (entry->port_bytes_per_s == 0 || entry->id == "ib");
  found.port_bytes_per_s =
      by_rate ? found.line_bits_per_s / 8 * (entry->rdma ? kRdmaShare : 1) : entry->port_bytes_per_s;
  return found;
}

}  // namespace

std::optional<NetworkFound> read_network_text(const Catalogue& catalogue, const std::string& text) {
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
  const NetworkEntry* roce = catalogue.network("roce");
  if (best && is_rdma && !best->entry->rdma && roce != nullptr) {
    best->entry = roce;
    best->port_bytes_per_s *= kRdmaShare;
  }
  return best;
}

bool says_no_network(const std::string& text) {
  return text.empty() || lower(text).rfind("none", 0) == 0 || mentions(text, "single node") ||
         mentions(text, "single server");
}

}  // namespace lockstep::sim
