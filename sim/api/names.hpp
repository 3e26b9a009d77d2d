#pragma once
// Lists the names that options accept.
#include "engine/base/completion.hpp"
#include "engine/base/json.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::api {

/// Returns {"models", "gpus", "links", "networks", "software", "algorithms"}: [{"id", "name", "aliases"}]. GPUs also
/// have "memory_bytes", "gpus_per_node", "link", "network".
Json names_json(const Catalogue& catalogue);

/// Returns ids of the installed catalogue by option ("--gpu"), for the completion of command lines.
CompletionNames completion_names();

}  // namespace lockstep::sim::api
