// Times of NCCL operations, sharded data parallelism, local SGD, accumulation, loading and Theano-MPI's exchanges: by
// hand, by laws, and equal in every fidelity.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "engine/base/random.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/collective/exchange.hpp"
#include "sim/collective/groups.hpp"
#include "sim/program/nccl_system.hpp"
#include "sim/replay/replay.hpp"
#include "sim/schedule/local_sgd.hpp"
#include "sim/schedule/sharded.hpp"
#include "sim/schedule/theano_mpi.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"
#include "tests/schedule/two_layers.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

// Two fully-connected layers of 1,001,000 parameters each.
model::Graph two_layers() {
  return tests::two_layers(1000, 1000, 1000);
}

// Microseconds: forward 100 + 100, backward 200 + 200, update 50.
ModelCost two_costs() {
  ModelCost cost;
  cost.layers = {{0, 0}, {100e-6, 200e-6}, {100e-6, 200e-6}, {0, 0}};
  cost.update_s = 50e-6;
  return cost;
}

template <class Options>
Options options_for(int gpus, int iterations) {
  Options options;
  options.gpus = gpus;
  options.iterations = iterations;
  return options;
}

// Ends of the iterations; the three fidelities must agree.
std::vector<double> ends_s(const ClusterSpec& spec, const Program& program) {
  const std::vector<double> all = in_child([&] {
    Cluster cluster(spec, program.gpus);
    const Jitter none = [](int, int) { return 1.0; };
    std::vector<double> ends = replay_analytic(program, cluster, 1).iteration_end_s;
    Replay fast;
    const bool answered = replay_max_plus(program, cluster, none, {}, fast);
    ends.insert(ends.end(), fast.iteration_end_s.begin(), fast.iteration_end_s.end());
    const std::vector<double> messages = replay_messages(program, cluster, none).iteration_end_s;
    ends.insert(ends.end(), messages.begin(), messages.end());
    ends.push_back(answered ? 1 : 0);
    return ends;
  });
  const std::size_t n = static_cast<std::size_t>(program.iterations);
  REQUIRE(all.back() == 1);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(all[n + i] == Approx(all[i]).epsilon(1e-6));
    CHECK(all[2 * n + i] == Approx(all[i]).epsilon(1e-6));
  }
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}

// {closed form, max-plus per rank, messages per rank} of a plan.
std::vector<double> times_of(const ClusterSpec& spec, const Plan& plan, const std::vector<double>& arrivals) {
  return in_child([&] {
    Cluster cluster(spec, plan.ranks);
    std::vector<double> times{analytic_plan_s(plan, cluster)};
    std::vector<double> fast = arrivals;
    if (!plan_by_max_plus(plan, cluster, fast)) throw std::runtime_error("max-plus declined");
    times.insert(times.end(), fast.begin(), fast.end());
    const std::vector<double> messages = plan_by_messages(plan, cluster, arrivals);
    times.insert(times.end(), messages.begin(), messages.end());
    return times;
  });
}

NcclSpec hopper() {
  NcclSpec spec;
  spec.generation = NcclGeneration::hopper;
  return spec;
}

// Makes NVLinks as wide as NCCL assumes.
ClusterSpec hopper_cluster(int nodes, int gpus_per_node) {
  ClusterSpec spec = tests::nvswitch_cluster(nodes, gpus_per_node);
  spec.intra_node.gpu_link = {400e9, 0.5e-6};
  return spec;
}

}  // namespace

TEST_CASE("nccl's calls take NCCL's time in every fidelity, from the last arrival on, on all ranks") {
  for (int nodes : {1, 2, 4, 8})
    for (NcclOperation operation : {NcclOperation::all_reduce, NcclOperation::all_gather, NcclOperation::reduce_scatter,
                                    NcclOperation::broadcast})
      for (std::int64_t bytes : {std::int64_t{1000}, std::int64_t{1'000'000}, std::int64_t{200'000'000}}) {
        const ClusterSpec spec = hopper_cluster(nodes, 8);
        const NcclSystem system = nccl_system(spec, hopper(), 8 * nodes);
        const Plan plan = nccl_plan(system, operation, bytes);
        const double seconds = nccl_choice(system, operation, bytes).seconds;
        std::vector<double> arrivals;
        for (int rank = 0; rank < plan.ranks; ++rank)
          arrivals.push_back(1e-3 * random_uniform(3, 1, static_cast<std::uint64_t>(rank)));
        const double last = *std::max_element(arrivals.begin(), arrivals.end());
        const std::vector<double> times = times_of(spec, plan, arrivals);
        INFO(plan.algorithm << ", " << nodes << " nodes, " << bytes << " bytes");
        REQUIRE(times[0] == Approx(seconds).epsilon(1e-3));
        for (std::size_t i = 1; i < times.size(); ++i) REQUIRE(times[i] - last == Approx(seconds).epsilon(1e-3));
      }
}

TEST_CASE("nccl's calls take longer where a link is narrower than NCCL thinks") {
  // Two nodes of 4 GPUs with a NIC of 12.5 GB/s behind ports of 6 GB/s. A ring moves 2 x 7/8 x 80 MB = 140 MB through
  // each port: 23.3 ms instead of the 11.7 ms of NCCL's 12 GB/s.
  ClusterSpec spec = hopper_cluster(2, 4);
  spec.fabric.link.bandwidth_bytes_per_s = 6e9;
  NcclSpec nccl = hopper();
  nccl.algorithm = NcclAlgorithm::ring;
  nccl.protocol = NcclProtocol::simple;
  const Plan plan = nccl_plan(nccl_system(spec, nccl, 8), NcclOperation::all_reduce, 80'000'000);
  CHECK(plan.call->transfer_s == Approx(140e6 / 12e9));
  const std::vector<double> times = times_of(spec, plan, std::vector<double>(8, 0.0));
  for (double time : times) CHECK(time == Approx(plan.call->latency_s + 140e6 / 6e9).epsilon(1e-6));
}

TEST_CASE("NCCL's rings over PCIe cross from socket to socket once, whatever the number of NICs") {
  ClusterSpec spec = tests::pcie_cluster(2, 8);
  spec.nic.per_node = 4;
  spec.nic.attach = {0, 0, 1, 1};
  spec.intra_node.pcie.switches = {{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}};
  // The four rings leave the node at different GPUs.
  CHECK(nccl_system(spec, hopper(), 16).rings ==
        std::vector<std::vector<int>>{
            {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}});
}

TEST_CASE("what NCCL finds on the machines") {
  const NcclSystem node = nccl_system(hopper_cluster(1, 8), hopper(), 8);
  CHECK(node.ring.channels * node.ring.intra_bytes_per_s == 360e9);
  CHECK(node.nvls.channels == 8);
  CHECK(node.nvls.intra_bytes_per_s == 40e9);
  CHECK(node.nvls.inter_bytes_per_s == 60e9);
  ClusterSpec eight = hopper_cluster(4, 8);
  eight.nic.per_node = 8;
  eight.nic.link.bandwidth_bytes_per_s = 47e9;  // of 400 Gbit/s
  const NcclSystem nodes = nccl_system(eight, hopper(), 32);
  CHECK(nodes.ring.channels == 8);
  CHECK(nodes.ring.inter_bytes_per_s == 48e9);
  CHECK(nodes.tree.intra_bytes_per_s >= 45e9);
  CHECK(nodes.nvls.intra_bytes_per_s == 40e9);
  CHECK(nodes.entry_gpus == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  // Two NICs for four GPUs: GPUs 0 and 2 are the first of each.
  ClusterSpec two = hopper_cluster(2, 4);
  two.nic.per_node = 2;
  CHECK(nccl_system(two, hopper(), 8).entry_gpus == std::vector<int>{0, 2});
  // Four NICs for two GPUs: two for each.
  ClusterSpec four = hopper_cluster(2, 2);
  four.nic.per_node = 4;
  CHECK(nccl_system(four, hopper(), 4).entry_gpus == std::vector<int>{0, 0, 1, 1});
  // Four ports of a GPU count as one NIC. Of 200 Gbit/s they carry two channels of 48 GB/s, of 400 Gbit/s four; one port
  // of 400 Gbit/s has no room for a second. Eight GPUs have no NVLinks for more than eight channels.
  ClusterSpec ports = hopper_cluster(2, 1);
  for (const auto& [bytes_per_s, channels] : std::map<double, int>{{47e9, 1}, {94e9, 2}, {188e9, 4}}) {
    ports.nic.link.bandwidth_bytes_per_s = bytes_per_s;
    const NcclGraph ring = nccl_system(ports, hopper(), 2).ring;
    CHECK(ring.channels * ring.inter_bytes_per_s == channels * 48e9);
  }
  eight.nic.link.bandwidth_bytes_per_s = 94e9;
  CHECK(nccl_system(eight, hopper(), 32).ring.channels == 8);
  // A domain of 72 GPUs has no more channels in the switch than a GPU's links carry at the slowest speed: 18 x 40.1 GB/s
  // are 40 channels of 18 GB/s.
  NcclSpec blackwell;
  blackwell.generation = NcclGeneration::blackwell;
  const NcclSystem rack = nccl_system(hopper_cluster(1, 72), blackwell, 72);
  CHECK(rack.nvls.channels == 40);
  CHECK(rack.nvls.channels * rack.nvls.intra_bytes_per_s <= 18 * 40.1e9);
  // Two such domains with a NIC a GPU: channels of 48 GB/s pass every GPU, whose 722 GB/s are 16 of them at the most.
  ClusterSpec racks = hopper_cluster(2, 72);
  racks.nic.per_node = 72;
  racks.nic.link.bandwidth_bytes_per_s = 47e9;
  const NcclSystem two_racks = nccl_system(racks, blackwell, 144);
  CHECK((two_racks.ring.channels - 1) * two_racks.ring.inter_bytes_per_s < 18 * 40.1e9);
  CHECK(two_racks.ring.channels == 16);
  CHECK(two_racks.tree.channels == 16);
  CHECK(two_racks.nvls.channels > 0);
  blackwell.in_switch = false;
  CHECK(nccl_system(racks, blackwell, 144).nvls.channels == 0);
  // PCIe: the ring's hop between the sockets, 9 GB/s, is the slowest.
  NcclSpec pascal;
  pascal.generation = NcclGeneration::pascal;
  const NcclSystem pcie = nccl_system(tests::pcie_cluster(1, 8), pascal, 8);
  CHECK_FALSE(pcie.has_nvlink);
  CHECK(pcie.ring.channels == 1);
  CHECK(pcie.ring.intra_bytes_per_s == 9e9);
  CHECK(pcie.nvls.channels == 0);
}

TEST_CASE("sharded, two units on two GPUs, worked by hand") {
  // A gather or reduce-scatter of 4.004 MB: 2 us + 2.002 MB / 40 GB/s = 52.05 us. In microseconds:
  //   gather 1: 0 - 52.05, gather 2 - 104.1; forward 1: 52.05 - 152.05, forward 2 - 252.05
  //   gather 2 again, when forward 1 is over: 152.05 - 204.1; gather 1 again, when forward 2 is: 252.05 - 304.1
  //   backward 2: 252.05 - 452.05, backward 1 - 652.05; reduce-scatter 2: 452.05 - 504.1, 1: 652.05 - 704.1
  //   update of a half: 25 us: 729.1
  const model::Graph graph = two_layers();
  const std::vector<ShardingUnit> units = sharding_units(graph, 4, 1'000'000);
  REQUIRE(units.size() == 2);
  auto options = options_for<Sharded>(2, 2);
  const ClusterSpec spec = tests::nvswitch_cluster(1, 2);
  const std::vector<double> ahead =
      ends_s(spec, sharded(graph, two_costs(), units, options, all_gather, reduce_scatter));
  CHECK(ahead[0] == Approx(729.1e-6).epsilon(1e-6));
  CHECK(ahead[1] == Approx(2 * 729.1e-6).epsilon(1e-6));
  // With no unit ahead, each of the four passes waits for its gather. The last also waits for the reduce-scatter before
  // its gather: 4 x 52.05 + 600 + 52.05. With a final reduce-scatter and the update: 937.3.
  options.units_ahead = 0;
  const std::vector<double> behind =
      ends_s(spec, sharded(graph, two_costs(), units, options, all_gather, reduce_scatter));
  CHECK(behind[0] == Approx(937.3e-6).epsilon(1e-6));
}

TEST_CASE(
    "local SGD that averages every step takes the time of S-SGD; every H steps, the exchange's share falls to 1/H") {
  const model::Graph graph = two_layers();
  const ClusterSpec spec = tests::nvswitch_cluster(2, 2);
  const std::vector<Bucket> buckets = fuse_gradients(graph, 4, 3'000'000);
  auto plain = options_for<SSgd>(4, 4);
  plain.overlap = false;
  const std::vector<double> s_sgd_ends = ends_s(spec, s_sgd(graph, two_costs(), buckets, plain, ring_all_reduce));
  auto options = options_for<LocalSgd>(4, 4);
  const std::vector<double> every =
      ends_s(spec, local_sgd(graph, two_costs(), buckets, options, ring_all_reduce, all_gather));
  for (std::size_t i = 0; i < every.size(); ++i) CHECK(every[i] == Approx(s_sgd_ends[i]));
  const double exchange_s = s_sgd_ends[0] - 650e-6;
  CHECK(exchange_s > 100e-6);
  options.period = 4;
  const std::vector<double> rare =
      ends_s(spec, local_sgd(graph, two_costs(), buckets, options, ring_all_reduce, all_gather));
  CHECK(rare[3] == Approx(4 * 650e-6 + exchange_s));
}

TEST_CASE("local SGD of groups takes the time of S-SGD within a group, plus an average and an update every H steps") {
  const model::Graph graph = two_layers();
  const ClusterSpec spec = tests::nvswitch_cluster(4, 1);
  const std::vector<Bucket> buckets = fuse_gradients(graph, 4, 3'000'000);
  const std::vector<double> of_group =
      ends_s(spec, s_sgd(graph, two_costs(), buckets, options_for<SSgd>(2, 4), ring_all_reduce));
  auto options = options_for<LocalSgd>(4, 4);
  options.group_gpus = 2;
  options.period = 4;
  const std::vector<double> ends =
      ends_s(spec, local_sgd(graph, two_costs(), buckets, options, ring_all_reduce, all_gather));
  for (std::size_t i = 0; i < 3; ++i) CHECK(ends[i] == Approx(of_group[i]).epsilon(1e-9));
  double averages_s = 0;
  for (const Bucket& bucket : buckets) {
    std::vector<double> times_s(4, 0);
    for (const Plan& plan :
         {average_between_groups(4, 2, bucket.bytes), in_every_group(all_gather(2, bucket.bytes), 2)})
      REQUIRE(plan_by_max_plus(plan, Cluster(spec, 4), times_s));
    averages_s += *std::max_element(times_s.begin(), times_s.end());
  }
  CHECK(ends[3] == Approx(of_group[3] + averages_s + two_costs().update_s).epsilon(1e-9));
}

TEST_CASE("accumulation of k: k passes and one exchange") {
  const model::Graph graph = two_layers();
  const ClusterSpec spec = tests::nvswitch_cluster(2, 2);
  const std::vector<Bucket> buckets = fuse_gradients(graph, 4, 3'000'000);
  auto options = options_for<SSgd>(4, 2);
  const double once = ends_s(spec, s_sgd(graph, two_costs(), buckets, options, ring_all_reduce))[0];
  options.accumulation = 3;
  const double thrice = ends_s(spec, s_sgd(graph, two_costs(), buckets, options, ring_all_reduce))[0];
  CHECK(thrice == Approx(once + 2 * 600e-6));
}

TEST_CASE("loading in parallel hides behind training, or training behind it; blocking adds up") {
  const model::Graph graph = two_layers();
  const ClusterSpec spec = tests::nvswitch_cluster(1, 2);
  const std::vector<Bucket> buckets = fuse_gradients(graph, 4, 1 << 30);
  const auto step_s = [&](double load_s, bool blocking) {
    auto options = options_for<SSgd>(1, 6);
    options.load_s = load_s;
    options.to_device_s = 30e-6;
    options.blocking = blocking;
    const std::vector<double> ends = ends_s(spec, s_sgd(graph, two_costs(), buckets, options, ring_all_reduce));
    return ends[5] - ends[4];
  };
  CHECK(step_s(400e-6, false) == Approx(650e-6));
  CHECK(step_s(900e-6, false) == Approx(900e-6));
  CHECK(step_s(400e-6, true) == Approx(400e-6 + 30e-6 + 650e-6));
}

TEST_CASE("Theano-MPI's exchange worked by hand") {
  // 8.008 MB on 4 nodes; a message between nodes takes alpha and 12.5 GB/s. ASA: 3 rounds of 2.002 MB, the sum of 5/4 x
  // 8.008 MB at 100 GB/s (100.1 us), 3 rounds again. ASA16: half of the bytes, conversions of 12.012 MB: 120.12 us
  // each.
  const model::Graph graph = two_layers();
  const ClusterSpec spec = tests::nvswitch_cluster(4, 1);
  const double alpha = in_child([&] {
    Cluster cluster(spec, 4);
    return std::vector<double>{cluster.message_latency_s(0, 1)};
  })[0];
  const std::vector<Bucket> whole = fuse_gradients(graph, 4, 1 << 30);
  auto options = options_for<TheanoMpi>(4, 2);
  options.pass_bytes_per_s = 100e9;
  const TheanoMpiPlans plans{ring_all_reduce, all_to_all, all_gather};
  const double asa = ends_s(spec, theano_mpi(graph, two_costs(), whole, options, plans))[0];
  CHECK(asa == Approx(650e-6 + 6 * (alpha + 2.002e6 / 12.5e9) + 100.1e-6));
  options.exchange = ParameterExchange::asa16;
  const double asa16 = ends_s(spec, theano_mpi(graph, two_costs(), whole, options, plans))[0];
  CHECK(asa16 == Approx(650e-6 + 6 * (alpha + 1.001e6 / 12.5e9) + 50.05e-6 + 2 * 120.12e-6));
  CHECK(asa16 - 650e-6 < asa - 650e-6);
}
