#pragma once
// Selects probes by name, or those that a prediction needs, for a run of a minute.
#include <string>
#include <vector>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {

/// The probes of the named kinds, in their order ("iteration", or the plural "iterations"); all if no name is given.
/// Throws InputError for a name without a probe.
std::vector<Probe> probes_named(std::vector<Probe> probes, const std::vector<std::string>& names);

/// The minimum for predictions: iterations without an input pipeline, and all-reduces.
std::vector<Probe> quick_probes(const std::vector<Probe>& probes);
/// Options to sample `series` series in about 45 s. Each gets an equal share, at most a second, to reach 3 %; a
/// disturbed one is not repeated.
SamplingOptions quick_sampling(std::size_t series);

}  // namespace lockstep::calib
