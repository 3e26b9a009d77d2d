#pragma once
// Lists the sizes of a plan that chooses the model's size: models of a family, and interpolated ones.
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim::job_plan {

/// Returns names for --model, the smallest first: the catalogue's dense models whose id begins with the family's name,
/// each size once ("llama3": 1B to 405B).
///
/// For families like Llama, sizes about 1.5 times apart are added as HuggingFace configurations in one line. Their
/// layers, hidden size and inner size are interpolated log-linearly and rounded for tensor parallelism. Throws
/// InputError if the name has no models.
std::vector<std::string> list_family_models(const std::string& name, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_plan
