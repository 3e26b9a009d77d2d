#pragma once
// Derives the program of the GPUs from a scenario with the algorithm "parameter-server". It decides which ranks serve,
// which server has each layer's parameters, the scheme of each layer, and the costs of its steps.
#include "sim/collective/best_scheme.hpp"
#include "sim/collective/parameter_server.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/parameter_server.hpp"

namespace lockstep::sim::program {

/// Returns the GPUs that a point with `workers` workers occupies. GPUs on nodes of separate servers count, although
/// they do not compute.
int occupied_gpus(const Scenario& scenario, int workers);

Roles roles_of(const Scenario& scenario, int workers);
/// Returns the exchanges of one iteration, in the order of back-propagation.
std::vector<LayerExchange> layer_exchanges(const Scenario& scenario, const Roles& roles, int batch_per_gpu);
Program parameter_server_program(const Scenario& scenario, int workers, int batch_per_gpu, int iterations);

/// The scheme by which a layer's gradient is exchanged.
enum class LayerScheme { server, factors, adam, one_bit };

inline const Choices<LayerScheme>& choices_of(LayerScheme) {
  static const Choices<LayerScheme> all{{LayerScheme::server, "parameter server"},
                                        {LayerScheme::factors, "sufficient factors"},
                                        {LayerScheme::adam, "Adam"},
                                        {LayerScheme::one_bit, "1 bit"}};
  return all;
}

/// Chooses a layer's scheme. Only fully-connected layers have factors, and only matrices have columns to quantise. All
/// other layers use the parameter server.
LayerScheme scheme_of(const Scenario& scenario, const model::Layer& layer, const Roles& roles, int batch_per_gpu);
/// Returns the counts of Poseidon's Table 1 for a fully-connected layer (best_scheme.hpp).
SchemeCost scheme_cost_of(const model::Layer& layer, const Roles& roles, int batch_per_gpu);

}  // namespace lockstep::sim::program
