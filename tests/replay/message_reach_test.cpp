// Jobs that are too large for SimGrid are refused before they start, with the reason and alternatives.
#include "sim/replay/message_reach.hpp"

#include "sim/collective/collectives.hpp"
#include "sim/replay/replay.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;

TEST_CASE("every stream of a GPU is an actor, and every actor two mappings") {
  const Cluster cluster(tests::nvswitch_cluster(8, 8), 64);
  const Program program = program_of_plan(ring_all_reduce(64, 1000), 0);
  const MessageNeeds needs = message_needs(program, cluster);
  CHECK(needs.actors == 2 * 64);
  CHECK(needs.mappings == 4 * 64);
  // Twice the GPUs need twice of all.
  const Cluster twice(tests::nvswitch_cluster(16, 8), 128);
  const MessageNeeds more = message_needs(program_of_plan(ring_all_reduce(128, 1000), 0), twice);
  CHECK(more.mappings == 2 * needs.mappings);
  CHECK(more.memory_bytes == Approx(2 * needs.memory_bytes));
}

TEST_CASE("a run beyond the reach is refused with what lacks, how far messages reach, and the fidelity that can") {
  const Cluster cluster(tests::nvswitch_cluster(16, 8), 128);
  const MessageNeeds needs{384, 768, 4e9};
  CHECK_NOTHROW(require_reach(needs, {768, 4e9}, cluster));
  CHECK_THROWS_WITH(require_reach(needs, {384, 8e9}, cluster),
                    "beyond fidelity \"message\": 384 actors of SimGrid need 768 memory mappings, of which "
                    "384 are left (vm.max_map_count); allowed here: up to about 64 GPUs, or fidelity \"fast\"");
  CHECK_THROWS_WITH(
      require_reach(needs, {768, 1e9}, cluster),
      Contains("messages need about 4.00 GB of memory, of which 1.00 GB are left") && Contains("up to about 32 GPUs"));
}

TEST_CASE("messages of more GPUs than SimGrid can have stacks are refused, not aborted, and flows carry them") {
  const ClusterSpec spec = tests::nvswitch_cluster(16384, 8);
  const int gpus = 1 << 17;  // 262,144 actors
  const Plan plan{"one", gpus, 4000, {{Transfers({{0, gpus - 1, 4000}}), 1}}};
  const std::vector<double> together(static_cast<std::size_t>(gpus), 0.0);
  const Cluster cluster(spec, gpus);
  if (message_reach().mappings < 1 << 19)
    CHECK_THROWS_WITH(plan_by_messages(plan, cluster, together), Contains("memory mappings"));
  CHECK(plan_by_flows(plan, cluster, together).back() ==
        Approx(cluster.message_latency_s(0, gpus - 1) + 4000 / cluster.route(0, gpus - 1).bandwidth_bytes_per_s));
}
