#pragma once
// Models of several sizes for a plan that chooses the size: the family's own, and sizes between them.
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim::job_plan {

/// Names for --model, from the smallest on: the dense models of the catalogue whose id begins with the family's name
/// ("llama3": 1B to 405B), each size once. Where the family is built as Llama is, sizes between two of them follow in steps
/// of about 1.5, as HuggingFace configurations in one line: layers, width and inner width on the line through the two in the
/// logarithms, rounded to what tensor ranks divide. Throws InputError for a name without models.
std::vector<std::string> model_family(const std::string& name, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_plan
