#pragma once
// The scenario's object "communication".
#include "engine/base/object_format.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim {

/// `cluster`: whose GPU NCCL's tables are looked up for; null: "nccl" is not read (schemas, tables).
ObjectFormat<CommunicationSpec> communication_format(const ClusterSpec* cluster = nullptr);

}  // namespace lockstep::sim
