#pragma once
// Builds the schedule of a scenario's algorithm and sets its options. Only this file knows every schedule.
#include "sim/collective/nccl.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::program {

/// Returns NCCL's plan of an operation, with the scenario's /communication/nccl.
AllReduce nccl_operation(const Scenario& scenario, NcclOperation operation);

/// Returns the buckets in which the scenario's gradients are sent.
std::vector<Bucket> buckets_of(const Scenario& scenario);

}  // namespace lockstep::sim::program
