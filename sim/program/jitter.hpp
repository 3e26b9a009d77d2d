#pragma once
// Models the variation of compute times between GPUs and iterations.
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::program {

/// Returns the scenario's jitter: a factor of mean 1, drawn for (seed, gpu, iteration).
Jitter jitter_of(const Scenario& scenario, std::uint64_t seed);
/// Returns the expected maximum of the factors of `gpus` GPUs.
double expected_slowest(const Scenario& scenario, int gpus);
/// Sets the factor of GPUs from number `workers` on to 0, because they compute nothing.
Jitter workers_only(Jitter jitter, int workers);

}  // namespace lockstep::sim::program
