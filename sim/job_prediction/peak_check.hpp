#pragma once
// Refuses measured rates that would need more operations per second than the GPU's peak.
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::job_prediction {

/// Throws InputError if a GPU would compute more operations per second than its peak in the scenario's precision. The
/// message begins with `measured`: "--rate 700". Only operations that all software needs are counted:
///
///   `forward pass and gradients of inputs`   4 for each multiply-add
///   `gradients of weights`                   2, without adapters
///   `attention`                              half, as if causal
///   `convolutions wider than a pixel`        a quarter, as by Winograd
///
/// Winograd's F(4x4, 3x3) has a quarter of the products (Lavin & Gray 2016). `samples` of a GPU in a measured iteration
/// add its least time to the message; 0: the rate itself was measured.
void check_below_peak(const std::string& measured, const Scenario& scenario, double samples_per_s_per_gpu,
                      double samples = 0);

}  // namespace lockstep::sim::job_prediction
