#include "sim/scenario/measured_link.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::sim::scenario {
namespace {

constexpr int kMostHops = 16;

bool is_both_ways(const Json& key) {
  return key.value("both_ways", false);
}

std::string described(const Json& key) {
  std::string text = key.value("from", "?") + " to " + key.value("to", "?");
  for (const char* name : {"link", "memory", "test", "engine"})
    if (key.contains(name)) text += ", " + key.value(name, "");
  return text + (is_both_ways(key) ? ", both ways" : "");
}

bool matches(const calib::Fit& fit, const Json& wanted) {
  if (fit.probe != "copy" || is_both_ways(fit.key) != is_both_ways(wanted)) return false;
  for (const char* name : {"from", "to", "memory", "link"})
    if (wanted.contains(name) && fit.key.value(name, "") != wanted[name]) return false;
  return true;
}

// Training copies from pinned memory, so pinned copies win among those that match otherwise.
const calib::Fit& copy_of(const JsonNode& node, const calib::Profile& profile) {
  const calib::Fit* best = nullptr;
  std::set<std::string> others;
  for (const calib::Fit& fit : profile.fits) {
    if (fit.probe == "copy" && fit.key.value("from", "") != fit.key.value("to", "")) others.insert(described(fit.key));
    if (!matches(fit, node.json())) continue;
    if (best == nullptr || (fit.key.value("memory", "") == "pinned" && best->key.value("memory", "") != "pinned"))
      best = &fit;
  }
  if (best == nullptr)
    node.fail("the profile has no copy from " + described(node.json()),
              others.empty() ? "" : "allowed: " + joined({others.begin(), others.end()}));
  return *best;
}

// Parses "NV18" as 18 NVLinks; 0 for any other name.
int nvlinks_of(const calib::Fit& copy) {
  const std::string link = copy.key.value("link", "");
  if (link.size() < 3 || link.size() > 4 || link.compare(0, 2, "NV") != 0 ||
      !std::all_of(link.begin() + 2, link.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return 0;
  return std::stoi(link.substr(2));
}

struct Line {
  double bandwidth_bytes_per_s;
  double latency_s;
  std::string range;
};

// Fits latency and bandwidth. With a single size they cannot be told apart. Logs of nvbandwidth have one size, which is
// so large that latency does not matter.
Line line_of(const JsonNode& node, const calib::Profile& profile, const calib::Fit& copy) {
  const std::vector<calib::Measured> points = profile.curve("copy", copy.key);
  if (points.front().x == points.back().x)
    return {points.front().x / points.front().seconds, 0, format_bytes(points.front().x) + ", latency unknown"};
  const calib::Line line = calib::fit_line(points);
  if (!(line.seconds_per_unit > 0))
    node.fail("copies from " + described(copy.key) + " take no longer with more bytes",
              "allowed: a profile with larger ones");
  double worst = 0;
  for (const calib::Measured& point : points)
    worst = std::max(worst, std::abs(line.at(point.x) - point.seconds) / point.seconds);
  return {1 / line.seconds_per_unit, line.latency_s,
          format_bytes(points.front().x) + " to " + format_bytes(points.back().x) + ", worst residual " +
              short_number(100 * worst) + " %"};
}

void check_place(const JsonNode& node, const LinkPlace& place) {
  const std::string from = node.at("from").text(), to = node.at("to").text();
  if (from == to) node.fail("a copy within " + from + " goes over no link");
  const bool is_of_host = from == "host" || to == "host";
  if ((is_of_host ? place.hops_of_host : place.hops_between_gpus) == 0)
    node.fail("a copy from " + from + " to " + to + " does not go over this link",
              std::string("allowed: one ") + (is_of_host ? "between GPUs" : "between host and GPU"));
}

int hops_of(const JsonNode& node, const LinkPlace& place) {
  if (const auto hops = node.find("hops")) return static_cast<int>(hops->integer(1, kMostHops));
  const bool is_of_host = node.at("from").text() == "host" || node.at("to").text() == "host";
  return is_of_host ? place.hops_of_host : place.hops_between_gpus;
}

}  // namespace

Json copy_schema() {
  const Json text{{"type", "string"}, {"minLength", 1}};
  return {{"type", "object"},
          {"properties",
           {{"from", text},
            {"to", text},
            {"both_ways", {{"type", "boolean"}}},
            {"memory", text},
            {"link", text},
            {"hops", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostHops}}}}},
          {"required", {"from", "to"}},
          {"additionalProperties", false}};
}

LinkSpec measured_link(const JsonNode& node, const calib::Profile* profile, const LinkPlace& place) {
  node.keys({"from", "to", "both_ways", "memory", "link", "hops"});
  for (const char* name : {"memory", "link"})
    if (const auto text = node.find(name)) text->text();
  if (const auto both_ways = node.find("both_ways")) both_ways->boolean();
  check_place(node, place);
  const int hops = hops_of(node, place);
  if (profile == nullptr)
    node.fail("a link by a copy needs the profile that has it", "allowed: one in /profile of the cluster");
  const calib::Fit& copy = copy_of(node, *profile);
  const int nvlinks = place.is_one_nvlink ? nvlinks_of(copy) : 1;
  if (nvlinks == 0)
    node.fail("the profile does not say how many NVLinks carry copies from " + described(copy.key),
              "allowed: a copy with a \"link\" such as NV2");
  const Line line = line_of(node, *profile, copy);
  const LinkSpec link{line.bandwidth_bytes_per_s / nvlinks, line.latency_s / hops};

  const std::string kind = copy.kind == "measured" ? "measured" : "published",
                    source = profile->name + ": copies from " + described(copy.key) + " on " + profile->device.name +
                             ", " + line.range;
  node.document().note({node.pointer() + "/bandwidth", format_bandwidth(link.bandwidth_bytes_per_s), kind,
                        source + (nvlinks > 1 ? ", over " + std::to_string(nvlinks) + " NVLinks" : "")});
  node.document().note({node.pointer() + "/latency", format_seconds(link.latency_s), kind,
                        source + (hops > 1 ? ", shared by " + std::to_string(hops) + " links" : "")});
  return link;
}

}  // namespace lockstep::sim::scenario
