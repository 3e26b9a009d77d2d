#pragma once
// Layer patterns in Megatron-LM's arguments: "([0]*3+[1]*58)", "[1,0]*12".
#include <optional>
#include <string>

#include <vector>
#include "sim/modules.hpp"

namespace lockstep::sim::launch {

/// Returns no value if the text is no such expression, or has more than 10,000 elements.
std::optional<std::vector<int>> python_list(const std::string& text);

}  // namespace lockstep::sim::launch
