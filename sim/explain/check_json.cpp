#include <cmath>

#include "sim/explain/check.hpp"
#include "sim/explain/check_text.hpp"

namespace lockstep::sim::explain {
namespace {

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
    ranks.push_back({{"rank", one.rank},
                     {"file", one.file},
                     {"step_s", one.seconds},
                     {"own_s", one.own_s},
                     {"waits_s", one.waits.waits_s},
                     {"delays_s", one.waits.delays_s},
                     {"last_arrivals", one.waits.last_arrivals}});
  Json path = Json::array();
  for (const PathSegment& one : breakdown.path)
    path.push_back({{"rank", breakdown.ranks[one.rank].rank},
                    {"part", name_of(one.part)},
                    {"begin_s", one.begin_s},
                    {"end_s", one.end_s}});
  Json json{{"step", breakdown.step},
            {"measured_s", breakdown.measured_s},
            {"expected_s", breakdown.expected.seconds},
            {"low_s", breakdown.expected.low_s},
            {"high_s", breakdown.expected.high_s},
            {"parts", parts},
            {"collectives", collectives},
            {"ranks", ranks},
            {"matched_calls", breakdown.matched_calls},
            {"critical_path", path}};
  if (breakdown.straggler) {
    json["straggler"] = breakdown.ranks[*breakdown.straggler].rank;
    json["wait_for_straggler_s"] = breakdown.wait_for_straggler_s;
  }
  return json;
}

Json statement_json(const NcclStatement& statement) {
  Json json{{"cause", name_of(statement.cause)},
            {"is_present", statement.is_present},
            {"text", statement.text},
            {"file", statement.file},
            {"line", statement.quote.line},
            {"message", statement.quote.text}};
  if (statement.count > 0) json["count"] = statement.count;
  return json;
}

Json evidence_json(const CheckResult& result, const Evidence& evidence) {
  const Observation& one = result.scored[evidence.observation];
  return {{"name", one.name},
          {"file", one.source},
          {"measured_s", one.measured_s - one.offset_s},
          {"expected_s", evidence.expected_s},
          {"log_likelihood_ratio", evidence.log_ratio}};
}

}  // namespace

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
    Json tests = Json::array();
    for (const DecidingTest& test : cause.tests) tests.push_back({{"run", test.run}, {"yes_if", test.yes_if}});
    Json entry{{"cause", name_of(cause.id)},
               {"title", cause.title},
               {"probability", cause.probability},
               {"prior", cause.prior},
               {"for", text_for(result, cause)},
               {"against", text_against(result, cause)},
               {"median_error", std::exp(cause.median_error) - 1},
               {"command", tests_text(cause.tests)},
               {"tests", tests},
               {"gain", cause.gain}};
    if (cause.statement) {
      entry["nccl"] = statement_json(*cause.statement);
      entry["nccl"]["log_likelihood_ratio"] = log_fact_factor(cause.statement->is_present);
    }
    if (cause.most_for) entry["most_for"] = evidence_json(result, *cause.most_for);
    if (cause.most_against) entry["most_against"] = evidence_json(result, *cause.most_against);
    causes.push_back(entry);
  }
  Json json{{"schema", "lockstep/check/1"},
            {"verdict", name_of(result.speed)},
            {"sentence", verdict_text(result)},
            {"accepted", result.is_accepted(least)},
            {"share", result.share},
            {"share_low", result.low_share},
            {"share_high", result.high_share},
            {"observations", observations},
            {"causes", causes}};
  for (const NcclStatement& one : result.statements) json["nccl"].push_back(statement_json(one));
  if (least) json["at_least"] = *least;
  for (const LogVerdict& one : result.logs)
    json["logs"].push_back({{"log", one.log},
                            {"verdict", name_of(one.speed)},
                            {"share", one.share},
                            {"share_low", one.low_share},
                            {"share_high", one.high_share}});
  for (const StepBreakdown& breakdown : result.breakdowns) json["breakdowns"].push_back(breakdown_json(breakdown));
  if (result.good_log)
    json["good_log"] = {{"file", result.good_log->file},
                        {"share_of_predicted", result.good_log->share_of_predicted},
                        {"left_out", result.good_log->left_out}};
  return json;
}

}  // namespace lockstep::sim::explain
