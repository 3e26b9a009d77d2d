#pragma once
// A scenario to start from for each training algorithm.
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim::job_prediction {

/// The algorithms that make_scenario_template() knows, by their names.
std::vector<std::string> template_algorithms();

/// A scenario that trains ResNet-50 by this algorithm on H100, and runs as it is: the keys of the algorithm's own parameters are
/// in it. Throws InputError for a name that is not known, and for "profile", which needs a profile of the user's.
Json make_scenario_template(const std::string& algorithm, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
