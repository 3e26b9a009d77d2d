#pragma once
// Writes the results of `plan`: tables, the document "lockstep/plan-result/1", CSV and Markdown.
#include <functional>
#include <string>
#include <vector>

#include "sim/plan/planner.hpp"

namespace lockstep::sim::plan {

/// Returns the document; sim/plan/README.md describes its keys.
Json plan_json(const PlanResult& result, const std::vector<std::string>& argv);
constexpr std::size_t kMostPointsOfPage = 5000;  ///< with more, a browser would take gigabytes
/// Returns the document for a page. If the plan has more points than kMostPointsOfPage, it has those nearest to the
/// frontier, and the number of the others under "points_left_out".
Json plan_page_json(const PlanResult& result, const std::vector<std::string>& argv);
/// Writes the whole document piece by piece, because a plan may have many points. `jobs`: as in write_rows()
/// (row_writer.hpp).
void write_plan_json(const PlanResult& result, const std::vector<std::string>& argv, int jobs,
                     const std::function<void(const std::string& piece)>& write);
Json point_json(const PlanSpec& plan, const PlanRow& row);
std::string plan_table(const PlanResult& result);
/// Writes a CSV: a row per point, a column per key of the document's points; axes first.
std::string plan_csv(const PlanResult& result);
/// Writes the same CSV piece by piece.
void write_plan_csv(const PlanResult& result, int jobs, const std::function<void(const std::string& piece)>& write);
std::string plan_markdown(const PlanResult& result);

/// Returns one or two sentences: the recommendation, and why it is preferred to the runner-up.
std::string answer_text(const PlanResult& result);
std::string answer_why(const PlanResult& result);

/// Returns a text such as "GPUs 64, network 100 GbE".
std::string setting_text(const PlanRow& row);
/// Describes a machine, such as "16 H100 SXM5 on 2 nodes, network 100 GbE (p0003)".
std::string machine_text(const PlanRow& row);

/// Returns the cost of the point without interruptions and spare nodes.
Money money_without_failures(const PricesSpec& prices, const PlanRow& row);

/// Returns the best point of every machine under the objective, or the one closest to meeting it; best machine first.
/// Returns at most kMachinesCompared, unless the plan has an axis of machines.
std::vector<std::size_t> best_of_machines(const PlanResult& result);

}  // namespace lockstep::sim::plan
