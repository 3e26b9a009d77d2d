#pragma once
// What `plan` says: the table, the document "lockstep/plan-result/1", CSV and markdown.
#include <functional>
#include <string>
#include <vector>

#include "sim/plan/planner.hpp"

namespace lockstep::sim::plan {

/// Keys are described in sim/plan/README.md.
Json plan_json(const PlanResult& result, const std::vector<std::string>& argv);
/// The same as the text of a file, point by point: a plan may have many.
void write_plan_json(const PlanResult& result, const std::vector<std::string>& argv,
                     const std::function<void(const std::string& piece)>& write);
Json point_json(const PlanSpec& plan, const PlanRow& row);
std::string plan_table(const PlanResult& result);
/// A row per point, a column per key of the document's points; axes first.
std::string plan_csv(const PlanResult& result);
std::string plan_markdown(const PlanResult& result);

/// The recommendation in a sentence or two, and why it and not the runner-up.
std::string answer_text(const PlanResult& result);
std::string answer_why(const PlanResult& result);

/// "GPUs 64, network 100 GbE".
std::string setting_text(const PlanRow& row);
/// "16 H100 SXM5 on 2 nodes, network 100 GbE (p0003)".
std::string machine_text(const PlanRow& row);

/// What the point would cost if nothing interrupted it and no node stood by.
Money money_without_failures(const PricesSpec& prices, const PlanRow& row);

/// The point of every machine that serves the objective best, or that comes closest to it; the best machine first. At most
/// kMachinesCompared, unless the plan has an axis of machines.
std::vector<std::size_t> best_of_machines(const PlanResult& result);

}  // namespace lockstep::sim::plan
