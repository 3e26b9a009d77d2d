#pragma once
// Builds a cluster in SimGrid, only for messages. It has a host per GPU, per node's CPU and per memory. Every node is a
// full zone with one precomputed route per pair, and a leaf of SimGrid's own zone for the fabric. SimGrid seeks every
// new name in all zones, so that building takes time that grows with the square of the nodes: 0.1 s for 4096 GPUs, a
// minute for 65,536. If routes are not those of SimGrid's zones (Cluster::has_own_routes()), all hosts are in one zone
// that gets the route of every pair.
#include <memory>

#include "sim/cluster/cluster.hpp"

namespace simgrid::s4u {
class Host;
}

namespace lockstep::sim::messages {

class Platform {
 public:
  /// Returns the platform of the process, built at the first call: SimGrid's engine is a singleton. The cluster must
  /// keep its address as long as messages are sent. Throws std::logic_error if the process has the platform of another
  /// cluster.
  static Platform& of(const Cluster& cluster);

  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;

  /// Returns the host of an endpoint. It has a speed of 1 flop/s, so that a kernel of t seconds is t flop of work.
  simgrid::s4u::Host* host(Endpoint end) const;
  simgrid::s4u::Host* gpu_host(int gpu) const { return host(cluster_.gpu(gpu)); }
  simgrid::s4u::Host* cpu_host(int node) const { return host(cluster_.cpu(node)); }

  /// Gives messages from the job's nodes the latency and overhead of its cluster. `job` must outlive these messages.
  void use_latencies_of(const Cluster& job);

 private:
  explicit Platform(const Cluster& cluster);
  ~Platform();
  class Impl;

  const Cluster& cluster_;
  std::unique_ptr<Impl> impl_;
};

/// Sends a few messages, and throws std::runtime_error if one does not take latency + bytes/bandwidth to 1e-9. SimGrid
/// then runs another network model than configured. Requires a process of its own, without a platform.
void verify_network_model();

}  // namespace lockstep::sim::messages
