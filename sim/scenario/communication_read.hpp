#pragma once
// The scenario's object "communication". Its keys are described in README.md.
#include "engine/base/json.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim {

/// The cluster's GPU decides which of NCCL's tables hold. Throws InputError.
CommunicationSpec read_communication(const JsonNode& node, const ClusterSpec& cluster);

}  // namespace lockstep::sim
