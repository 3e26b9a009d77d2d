#pragma once
// Sufficient-factor broadcasting (Xie et al. 2016; Poseidon, Zhang et al. 2017, section 3.2). A fully-connected layer
// has I inputs and O outputs. Its gradient, summed over a batch of K samples, is a product of two matrices K x I and K
// x O: the layer's inputs and its outputs' gradients. Every worker sends these K (I + O) numbers, its factors, to every
// other worker and multiplies out the factors that it receives. A node sends (P1 - 1) times its factors and receives as
// many. These bytes grow with the batch and the number of nodes, not with I O. The bias's gradient is the sum of a
// factor's rows, and needs no bytes of its own.
#include <cstdint>

#include "sim/collective/parameter_server.hpp"

namespace lockstep::sim::collective {

/// Returns the bytes of K (I + O) numbers of `wire_bytes` each.
std::int64_t factor_bytes(std::int64_t batch, std::int64_t inputs, std::int64_t outputs, int wire_bytes);

/// The workers of a node send their factors to its leader. Leaders exchange the factors of their nodes, all with all,
/// and pass them on to their workers, which multiply them out. `bytes` is the size of one worker's factors.
Plan broadcast_factors(const Roles& roles, std::int64_t bytes);

/// FLOP by which one worker turns the factors of the `workers` - 1 others into gradients: 2 I O K (workers - 1). Its
/// own gradient is part of its backward pass.
double reconstruction_flop(std::int64_t batch, std::int64_t inputs, std::int64_t outputs, int workers);

}  // namespace lockstep::sim::collective
