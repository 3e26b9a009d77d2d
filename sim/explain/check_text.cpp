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

std::string expectation_of(const CheckResult& result) {
  return result.good_log ? "the speed in " + result.good_log->file : "the expected speed";
}

std::string verdict_of(const CheckResult& result) {
  const std::string of_expected = percent(result.share) + " of " + expectation_of(result);
  const std::string interval = "80 % interval: " + percent(result.low_share) + " to " + percent(result.high_share);
  switch (result.speed) {
    case Speed::slow:
      return "slow: " + of_expected + " (" + interval + ")";
    case Speed::fast:
      return "faster than expected: " + of_expected + " (" + interval + ")";
    case Speed::normal:
      break;
  }
  return "normal: " + of_expected + " (" + interval + ")";
}

std::string least_text(const CheckResult& result, std::optional<double> least) {
  if (!least) return "";
  return "--at-least " + short_number(*least) + ": " + (result.is_accepted(least) ? "reached" : "not reached") + ".\n";
}

// "12 times as likely", "1/12 as likely"; at most 1,000.
std::string ratio_text(double log_ratio) {
  const double ratio = std::exp(std::abs(log_ratio));
  if (ratio > 1000) return log_ratio > 0 ? "more than 1,000 times as likely" : "less than 1/1,000 as likely";
  const std::string times = short_number(ratio < 10 ? std::round(10 * ratio) / 10 : std::round(ratio));
  return log_ratio > 0 ? times + " times as likely" : "1/" + times + " as likely";
}

std::string evidence_text(const CheckResult& result, const std::optional<Evidence>& evidence, const char* nothing) {
  if (!evidence) return nothing;
  const Observation& one = result.observations[evidence->observation];
  return one.name + ": " + value_of(one, evidence->expected_s) + " predicted, " + value_of(one, one.measured_s) +
         " measured; " + ratio_text(evidence->log_ratio) + " as with the other causes";
}

std::string text_for(const CheckResult& result, const RankedCause& cause) {
  const std::string text =
      evidence_text(result, cause.most_for, "no measurement is likelier with this cause than with the others");
  if (result.observations.size() == 1) return text;
  return text + "; median error " + percent(std::exp(cause.median_error) - 1);
}

std::string text_against(const CheckResult& result, const RankedCause& cause) {
  return evidence_text(result, cause.most_against,
                       "no measurement is less likely with this cause than with the others");
}

const char* title_of(calib::StepPart part) {
  switch (part) {
    case calib::StepPart::gemm:
      return "matrix multiplication (GEMM)";
    case calib::StepPart::attention:
      return "attention";
    case calib::StepPart::memory:
      return "other kernels and copies";
    case calib::StepPart::communication:
      return "exposed communication";
    case calib::StepPart::host:
      return "waiting for the host";
    case calib::StepPart::idle:
      break;
  }
  return "idle";
}

std::string signed_seconds(double seconds) {
  return (seconds < 0 ? "-" : "+") + format_seconds(std::abs(seconds));
}

std::vector<std::string> row_of(const std::string& title, double measured_s, const Expected& expected) {
  return {title, format_seconds(measured_s), format_seconds(expected.seconds),
          format_seconds(expected.low_s) + " - " + format_seconds(expected.high_s),
          signed_seconds(measured_s - expected.seconds)};
}

std::string collectives_text(const StepBreakdown& breakdown) {
  if (breakdown.collectives.empty()) return "";
  TextTable table;
  table.add({"NCCL, overlapped too", "ranks", "size", "calls", "measured", "exposed", "expected"});
  for (const CollectiveTime& one : breakdown.collectives)
    table.add({one.operation, one.ranks > 0 ? std::to_string(one.ranks) : "-",
               one.bytes > 0 ? format_bytes(static_cast<double>(one.bytes)) : "-", std::to_string(one.calls),
               format_seconds(one.measured_s), format_seconds(one.exposed_s),
               one.expected ? format_seconds(one.expected->seconds) : "-"});
  return "\n" + table.text();
}

std::string straggler_text(const StepBreakdown& breakdown) {
  if (breakdown.ranks.size() < 2) return "";
  if (!breakdown.straggler) return "\nNo rank lags behind the others by 2 % of the step.\n";
  const TracedRank& slowest = breakdown.ranks[*breakdown.straggler];
  return "\nSlowest rank: " + std::to_string(slowest.rank) + " (" + slowest.file +
         "). Without waiting for others it takes " + format_seconds(slowest.own_s) + ", " +
         format_seconds(breakdown.wait_for_straggler_s) + " more than the median of the others.\n";
}

std::string breakdown_text(const StepBreakdown& breakdown) {
  TextTable table;
  table.add({"where the step's time goes", "measured", "expected", "80 % interval", "lost"});
  for (const PartTime& one : breakdown.parts)
    if (one.measured_s > 0 || one.expected.seconds > 0)
      table.add(row_of(title_of(one.part), one.measured_s, one.expected));
  table.add(row_of("step", breakdown.measured_s, breakdown.expected));
  return "\n" + table.text() + collectives_text(breakdown) + straggler_text(breakdown);
}

Json breakdown_json(const StepBreakdown& breakdown) {
  Json parts = Json::array(), collectives = Json::array(), ranks = Json::array();
  for (const PartTime& one : breakdown.parts)
    parts.push_back({{"part", name_of(one.part)},
                     {"measured_s", one.measured_s},
                     {"expected_s", one.expected.seconds},
                     {"low_s", one.expected.low_s},
                     {"high_s", one.expected.high_s},
                     {"lost_s", one.lost_s()}});
  for (const CollectiveTime& one : breakdown.collectives) {
    Json entry{{"operation", one.operation},
               {"calls", one.calls},
               {"measured_s", one.measured_s},
               {"exposed_s", one.exposed_s}};
    if (one.ranks > 0) entry["ranks"] = one.ranks;
    if (one.bytes > 0) entry["bytes"] = one.bytes;
    if (one.expected) {
      entry["expected_s"] = one.expected->seconds;
      entry["low_s"] = one.expected->low_s;
      entry["high_s"] = one.expected->high_s;
    }
    collectives.push_back(entry);
  }
  for (const TracedRank& one : breakdown.ranks)
    ranks.push_back({{"rank", one.rank}, {"file", one.file}, {"step_s", one.seconds}, {"own_s", one.own_s}});
  Json json{{"step", breakdown.step},
            {"measured_s", breakdown.measured_s},
            {"expected_s", breakdown.expected.seconds},
            {"low_s", breakdown.expected.low_s},
            {"high_s", breakdown.expected.high_s},
            {"parts", parts},
            {"collectives", collectives},
            {"ranks", ranks}};
  if (breakdown.straggler) {
    json["straggler"] = breakdown.ranks[*breakdown.straggler].rank;
    json["wait_for_straggler_s"] = breakdown.wait_for_straggler_s;
  }
  return json;
}

Json evidence_json(const CheckResult& result, const Evidence& evidence) {
  const Observation& one = result.observations[evidence.observation];
  return {{"name", one.name},
          {"file", one.source},
          {"measured_s", one.measured_s},
          {"expected_s", evidence.expected_s},
          {"log_likelihood_ratio", evidence.log_ratio}};
}

std::string causes_text(const CheckResult& result) {
  std::string text = result.speed == Speed::slow ? "Causes, the most probable first:\n"
                                                 : "Not slow. If something is wrong nevertheless, by probability:\n";
  for (const RankedCause& cause : result.causes) {
    if (cause.probability < kLeastShown) continue;
    const bool is_unknown = cause.id == CauseId::normal && result.speed == Speed::slow;
    text += "  " + percent(cause.probability) + "  " +
            (is_unknown ? "none of these: chance, or a fault that is not simulated" : cause.title) + "\n";
    text += "       for: " + text_for(result, cause) + "\n       against: " + text_against(result, cause) + "\n";
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
  if (result.good_log) {
    const GoodLog& log = *result.good_log;
    text += "Expected: the times in " + log.file + ", which has " + percent(log.share_of_predicted) +
            " of the predicted speed.\n";
    for (const std::string& line : log.left_out) text += line + ".\n";
  }
  TextTable table;
  table.add({"", "measured", "expected", "80 % interval", "of expected"});
  for (const Observation& one : result.observations)
    table.add({one.name, value_of(one, one.measured_s), value_of(one, one.expected.seconds), interval_of(one),
               percent(one.expected.seconds / one.measured_s)});
  text += "\n" + table.text() + "\nVerdict: " + verdict_of(result) + ".\n" + least_text(result, least);
  for (const StepBreakdown& breakdown : result.breakdowns) text += breakdown_text(breakdown);
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
               {"high_s", one.expected.high_s},
               {"predicted_s", one.predicted.seconds}};
    if (one.bus_factor_bytes > 0) {
      entry["measured_bus_bandwidth"] = one.bus_factor_bytes / one.measured_s;
      entry["expected_bus_bandwidth"] = one.bus_factor_bytes / one.expected.seconds;
    }
    observations.push_back(entry);
  }
  for (const RankedCause& cause : result.causes) {
    Json entry{{"cause", name_of(cause.id)},
               {"title", cause.title},
               {"probability", cause.probability},
               {"prior", cause.prior},
               {"for", text_for(result, cause)},
               {"against", text_against(result, cause)},
               {"median_error", std::exp(cause.median_error) - 1},
               {"command", cause.command},
               {"gain", cause.gain}};
    if (cause.most_for) entry["most_for"] = evidence_json(result, *cause.most_for);
    if (cause.most_against) entry["most_against"] = evidence_json(result, *cause.most_against);
    causes.push_back(entry);
  }
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
  for (const StepBreakdown& breakdown : result.breakdowns) json["breakdowns"].push_back(breakdown_json(breakdown));
  if (result.good_log)
    json["good_log"] = {{"file", result.good_log->file},
                        {"share_of_predicted", result.good_log->share_of_predicted},
                        {"left_out", result.good_log->left_out}};
  return json;
}

}  // namespace lockstep::sim::explain
