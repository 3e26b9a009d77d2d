#pragma once
// A log of a machine or job that is known to be good, which suspicious ones are compared with.
#include <string>
#include <vector>

#include "sim/explain/check.hpp"

namespace lockstep::sim::explain {

/// Keeps those sizes of each measured collective that the good log has, too. Returns the good log's measurement of each
/// one, in the same order; several measurements of one kind share it. `left_out` gets a line for each curve that lost
/// sizes. Throws InputError, with both names, if the good log has no measurement of the same operation and machine, or
/// of the same job.
Measurements match_good_log(const Measurements& good, Measurements& measured, std::vector<std::string>& left_out);

/// The good measurement as the expectation. Its 80 % interval is that of the scatter of its own repetitions or steps, but
/// at least least_scatter().
Expected expected_from_good(double seconds, double scatter, double bytes);

/// Deviation of log(seconds) between sound runs of one machine, which is assumed: 3 % (the least of scoring.hpp), and 8 % for
/// messages up to 64 KiB. `bytes`: of a collective; 0: a step.
double least_scatter(double bytes);

/// Expected time with the fault: good time x with_fault / predicted. The part of the prediction's error that a machine's
/// measurements share cancels in the ratio; the rest is scaled by min(1, |log(ratio)|).
Expected expect_with_fault(const Expected& good, const Expected& predicted, const Expected& with_fault);

}  // namespace lockstep::sim::explain
