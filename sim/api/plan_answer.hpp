#pragma once
// Runs `plan job` in this process.
#include "engine/base/json.hpp"
#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim::api {

/// Returns the plan of these options (plan_options.hpp), as `plan job --json` writes it.
Json plan_answer(const Json& options, const Catalogue& catalogue);

}  // namespace lockstep::sim::api
