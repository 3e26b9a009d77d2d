#include "sim/scenario/measured_transfer.hpp"

#include <set>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::sim::scenario {
namespace {

constexpr const char *kBandwidthTest = "bandwidth", *kLatencyTest = "latency";

std::string transfer_name(const Json& key) {
  return key.value("from", "?") + " to " + key.value("to", "?") + ", " + key.value("test", "?") +
         (key.value("both_ways", false) ? ", both ways" : "");
}

std::string facts_text(const Json& key) {
  std::string text = transfer_name(key);
  for (const char* fact : {"nic", "link_type", "mtu_bytes", "queue_pairs", "ports"})
    if (key.contains(fact))
      text += std::string(", ") + fact + " " +
              (key.at(fact).is_string() ? key.at(fact).get<std::string>() : key.at(fact).dump());
  return text;
}

// The only one of the wanted quantity; one in both directions only if there is no other.
const calib::Fit& transfer_of(const JsonNode& node, const calib::Profile* profile, const char* quantity) {
  node.keys({"from", "to", "test"});
  const std::string from = node.at("from").text(), to = node.at("to").text();
  const auto test = node.find("test");
  const std::string wanted = test ? test->text() : "";
  if (profile == nullptr)
    node.fail("a NIC by a transfer needs the profile that has it", "allowed: one in /profile of the cluster");
  const calib::Fit *best = nullptr, *other = nullptr;
  std::set<std::string> others;
  for (const calib::Fit& fit : profile->fits) {
    if (fit.probe != "copy" || fit.key.value("measures", "") != quantity) continue;
    others.insert(transfer_name(fit.key));
    if (fit.key.value("from", "") != from || fit.key.value("to", "") != to) continue;
    if (!wanted.empty() && fit.key.value("test", "") != wanted) continue;
    const bool is_same_direction =
        best != nullptr && best->key.value("both_ways", false) == fit.key.value("both_ways", false);
    if (is_same_direction) other = &fit;
    if (best != nullptr && best->key.value("both_ways", false) && !fit.key.value("both_ways", false)) other = nullptr;
    if (best == nullptr || (best->key.value("both_ways", false) && !fit.key.value("both_ways", false))) best = &fit;
  }
  if (best == nullptr)
    node.fail(std::string("the profile has no ") + quantity + " of a transfer from " + from + " to " + to +
                  (wanted.empty() ? "" : " by " + in_quotes(wanted)),
              others.empty() ? "allowed: a profile by `calibrate import perftest`"
                             : "allowed: " + joined({others.begin(), others.end()}));
  if (other != nullptr)
    node.fail(std::string("the profile has more than one ") + quantity + ": " + facts_text(best->key) + "; and " +
                  facts_text(other->key),
              best->key.value("test", "") != other->key.value("test", "")
                  ? "allowed: \"test\": " + in_quotes(best->key.value("test", "")) + " or " +
                        in_quotes(other->key.value("test", ""))
                  : "allowed: a profile with one of them");
  return *best;
}

void note_input(const JsonNode& node, const std::string& value, const calib::Profile& profile, const calib::Fit& fit,
                double bytes) {
  const std::string kind = fit.kind == "measured" ? "measured" : "published";
  node.document().note(
      {node.pointer(), value, kind, profile.name + ": " + transfer_name(fit.key) + ", " + format_bytes(bytes)});
}

}  // namespace

Json transfer_schema() {
  const Json text{{"type", "string"}, {"minLength", 1}};
  return {{"type", "object"},
          {"properties", {{"from", text}, {"to", text}, {"test", text}}},
          {"required", {"from", "to"}},
          {"additionalProperties", false}};
}

bool names_transfer(const JsonNode& node) {
  return node.is_object() && (node.has("from") || node.has("to"));
}

double measured_nic_bandwidth(const JsonNode& node, const calib::Profile* profile) {
  const calib::Fit& fit = transfer_of(node, profile, kBandwidthTest);
  const calib::Measured largest = profile->curve("copy", fit.key).back();
  const double bytes_per_s = largest.x / largest.seconds;
  note_input(node, format_bandwidth(bytes_per_s), *profile, fit, largest.x);
  return bytes_per_s;
}

double measured_nic_latency(const JsonNode& node, const calib::Profile* profile) {
  const calib::Fit& fit = transfer_of(node, profile, kLatencyTest);
  const calib::Measured smallest = profile->curve("copy", fit.key).front();
  const double latency_s = smallest.seconds / (fit.key.value("round_trip", false) ? 4 : 2);
  note_input(node, format_seconds(latency_s), *profile, fit, smallest.x);
  return latency_s;
}

}  // namespace lockstep::sim::scenario
