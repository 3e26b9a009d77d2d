#pragma once
// Inside sim/catalogue: one entry of a file, but for its facts. Each throws InputError with file and pointer.
#include "engine/base/json.hpp"
#include "sim/catalogue/entries.hpp"

namespace lockstep::sim {
inline namespace catalogue {

GpuEntry read_gpu(const JsonNode& node);
IntraNodeEntry read_intra_node(const JsonNode& node);
NetworkEntry read_network(const JsonNode& node);
StackEntry read_stack(const JsonNode& node);
ModelEntry read_model(const JsonNode& node);

/// The strings of an array.
std::vector<std::string> texts_of(const JsonNode& array);

}  // namespace catalogue
}  // namespace lockstep::sim
