#pragma once
// Reads the scenario's object "communication".
#include "engine/base/object_format.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

const ObjectFormat<CommunicationSpec>& communication_format();

/// Reads the object by its format, and adds the facts of NCCL's tables for the cluster's GPU. Throws InputError.
CommunicationSpec read_communication(const JsonNode& node, const ClusterSpec& cluster);

}  // namespace lockstep::sim::scenario
