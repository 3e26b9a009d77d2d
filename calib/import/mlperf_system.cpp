#include "calib/import/mlperf_system.hpp"

#include <regex>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr std::size_t kLongest = 512;  // regular expressions recurse by character

bool has(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern, std::regex::icase));
}

// Parts that ";", "," and "+" separate, without a label ("Compute: ") and without names of adapters.
std::vector<std::string> networks_in(const std::string& text) {
  static const std::regex adapter(R"(\b(NVIDIA|Mellanox|Broadcom)\b|\b(ConnectX|CX|BlueField|BF)[\s-]*\d*)",
                                  std::regex::icase),
      label(R"(^[^:]*:)"), blanks(R"(\s+)"), per_second(R"(b/sec\b)", std::regex::icase);
  std::vector<std::string> parts(1);
  for (const char c : text.substr(0, kLongest))
    if (c == ';' || c == ',' || c == '+')
      parts.emplace_back();
    else
      parts.back() += c;
  for (std::string& part : parts) {
    if (has(part, "storage|management|frontend|front-end")) part.clear();
    for (const std::regex* cut : {&label, &adapter, &blanks}) part = std::regex_replace(part, *cut, " ");
    part = std::regex_replace(part, per_second, "b/s");
    const std::size_t from = part.find_first_not_of(" -"), to = part.find_last_not_of(" -");
    part = from == std::string::npos ? "" : part.substr(from, to + 1 - from);
  }
  return parts;
}

// In bits: "GB" and "Gb" differ by case alone.
bool has_rate(const std::string& network) {
  static const std::regex bytes(R"(\d\s*GB(/s|ps)?\b)");
  return has(network, R"(\d\s*G|\b(FDR|EDR|HDR|NDR|XDR)\b)") && !std::regex_search(network, bytes);
}

}  // namespace

std::string text_in(const Json& system, const std::string& name) {
  const auto member = system.find(name);
  return member != system.end() && member->is_string() ? member->get<std::string>() : "";
}

std::string network_of_system(const Json& system) {
  std::string first;
  for (const char* name : {"host_networking", "host_network_card_count"})
    for (const std::string& network : networks_in(text_in(system, name))) {
      if (!has_rate(network)) continue;
      if (has(network, R"(\b(InfiniBand|IB|RoCE|FDR|EDR|HDR|NDR|XDR)\b)")) return network;
      if (first.empty()) first = network;
    }
  return first;
}

std::string link_of_system(const Json& system) {
  const std::string text = text_in(system, "accelerator_interconnect").substr(0, kLongest);
  if (has(text, "nvlink|nvswitch|xgmi|infinity")) return "";
  std::smatch match;
  if (std::regex_search(text, match, std::regex(R"(PCIe?[^0-9]*([2-6]))", std::regex::icase)))
    return "PCIe " + match[1].str() + ".0";
  return "";
}

}  // namespace lockstep::calib
