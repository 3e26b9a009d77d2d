#pragma once
// Makes a scenario to start from, for each training algorithm.
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim::job_prediction {

/// Returns the names of the algorithms for which make_scenario_template() has a template.
std::vector<std::string> template_algorithms();

/// Returns a complete scenario that trains ResNet-50 by this algorithm on H100 GPUs, with all of the algorithm's
/// parameters. Throws InputError for an unknown name, and for "profile", which needs a profile of the user's.
Json make_scenario_template(const std::string& algorithm, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
