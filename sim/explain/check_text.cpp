#include <cmath>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/explain/check.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim::explain {
namespace {

constexpr double kLeastShown = 0.01;  // probability

std::string percent(double share) {
  return short_number(std::round(100 * share)) + " %";
}

std::string value_of(const Observation& one, double seconds) {
  return one.bus_factor_bytes > 0 ? format_bandwidth(one.bus_factor_bytes / seconds) : format_seconds(seconds);
}

std::string interval_of(const Observation& one) {
  const bool is_bandwidth = one.bus_factor_bytes > 0;
  return value_of(one, is_bandwidth ? one.expected.high_s : one.expected.low_s) + " - " +
         value_of(one, is_bandwidth ? one.expected.low_s : one.expected.high_s);
}

std::string verdict_of(const CheckResult& result) {
  const std::string interval = "80 % interval: " + percent(result.low_share) + " to " + percent(result.high_share);
  switch (result.speed) {
    case Speed::slow:
      return "slow: " + percent(result.share) + " of the expected speed (" + interval + ")";
    case Speed::fast:
      return "faster than expected: " + percent(result.share) + " of the expected speed (" + interval + ")";
    case Speed::normal:
      break;
  }
  return "normal: " + percent(result.share) + " of the expected speed (" + interval + ")";
}

std::string least_text(const CheckResult& result, std::optional<double> least) {
  if (!least) return "";
  return "--at-least " + short_number(*least) + ": " + (result.is_accepted(least) ? "reached" : "not reached") + ".\n";
}

std::string causes_text(const CheckResult& result) {
  std::string text = result.speed == Speed::slow ? "Causes, the most probable first:\n"
                                                 : "Not slow. If something is wrong nevertheless, by probability:\n";
  for (const RankedCause& cause : result.causes) {
    if (cause.probability < kLeastShown) continue;
    const bool is_unknown = cause.id == CauseId::normal && result.speed == Speed::slow;
    text += "  " + percent(cause.probability) + "  " +
            (is_unknown ? "none of these: chance, or a fault that is not simulated" : cause.title) + "\n";
    text += "       for: " + cause.evidence_for + "\n       against: " + cause.evidence_against + "\n";
    if (cause.id == CauseId::normal) continue;
    text += "       to tell: " + cause.command +
            "\n       gain if removed: " + short_number(std::round(100 * cause.gain) / 100) + " times the speed\n";
  }
  return text +
         "Probability: how well a cause explains the measurement, times its prior. Half of all measurements are "
         "assumed to be "
         "normal, the other half is divided as in published cases.\n";
}

}  // namespace

std::string check_text(const CheckResult& result, std::optional<double> least) {
  std::string text;
  for (const std::string& line : result.read) text += line + ".\n";
  TextTable table;
  table.add({"", "measured", "expected", "80 % interval", "of expected"});
  for (const Observation& one : result.observations)
    table.add({one.name, value_of(one, one.measured_s), value_of(one, one.expected.seconds), interval_of(one),
               percent(one.expected.seconds / one.measured_s)});
  text += "\n" + table.text() + "\nVerdict: " + verdict_of(result) + ".\n" + least_text(result, least);
  const bool is_clear = result.speed != Speed::slow && result.causes.front().id == CauseId::normal;
  return is_clear ? text : text + "\n" + causes_text(result);
}

Json check_json(const CheckResult& result, std::optional<double> least) {
  Json observations = Json::array(), causes = Json::array();
  for (const Observation& one : result.observations) {
    Json entry{{"name", one.name},
               {"file", one.source},
               {"measured_s", one.measured_s},
               {"expected_s", one.expected.seconds},
               {"low_s", one.expected.low_s},
               {"high_s", one.expected.high_s}};
    if (one.bus_factor_bytes > 0) {
      entry["measured_bus_bandwidth"] = one.bus_factor_bytes / one.measured_s;
      entry["expected_bus_bandwidth"] = one.bus_factor_bytes / one.expected.seconds;
    }
    observations.push_back(entry);
  }
  for (const RankedCause& cause : result.causes)
    causes.push_back({{"cause", name_of(cause.id)},
                      {"title", cause.title},
                      {"probability", cause.probability},
                      {"for", cause.evidence_for},
                      {"against", cause.evidence_against},
                      {"command", cause.command},
                      {"gain", cause.gain}});
  Json json{{"schema", "lockstep/check/1"},
            {"verdict", name_of(result.speed)},
            {"sentence", verdict_of(result)},
            {"accepted", result.is_accepted(least)},
            {"share", result.share},
            {"share_low", result.low_share},
            {"share_high", result.high_share},
            {"observations", observations},
            {"causes", causes}};
  if (least) json["at_least"] = *least;
  return json;
}

}  // namespace lockstep::sim::explain
