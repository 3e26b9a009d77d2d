#include <algorithm>

#include "sim/collective/exchange.hpp"

namespace lockstep::sim::collective {

Plan plan_host_all_reduce(const HostAllReduce& host, std::int64_t bytes) {
  Plan plan{"host all-reduce", host.ranks, bytes, {}};
  if (host.ranks < 2) return plan;
  const int n = host.ranks;
  const double chunk = static_cast<double>(bytes) / n;
  double rate = host.network_bytes_per_s;
  if (host.ranks_per_node > 1) {
    const double copies = std::min(host.copy_bytes_per_s, host.memory_bytes_per_s / host.processes_per_socket) / 2;
    rate = n > host.ranks_per_node ? std::min(rate, copies) : copies;
  }
  plan.call = CallTime{2 * (n - 1) * host.hop_latency_s,
                       2 * (n - 1) * chunk / rate + (n - 1) * chunk / host.reduction_bytes_per_s};
  plan.phases.edit().push_back(ring_phase(0, 1, n, 2 * (n - 1) * chunk_bytes(bytes, n), 1, true));
  return plan;
}

}  // namespace lockstep::sim::collective
