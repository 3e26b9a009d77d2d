#pragma once
// Computes the costs of one kernel by the roofline (layer_cost.hpp), for use inside sim/cost.
#include "sim/cost/layer_cost.hpp"

namespace lockstep::sim::cost {

/// Seconds of a kernel that computes `flop` and moves `bytes`, including its launch. `share`: fraction of
/// compute_efficiency that it reaches.
double kernel_s(const DeviceCost& device, double flop, double bytes, double share = 1);
/// Returns the device with all arithmetic in half precision, if some of it is in eight bits.
DeviceCost in_half(DeviceCost device);
/// Returns the seconds of copying `elements` operands into the narrower format that a GEMM reads.
double operand_copy_s(const DeviceCost& device, double elements);
/// Seconds to copy a layer's parameters between single and half precision, one way.
double casts_s(const DeviceCost& device, double parameters);

}  // namespace lockstep::sim::cost
