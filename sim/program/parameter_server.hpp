#pragma once
// From a scenario of the algorithm "parameter-server" to the program of its GPUs: who serves, where each layer's
// parameters lie, by which scheme each layer goes and what its steps cost.
#include "sim/collective/parameter_server.hpp"
#include "sim/point/point.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/parameter_server.hpp"

namespace lockstep::sim {

/// GPUs that a point of `workers` GPUs occupies: those on separate servers' nodes are counted, and compute nothing.
int occupied_gpus(const Scenario& scenario, int workers);

Roles roles_of(const Scenario& scenario, int workers);
/// The exchanges of one iteration, in the order of back-propagation.
std::vector<LayerExchange> layer_exchanges(const Scenario& scenario, const Roles& roles, int batch_per_gpu);
Program parameter_server_program(const Scenario& scenario, int workers, int batch_per_gpu, int iterations);

/// GPUs from `workers` on compute nothing: their factor is 0.
Jitter workers_only(Jitter jitter, int workers);

/// Adds to the point's details and notes: per fully-connected layer the scheme and what Table 1 of Poseidon counts for
/// each, and what the busiest GPU sends and receives.
void describe_schemes(const Scenario& scenario, int batch_per_gpu, PointResult& point);

}  // namespace lockstep::sim
