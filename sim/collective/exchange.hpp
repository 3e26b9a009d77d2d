#pragma once
// The collectives of MPI programs that exchange parameters outside of a GPU library (Theano-MPI).
#include <cstdint>

#include "sim/collective/plan.hpp"

namespace lockstep::sim::collective {

/// Every rank sends a different n-th of its vector of S bytes to every other, pairwise. In round k rank i sends to rank
/// i + k and receives from rank i - k, as OpenMPI does with large blocks.
///   T = (n-1)(alpha + S beta / n); each rank sends (n-1)/n S.
Plan all_to_all(int ranks, std::int64_t bytes);

/// The facts that determine an all-reduce between processes in host memory.
struct HostAllReduce {
  int ranks = 1;
  int ranks_per_node = 1;
  double hop_latency_s = 0;          ///< latency of a message; the larger of that in a node and that between nodes
  double copy_bytes_per_s = 0;       ///< rate at which one core copies memory
  double reduction_bytes_per_s = 0;  ///< rate at which one core adds a vector to another, in bytes of one vector
  double memory_bytes_per_s = 0;     ///< rate of copies in a socket's memory, by all its processes together
  int processes_per_socket = 1;
  double network_bytes_per_s = 0;  ///< network bandwidth of a node, each direction
};

/// MPI_Allreduce by the ring, on vectors in host memory. A message in a node is copied into and out of shared memory.
/// The cores of sender and receiver also copy for their other neighbours. A message between nodes crosses the network.
/// Adding does not overlap with its message:
///   `T = 2(n-1)(alpha + S / (n r)) + (n-1) S / (n reduction),  r = min(copy / 2, memory / (2 processes), network)`
/// The network counts only with several nodes. The plan has this time (Plan::call). Its transfers run between the
/// places of the ranks' GPUs, so that they share the network with other messages.
Plan plan_host_all_reduce(const HostAllReduce& host, std::int64_t bytes);

}  // namespace lockstep::sim::collective
