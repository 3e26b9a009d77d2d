#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/explain/check.hpp"
#include "sim/explain/check_text.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim::explain {
namespace {

constexpr std::size_t kMostRankRows = 8, kMostPathRanks = 4;

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

// "12 times as likely", "1/12 as likely"; at most 1,000.
std::string ratio_text(double log_ratio) {
  const double ratio = std::exp(std::abs(log_ratio));
  if (ratio < 1.05) return "about as likely";
  if (ratio > 1000) return log_ratio > 0 ? "more than 1,000 times as likely" : "less than 1/1,000 as likely";
  const std::string times = short_number(ratio < 10 ? std::round(10 * ratio) / 10 : std::round(ratio));
  return log_ratio > 0 ? times + " times as likely" : "1/" + times + " as likely";
}

std::string evidence_text(const CheckResult& result, const std::optional<Evidence>& evidence, const char* nothing) {
  if (!evidence) return nothing;
  const Observation& one = result.scored[evidence->observation];
  return one.name + ": " + value_of(one, evidence->expected_s) + " predicted, " +
         value_of(one, one.measured_s - one.offset_s) + " measured; " + ratio_text(evidence->log_ratio) +
         " as with the other causes";
}

std::string place_text(const NcclStatement& statement) {
  return statement.file + " line " + std::to_string(statement.quote.line);
}

// Returns the statement of NCCL's lines, if it speaks for the cause or, else, against it.
std::string statement_text(const RankedCause& cause, bool is_for) {
  if (!cause.statement || cause.statement->is_present != is_for) return "";
  return cause.statement->text + " (" + place_text(*cause.statement) + "), " +
         ratio_text(log_fact_factor(cause.statement->is_present)) + "; ";
}

std::string signed_seconds(double seconds) {
  return (seconds < 0 ? "-" : "+") + format_seconds(std::abs(seconds));
}

std::vector<std::string> row_of(const std::string& title, double measured_s, const Expected& expected) {
  return {title, format_seconds(measured_s), format_seconds(expected.seconds),
          format_seconds(expected.low_s) + " - " + format_seconds(expected.high_s),
          signed_seconds(measured_s - expected.seconds)};
}

std::string table_text(const TextRows& rows, bool begins_with_names) {
  TextTable table(begins_with_names);
  for (const std::vector<std::string>& row : rows) table.add(row);
  return "\n" + table.text();
}

std::string breakdown_text(const StepBreakdown& breakdown) {
  std::string text = table_text(part_rows(breakdown), true);
  if (!breakdown.collectives.empty()) text += table_text(collective_rows(breakdown), true);
  if (breakdown.matched_calls > 0) text += table_text(rank_rows(breakdown), true);
  const std::string straggler = straggler_text(breakdown);
  if (!straggler.empty()) text += "\n" + straggler + "\n";
  const std::string path = critical_path_text(breakdown);
  return path.empty() ? text : text + path + "\n";
}

// Lists the longest first: "40.0 ms matrix multiplication (GEMM), 3.00 ms idle".
std::string seconds_list(const std::map<std::string, double>& seconds, std::size_t most) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, value] : seconds) sorted.emplace_back(-value, name);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    text += (i > 0 ? ", " : "") + format_seconds(-sorted[i].first) + " " + sorted[i].second;
  return text + (sorted.size() > most ? ", ..." : "");
}

double relative_error(const RankedCause& cause) {
  return std::exp(cause.median_error) - 1;
}

// How far the shown causes are from the measurement: probabilities only compare the causes with one another.
std::string fit_text(const CheckResult& result) {
  if (result.speed != Speed::slow || result.causes.empty()) return "";
  const RankedCause& first = result.causes.front();
  if (relative_error(first) < kPoorFit) return "";
  const RankedCause* closest = &first;
  for (const RankedCause& cause : result.causes)
    if (cause.id != CauseId::normal && cause.probability >= kLeastShown && cause.median_error < closest->median_error)
      closest = &cause;
  const std::string error = percent_text(relative_error(*closest)) + " off";
  if (relative_error(*closest) >= kPoorFit)
    return "No cause in this list explains the measurement well: the closest one is " + error +
           ". To test a suspicion, give it as an option, such as another --network.\n";
  return "The closest fit is \"" + cause_title(result, *closest) + "\", " + error + "; the most probable cause is " +
         percent_text(relative_error(first)) + " off.\n";
}

std::string rare_causes_text(const CheckResult& result) {
  std::string text;
  for (const RankedCause& cause : result.causes)
    if (cause.probability < kLeastShown) text += (text.empty() ? "" : "; ") + cause.title;
  return text.empty() ? "" : "  below 1 %: " + text + "\n";
}

std::string causes_text(const CheckResult& result) {
  std::string text = result.speed == Speed::slow ? "Causes, the most probable first:\n"
                                                 : "Not slow. If something is wrong nevertheless, by probability:\n";
  for (const RankedCause& cause : result.causes) {
    if (cause.probability < kLeastShown) continue;
    text += "  " + percent_text(cause.probability) + "  " + cause_title(result, cause) + "\n";
    text += "       for: " + text_for(result, cause) + "\n       against: " + text_against(result, cause) + "\n";
    if (cause.id == CauseId::normal) continue;
    const char* lead = "       to tell: ";
    for (const DecidingTest& test : cause.tests) {
      text += lead + test_text(test) + "\n";
      lead = "                ";
    }
    text += "       gain if removed: " + short_number(std::round(100 * cause.gain) / 100) + " times the speed\n";
  }
  return text + rare_causes_text(result) + fit_text(result) + first_test_text(result) +
         "Probability: how well a cause explains the measurement, times its prior. Half of all measurements are "
         "assumed to be "
         "normal, the other half is divided as in published cases.\n";
}

}  // namespace

std::string percent_text(double share) {
  const double digits = share < 0.01 ? 10 : 1;
  return short_number(std::round(digits * 100 * share) / digits) + " %";
}

std::string verdict_text(const CheckResult& result) {
  return verdict_text(result, expectation_of(result));
}

std::string verdict_text(const LogVerdict& result, const std::string& expectation) {
  const std::string of_expected = percent_text(result.share) + " of " + expectation;
  const std::string interval =
      "80 % interval: " + percent_text(result.low_share) + " to " + percent_text(result.high_share);
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

std::string text_for(const CheckResult& result, const RankedCause& cause) {
  const std::string text =
      statement_text(cause, true) +
      evidence_text(result, cause.most_for, "no measurement is likelier with this cause than with the others");
  if (result.scored.size() == 1) return text;
  return text + "; median error " + percent_text(std::exp(cause.median_error) - 1);
}

std::string first_test_text(const CheckResult& result) {
  struct Share {
    int causes = 0;
    double probability = 0;
  };
  std::map<std::string, Share> by_test;  // the first test of each cause
  std::string first;
  for (const RankedCause& cause : result.causes) {
    if (cause.probability < kLeastShown || cause.tests.empty()) continue;
    Share& share = by_test[cause.tests.front().run];
    ++share.causes;
    share.probability += cause.probability;
  }
  for (const auto& [run, share] : by_test)
    if (first.empty() || share.probability > by_test[first].probability) first = run;
  if (first.empty()) return "";
  const Share& share = by_test[first];
  return "Begin with: " + first + ". It decides on " +
         (share.causes == 1 ? "one of these causes, " : std::to_string(share.causes) + " of these causes, together ") +
         percent_text(share.probability) + ".\n";
}

std::string text_against(const CheckResult& result, const RankedCause& cause) {
  return statement_text(cause, false) +
         evidence_text(result, cause.most_against,
                       "no measurement is less likely with this cause than with the others");
}

const char* part_title(calib::StepPart part) {
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

std::string cause_title(const CheckResult& result, const RankedCause& cause) {
  const bool is_unknown = cause.id == CauseId::normal && result.speed == Speed::slow;
  return is_unknown ? "none of these: chance, or a fault that is not simulated" : cause.title;
}

std::vector<std::string> read_lines(const CheckResult& result) {
  std::vector<std::string> lines = result.read;
  for (const NcclStatement& one : result.statements) {
    const bool is_ranked = std::any_of(result.causes.begin(), result.causes.end(),
                                       [&](const RankedCause& cause) { return cause.id == one.cause; });
    if (one.is_present && !is_ranked)
      lines.push_back(place_text(one) + ": " + one.text + ", which does not change what is predicted here");
  }
  if (!result.good_log) return lines;
  const GoodLog& log = *result.good_log;
  lines.push_back("Expected: the times in " + log.file + ", which has " + percent_text(log.share_of_predicted) +
                  " of the predicted speed");
  lines.insert(lines.end(), log.left_out.begin(), log.left_out.end());
  return lines;
}

TextRows measurement_rows(const CheckResult& result) {
  TextRows rows{{"", "measured", "expected", "80 % interval", "of expected"}};
  for (const Observation& one : result.observations)
    rows.push_back({one.name, value_of(one, one.measured_s), value_of(one, one.expected.seconds), interval_of(one),
                    percent_text(one.expected.seconds / one.measured_s)});
  return rows;
}

TextRows part_rows(const StepBreakdown& breakdown) {
  TextRows rows{{"where the step's time goes", "measured", "expected", "80 % interval", "lost"}};
  for (const PartTime& one : breakdown.parts)
    if (one.measured_s > 0 || one.expected.seconds > 0)
      rows.push_back(row_of(part_title(one.part), one.measured_s, one.expected));
  rows.push_back(row_of("step", breakdown.measured_s, breakdown.expected));
  return rows;
}

TextRows collective_rows(const StepBreakdown& breakdown) {
  TextRows rows{{"NCCL, overlapped too", "ranks", "size", "calls", "measured", "exposed", "expected"}};
  for (const CollectiveTime& one : breakdown.collectives)
    rows.push_back({one.operation, one.ranks > 0 ? std::to_string(one.ranks) : "-",
                    one.bytes > 0 ? format_bytes(static_cast<double>(one.bytes)) : "-", std::to_string(one.calls),
                    format_seconds(one.measured_s), format_seconds(one.exposed_s),
                    one.expected ? format_seconds(one.expected->seconds) : "-"});
  return rows;
}

TextRows rank_rows(const StepBreakdown& breakdown) {
  TextRows rows{{"rank", "step", "own work", "waits for others", "others wait for it", "last to arrive"}};
  std::vector<const TracedRank*> ranks;
  for (const TracedRank& one : breakdown.ranks) ranks.push_back(&one);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const TracedRank* a, const TracedRank* b) { return a->waits.delays_s > b->waits.delays_s; });
  if (ranks.size() > kMostRankRows) ranks.resize(kMostRankRows);
  if (breakdown.matched_calls == 0) ranks.clear();
  for (const TracedRank* one : ranks)
    rows.push_back({std::to_string(one->rank), format_seconds(one->seconds), format_seconds(one->own_s),
                    format_seconds(one->waits.waits_s), format_seconds(one->waits.delays_s),
                    std::to_string(one->waits.last_arrivals) + " of " + std::to_string(breakdown.matched_calls)});
  return rows;
}

std::string critical_path_text(const StepBreakdown& breakdown) {
  if (breakdown.path.empty()) return "";
  std::map<std::string, double> by_rank, by_part;
  for (const PathSegment& one : breakdown.path) {
    by_rank["on rank " + std::to_string(breakdown.ranks[one.rank].rank)] += one.end_s - one.begin_s;
    by_part[part_title(one.part)] += one.end_s - one.begin_s;
  }
  return "Critical path over the ranks: " + format_seconds(breakdown.path.back().end_s) +
         ". By rank: " + seconds_list(by_rank, kMostPathRanks) +
         ". By part: " + seconds_list(by_part, calib::kStepParts) + ".";
}

std::string untraced_text(const StepBreakdown& breakdown) {
  const std::size_t traced = breakdown.ranks.size();
  if (traced >= static_cast<std::size_t>(breakdown.world_size)) return "";
  return " " + std::to_string(traced) + " of " + std::to_string(breakdown.world_size) +
         " ranks traced: an untraced rank may be the slow one.";
}

std::string straggler_text(const StepBreakdown& breakdown) {
  if (breakdown.ranks.size() < 2) return "";
  const std::string untraced = untraced_text(breakdown);
  if (!breakdown.straggler) return "No rank lags behind the others by 2 % of the step." + untraced;
  const TracedRank& slowest = breakdown.ranks[*breakdown.straggler];
  if (breakdown.matched_calls > 0)
    return "Slowest rank: " + std::to_string(slowest.rank) + " (" + slowest.file + "). It is the last to arrive at " +
           std::to_string(slowest.waits.last_arrivals) + " of " + std::to_string(breakdown.matched_calls) +
           " collectives. The others wait " + format_seconds(breakdown.wait_for_straggler_s) + " because of it." +
           untraced;
  return "Slowest rank: " + std::to_string(slowest.rank) + " (" + slowest.file +
         "). Without waiting for others it takes " + format_seconds(slowest.own_s) + ", " +
         format_seconds(breakdown.wait_for_straggler_s) + " more than the median of the others." + untraced;
}

std::string check_text(const CheckResult& result, std::optional<double> least) {
  std::string text;
  for (const std::string& line : read_lines(result)) text += line + ".\n";
  text += table_text(measurement_rows(result), false) + "\n";
  for (const LogVerdict& one : result.logs)
    if (result.logs.size() > 1) text += one.log + ": " + verdict_text(one, expectation_of(result)) + ".\n";
  text += "Verdict: " + verdict_text(result) + (result.logs.size() > 1 ? ", by the slowest log" : "") + ".\n" +
          least_text(result, least);
  for (const StepBreakdown& breakdown : result.breakdowns) text += breakdown_text(breakdown);
  const bool is_clear = result.speed != Speed::slow && result.causes.front().id == CauseId::normal;
  return is_clear ? text : text + "\n" + causes_text(result);
}

}  // namespace lockstep::sim::explain
