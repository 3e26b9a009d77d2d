#include "calib/facts.hpp"

#include <cstdio>
#include <map>
#include <vector>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

std::string text_of(const Json& json, const char* name) {
  const auto member = json.find(name);
  return member != json.end() && member->is_string() ? member->get<std::string>() : "";
}

double number_of(const Json& json, const char* name) {
  const auto member = json.find(name);
  return member != json.end() && member->is_number() ? member->get<double>() : 0;
}

std::string megahertz(double hz) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f MHz", hz / 1e6);
  return text;
}

// "18 NVLinks 4.0 to switch"; lists links to several kinds of devices one after another.
std::string nvlinks_text(const Json& links) {
  std::map<std::string, int> counts;
  for (const Json& link : links) ++counts[text_of(link, "version") + " to " + text_of(link, "remote")];
  std::vector<std::string> parts;
  for (const auto& [kind, count] : counts) parts.push_back(std::to_string(count) + " NVLinks " + kind);
  return joined(parts);
}

std::string device_text(const Json& device) {
  if (!device.is_object()) return device.dump();  // in profiles written by other programs
  std::vector<std::string> parts;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) parts.push_back(part);
  };
  add(text_of(device, "name"));
  add(text_of(device, "pci"));
  if (device.contains("numa_node")) add("NUMA node " + device["numa_node"].dump());
  if (number_of(device, "pcie_generation") > 0)
    add("PCIe " + device["pcie_generation"].dump() + " x" + std::to_string(int(number_of(device, "pcie_width"))));
  if (number_of(device, "pcie_bandwidth") > 0) add(format_bandwidth(number_of(device, "pcie_bandwidth")) + " one way");
  if (number_of(device, "clock_hz") > 0)
    add(megahertz(number_of(device, "clock_hz")) + " of " + megahertz(number_of(device, "highest_clock_hz")));
  for (const Json& reason : device.value("clock_reasons", Json::array()))
    if (reason.is_string()) add("clock: " + reason.get<std::string>());
  if (number_of(device, "power_limit_w") > 0) add(short_number(number_of(device, "power_limit_w")) + " W at most");
  if (device.contains("nvlinks")) add(nvlinks_text(device["nvlinks"]));
  return joined(parts);
}

std::string pairs_text(const Json& pairs) {
  std::vector<std::string> words;
  for (const auto& [pair, link] : pairs.items())
    words.push_back(pair + " " + (link.is_string() ? link.get<std::string>() : link.dump()));
  return joined(words);
}

std::string list_text(const Json& facts, const char* name, const char* kind) {
  std::string text;
  const Json devices = facts.value(name, Json::array());
  for (std::size_t i = 0; devices.is_array() && i < devices.size(); ++i)
    text += "  " + std::string(kind) + std::to_string(i) + ": " + device_text(devices[i]) + "\n";
  return text;
}

}  // namespace

std::string facts_text(const Json& facts) {
  std::string text;
  for (const auto& [name, value] : facts.items()) {
    if (name == "gpus") {
      text += list_text(facts, "gpus", "GPU");
    } else if (name == "nics") {
      text += list_text(facts, "nics", "NIC");
    } else if (name == "topology" && value.is_object()) {
      for (const char* kind : {"links", "peers"})
        if (!value.value(kind, Json::object()).empty())
          text += "  " + std::string(kind) + ": " + pairs_text(value[kind]) + "\n";
    } else if (name == "memory_bytes" && value.is_number()) {
      text += "  memory: " + short_number(value.get<double>() * 1e-9) + " GB a device\n";
    } else if (name == "memory_bandwidth" && value.is_number()) {
      text += "  memory's bandwidth: " + short_number(value.get<double>() * 1e-9) + " GB/s a device\n";
    } else {
      text += "  " + name + ": " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
    }
  }
  return text;
}

std::string gpus_text(const Json& facts) {
  std::vector<std::string> order;
  std::map<std::string, int> counts;
  for (const Json& gpu : facts.value("gpus", Json::array())) {
    const std::string name = text_of(gpu, "name");
    if (counts[name]++ == 0) order.push_back(name);
  }
  if (order.empty()) return "no NVIDIA GPU";
  std::vector<std::string> parts;
  for (const std::string& name : order)
    parts.push_back(name.empty()
                        ? std::to_string(counts[name]) + " of NVIDIA on the PCI bus (" + text_of(facts, "nvml") + ")"
                        : std::to_string(counts[name]) + " x " + name);
  return joined(parts);
}

}  // namespace lockstep::calib
