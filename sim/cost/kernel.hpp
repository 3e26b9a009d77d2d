#pragma once
// The roofline of one kernel (layer_cost.hpp); only sim/cost includes this file.
#include "sim/cost/layer_cost.hpp"

namespace lockstep::sim::cost {

/// Returns the seconds of a kernel that computes `flop` and moves `bytes`, including its launch. `share` is the
/// fraction of compute_efficiency that it reaches.
double kernel_s(const DeviceCost& device, double flop, double bytes, double share = 1);
/// Returns the device with all arithmetic in half precision, even if some of it is in fewer bits.
DeviceCost in_half_precision(DeviceCost device);
/// Returns the seconds for copying `elements` operands into the narrower format that a GEMM reads.
double operand_copy_s(const DeviceCost& device, double elements);
/// Returns the seconds for copying a layer's parameters between single and half precision, in one direction.
double casts_s(const DeviceCost& device, double parameters);

}  // namespace lockstep::sim::cost
