#pragma once
// Texts for people, made from a CheckResult, for the table, the page and the sentences of the JSON. No program parses
// them.
#include <string>
#include <vector>

#include "sim/explain/check.hpp"

namespace lockstep::sim::explain {

constexpr double kLeastShown = 0.01;  ///< probability of a cause
constexpr double kPoorFit = 0.25;     ///< relative error of a cause that explains the measurement badly

/// Cells of a table; the first row is its head.
using TextRows = std::vector<std::vector<std::string>>;

std::string percent_text(double share);
/// "slow: 12 % of the expected speed (80 % interval: 78 % to 124 %)"
std::string verdict_text(const CheckResult& result);
/// Says the same for one log; `expectation`: "the expected speed".
std::string verdict_text(const LogVerdict& result, const std::string& expectation);
/// Empty without a least share.
std::string least_text(const CheckResult& result, std::optional<double> least);
std::string text_for(const CheckResult& result, const RankedCause& cause);
std::string text_against(const CheckResult& result, const RankedCause& cause);
std::string cause_title(const CheckResult& result, const RankedCause& cause);
/// Names the test that decides about the largest probability, over the shown causes; empty if no cause has a test.
std::string first_test_text(const CheckResult& result);
const char* part_title(calib::StepPart part);
/// Says how the files were read and with what they were compared, without full stops.
std::vector<std::string> read_lines(const CheckResult& result);

TextRows measurement_rows(const CheckResult& result);
TextRows part_rows(const StepBreakdown& breakdown);
TextRows collective_rows(const StepBreakdown& breakdown);
/// Shows the ranks with the largest delays. Only the head remains without matched collectives.
TextRows rank_rows(const StepBreakdown& breakdown);
/// Sums the critical path's seconds by rank and by part; empty without a path.
std::string critical_path_text(const StepBreakdown& breakdown);
/// Empty for a single rank.
std::string straggler_text(const StepBreakdown& breakdown);

}  // namespace lockstep::sim::explain
