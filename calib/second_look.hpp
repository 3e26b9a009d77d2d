#pragma once
// A measurement that was disturbed is taken once more after all others, when what disturbed it may have passed. Times
// of both are kept; which of them count is chosen by how sound they are, never by which is faster.
#include "calib/sample_log.hpp"

namespace lockstep::calib {

/// Flags of what a second look made: it was taken ("revisited"), and its median differs from the first's by more than
/// 2 % with no overlap of their 95 % intervals ("disagrees"): the spread within one series does not tell the truth.
constexpr const char* kRevisited = "revisited";
constexpr const char* kDisagrees = "disagrees";

/// Flagged "drift" or "outliers", or "throttled" without enough samples at the full clock ("imprecise"); and not looked
/// at twice yet. What is only imprecise is not: the time allowed for it has ended it, and would again.
bool wants_second_look(const Sample& sample);

/// Which of two measurements of the same counts. One that drifts or lacks samples at the full clock is worse than one
/// that does not; then one with outliers; then the one with the wider interval of the median, relative to it.
bool is_second_better(const Sample& first, const Sample& second);

/// The one that counts, as the caller chose (parts of one run are chosen together), with the flags above and with the
/// other's times, and those that both had set aside, set aside.
Sample joined_looks(const Sample& first, const Sample& second, bool takes_second);

}  // namespace lockstep::calib
