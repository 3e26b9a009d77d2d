#pragma once
// Poseidon's choice between parameter server and sufficient factors for a layer (Zhang et al. 2017, Table 1 and
// Algorithm 1). It compares how many numbers a node that is both server and worker sends and receives in all. The layer
// is fully-connected, M x N, with a batch of K per worker, P1 workers and P2 servers:
//   `parameter server`    2 M N (P1 + P2 - 2) / P2.
//   `sufficient factors`  2 K (P1 - 1) (M + N).
//   `Adam, the owner`     (P1 - 1) (M N + K M + K N).
// Sufficient factors are chosen if they send no more than a parameter server. Other layers use the parameter server.
#include <cstdint>

#include "sim/modules.hpp"

namespace lockstep::sim::collective {

struct SchemeCost {
  double server = 0;   ///< numbers that a node sends and receives
  double factors = 0;  ///< as `server`
  double adam = 0;     ///< numbers that the owner sends and receives
  bool takes_factors() const { return factors <= server; }
};

/// `batch`: samples of one of the P1 workers. A node of several GPUs is one worker with their joint batch.
SchemeCost scheme_cost(std::int64_t inputs, std::int64_t outputs, std::int64_t batch, int workers, int servers);

}  // namespace lockstep::sim::collective
