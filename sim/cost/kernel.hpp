#pragma once
// Costs of one kernel by the roofline (layer_cost.hpp), for use inside sim/cost.
#include "sim/cost/layer_cost.hpp"

namespace lockstep::sim::cost {

/// Seconds of a kernel of `flop` and `bytes` in memory, its launch included; `share` of compute_efficiency is reached.
double kernel_s(const DeviceCost& device, double flop, double bytes, double share = 1);
/// The device with all its arithmetic in half precision, where some of it is in eight bits.
DeviceCost in_half(DeviceCost device);
/// Returns the seconds that copying `elements` operands takes, into the fewer bits that a matrix multiplication reads.
double operand_copy_s(const DeviceCost& device, double elements);
/// Copies of a layer's parameters between single and half precision, one way.
double casts_s(const DeviceCost& device, double parameters);

}  // namespace lockstep::sim::cost
