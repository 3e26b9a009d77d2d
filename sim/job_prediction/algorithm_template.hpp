#pragma once
// A scenario to start from for each training algorithm.
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim::job_prediction {

/// Names of the algorithms for which make_scenario_template() has a template.
std::vector<std::string> template_algorithms();

/// A complete scenario that trains ResNet-50 by this algorithm on H100 GPUs. It lists the keys of the algorithm's own
/// parameters. Throws InputError for an unknown name, and for "profile", which requires a profile of the user's.
Json make_scenario_template(const std::string& algorithm, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
