#pragma once
// What `plan` says: the table, the document "lockstep/plan-result/1", CSV and markdown.
#include <string>
#include <vector>

#include "sim/plan/planner.hpp"

namespace lockstep::sim {

/// Keys are described in sim/plan/README.md.
Json plan_json(const PlanResult& result, const std::vector<std::string>& argv);
std::string plan_table(const PlanResult& result);
/// A row per point, a column per key of the document's points; axes first.
std::string plan_csv(const PlanResult& result);
std::string plan_markdown(const PlanResult& result);

/// The recommendation in a sentence or two, and why it and not the runner-up.
std::string answer_text(const PlanResult& result);
std::string answer_why(const PlanResult& result);

/// "GPUs 64, network 100 GbE".
std::string setting_text(const PlanRow& row);

}  // namespace lockstep::sim
