#pragma once
// The scenario's object "communication".
#include "engine/base/object_format.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

const ObjectFormat<CommunicationSpec>& communication_format();

/// By the format, and what NCCL's tables say of the cluster's GPU. Throws InputError.
CommunicationSpec read_communication(const JsonNode& node, const ClusterSpec& cluster);

}  // namespace lockstep::sim::scenario
