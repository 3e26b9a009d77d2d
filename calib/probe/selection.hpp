#pragma once
// A part of what calibrate can measure: by the names of probes, or what a prediction needs in a minute.
#include <string>
#include <vector>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {

/// Those of the named kinds, in their order ("iteration", or in the plural "iterations"); all where no name is given.
/// Throws InputError: a name of which there is no probe here.
std::vector<Probe> probes_named(std::vector<Probe> probes, const std::vector<std::string>& names);

/// The least that predicts: iterations without an input pipeline, and all-reduces.
std::vector<Probe> quick_probes(const std::vector<Probe>& probes);
/// Samples of that many series in some 45 s: each has its share, a second at most, to be known to 3 %; a disturbed one is
/// not taken again.
SamplingOptions quick_sampling(std::size_t series);

}  // namespace lockstep::calib
