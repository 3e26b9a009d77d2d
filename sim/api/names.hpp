#pragma once
// Lists the names that options take.
#include "engine/base/completion.hpp"
#include "engine/base/json.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::api {

/// {"models", "gpus", "links", "networks", "software", "algorithms"}: [{"id", "name", "aliases"}], of GPUs also
/// "memory_bytes", "gpus_per_node", "link", "network".
Json names_json(const Catalogue& catalogue);

/// Ids of the installed catalogue by option ("--gpu"), for the completion of command lines.
CompletionNames completion_names();

}  // namespace lockstep::sim::api
