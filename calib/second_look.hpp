#pragma once
// Measures a disturbed series once more after all others, when the disturbance may have passed. The times of both are
// kept. The sounder one counts, never the faster one as such.
#include "calib/sample_log.hpp"

namespace lockstep::calib {

/// Flags of a sample with two measurements. "revisited": it was measured twice. "disagrees": the medians differ by more
/// than 2 % and their 95 % intervals do not overlap, so the spread within one series is misleading.
constexpr const char* kRevisited = "revisited";
constexpr const char* kDisagrees = "disagrees";

/// True for a sample flagged "drift" or "outliers", or "throttled" without enough samples at the full clock
/// ("imprecise"), if it was not yet measured twice. A sample that is only imprecise ran out of time, and would do so
/// again.
bool wants_second_look(const Sample& sample);

/// True if the second measurement is sounder. A measurement without drift and with enough samples at the full clock is
/// sounder. If both are equal in that, outliers decide, and then the relative interval of the median.
bool is_second_better(const Sample& first, const Sample& second);

/// Returns the measurement that counts, as the caller chose (parts of one run are chosen together), with the flags
/// above. Sets aside the times of the other measurement, and all times that both had set aside.
Sample joined_looks(const Sample& first, const Sample& second, bool takes_second);

}  // namespace lockstep::calib
