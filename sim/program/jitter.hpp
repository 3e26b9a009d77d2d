#pragma once
// The variation of compute times between GPUs and iterations.
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::program {

/// The scenario's jitter: a factor of mean 1, drawn for (seed, gpu, iteration).
Jitter jitter_of(const Scenario& scenario, std::uint64_t seed);
/// Expected largest of the factors of `gpus` GPUs.
double expected_slowest(const Scenario& scenario, int gpus);
/// GPUs from `workers` on compute nothing: their factor is 0.
Jitter workers_only(Jitter jitter, int workers);

}  // namespace lockstep::sim::program
