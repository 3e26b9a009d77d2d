// Collectives of MPI programs: bytes by hand, and the time of an all-reduce between hosts.
#include "sim/collective/exchange.hpp"
#include "tests/catch.hpp"

using namespace lockstep::sim;

TEST_CASE("all-to-all: n - 1 rounds, every rank sends (n-1)/n S and meets every other once") {
  const Plan plan = all_to_all(4, 400);
  CHECK(plan.phases.size() == 3);
  for (std::int64_t sent : plan.bytes_sent_by_rank()) CHECK(sent == 300);
  std::vector<int> met(16, 0);
  for (const Phase& phase : plan.phases)
    for (const Transfer& t : phase.transfers) ++met[static_cast<std::size_t>(4 * t.src + t.dst)];
  for (int src = 0; src < 4; ++src)
    for (int dst = 0; dst < 4; ++dst) CHECK(met[static_cast<std::size_t>(4 * src + dst)] == (src != dst));
  CHECK(all_to_all(1, 400).phases.empty());
}

TEST_CASE("all-reduce between hosts worked by hand") {
  // 4 nodes, 40 MB: 6 rounds of 10 MB at 2 GB/s (30 ms), 3 sums of 10 MB at 1 GB/s (30 ms), 6 hops of 10 us.
  HostAllReduce host;
  host.ranks = 4;
  host.hop_latency_s = 10e-6;
  host.copy_bytes_per_s = 6e9;
  host.reduction_bytes_per_s = 1e9;
  host.memory_bytes_per_s = 20e9;
  host.network_bytes_per_s = 2e9;
  const Plan apart = plan_host_all_reduce(host, 40'000'000);
  REQUIRE(apart.call);
  CHECK(apart.call->latency_s == Approx(60e-6));
  CHECK(apart.call->transfer_s == Approx(0.06));
  for (std::int64_t sent : apart.bytes_sent_by_rank()) CHECK(sent == 60'000'000);
  // One node has two sockets. Two copies by a core of 6 GB/s run at 3 GB/s: 20 ms, plus the sums. With 1 process per
  // socket, more memory bandwidth would not help. With 5 GB/s per socket and 2 processes it is 1.25 GB/s: 48 ms.
  host.ranks_per_node = 4;
  CHECK(plan_host_all_reduce(host, 40'000'000).call->transfer_s == Approx(0.02 + 0.03));
  host.processes_per_socket = 2;
  host.memory_bytes_per_s = 5e9;
  CHECK(plan_host_all_reduce(host, 40'000'000).call->transfer_s == Approx(0.048 + 0.03));
  host.ranks = 1;
  CHECK(plan_host_all_reduce(host, 40'000'000).phases.empty());
}
