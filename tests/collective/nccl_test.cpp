// NCCL's choice: its own published predictions, cases worked by hand, and properties of every operation.
#include <algorithm>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/collective/nccl_systems.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::hgx_hopper;
using lockstep::tests::two_by_two;

namespace {

NcclTime fastest_by_tables(const NcclSystem& system, NcclOperation operation, std::int64_t bytes) {
  const std::vector<NcclTime> times = nccl_times(system, operation, bytes);
  return *std::min_element(times.begin(), times.end(),
                           [](const NcclTime& a, const NcclTime& b) { return a.seconds < b.seconds; });
}

double microseconds_by_tables(const NcclSystem& system, std::int64_t bytes) {
  return fastest_by_tables(system, NcclOperation::all_reduce, bytes).seconds * 1e6;
}

double microseconds(const NcclSystem& system, std::int64_t bytes) {
  return nccl_choice(system, NcclOperation::all_reduce, bytes).seconds * 1e6;
}

std::int64_t sent(const Plan& plan, int src, int dst) {
  std::int64_t bytes = 0;
  for (const Phase& phase : plan.phases)
    for (const Transfer& t : phase.transfers)
      if (t.src == src && t.dst == dst) bytes += t.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("nccl: a ring over two nodes of two GPUs worked by hand") {
  // 8 MB all-reduce. Six hops of which two pass the network; B = 2 x 10 GB/s.
  //   Simple: 8.4 + 4 max(3.4, 3 x 1) + 2 x 14 = 50 us, x 1.4 for a large ring between nodes = 70 us;
  //           20 x 4/6 = 13.33 GB/s: 600 us; together 670 us.
  //   LL128:  14 + 4 max(1.9, 1) + 2 x 4 = 29.6 us; min(0.92 x 20, 2 x 36.7) x 4/6 = 12.27 GB/s: 652.2 us; 681.8 us.
  //   LL:     6.6 + 4 max(0.6, 1) + 2 x 2.7 = 16 us; 20 / 2 x 4/6 = 6.67 GB/s: 1200 us; 1216 us.
  const std::vector<NcclTime> times = nccl_times(two_by_two(), NcclOperation::all_reduce, 8'000'000);
  REQUIRE(times.size() == 3);
  CHECK(times[0].seconds == Approx(1216e-6));
  CHECK(times[1].seconds == Approx(29.6e-6 + 8e6 / (18.4e9 * 4 / 6)));
  CHECK(times[2].seconds == Approx(670e-6));
  CHECK(times[2].latency_s == Approx(70e-6));
  CHECK(nccl_choice(two_by_two(), NcclOperation::all_reduce, 8'000'000).protocol == NcclProtocol::simple);
  // 800 bytes: 16 us + 0.12 us by LL is the fastest.
  CHECK(nccl_choice(two_by_two(), NcclOperation::all_reduce, 800).protocol == NcclProtocol::ll);
  CHECK(microseconds(two_by_two(), 800) == Approx(16.12));
  // An all-gather of 8 MB has half of the steps: 8.4 + 2 x 3.4 + 14 = 29.2 us; 20 x 4/3 GB/s: 300 us.
  const NcclTime gather = nccl_choice(two_by_two(), NcclOperation::all_gather, 8'000'000);
  CHECK(gather.seconds == Approx(329.2e-6));
  CHECK(nccl_choice(two_by_two(), NcclOperation::reduce_scatter, 8'000'000).seconds == gather.seconds);
  // A broadcast: 8.4 + 14 us, 20 GB/s.
  CHECK(nccl_choice(two_by_two(), NcclOperation::broadcast, 8'000'000).seconds == Approx(422.4e-6));
}

TEST_CASE("nccl: the bytes of a ring's links worked by hand") {
  // 12 MB = 2 x 3/4 x 8 MB leave every rank. One NIC: node 0 is entered at rank 0 and left from rank 1.
  const Plan one = nccl_plan(two_by_two(), NcclOperation::all_reduce, 8'000'000);
  CHECK(sent(one, 0, 1) == 12'000'000);
  CHECK(sent(one, 1, 2) == 12'000'000);
  CHECK(sent(one, 3, 0) == 12'000'000);
  CHECK(one.messages() == 4);
  REQUIRE(one.call);
  CHECK(one.call->latency_s == Approx(70e-6));
  CHECK(one.call->transfer_s == Approx(600e-6));
  // With two NICs, each carries half, and enters at another GPU.
  NcclSystem two = two_by_two();
  two.entry_gpus = {0, 1};
  const Plan both = nccl_plan(two, NcclOperation::all_reduce, 8'000'000);
  CHECK(sent(both, 0, 1) == 6'000'000);
  CHECK(sent(both, 0, 3) == 6'000'000);
  CHECK(sent(both, 1, 2) == 6'000'000);
  CHECK(both.bytes_sent() == one.bytes_sent());
  // Rings in an order of their own, each with its messages.
  two.rings = {{0, 1}, {1, 0}};
  const Plan ordered = nccl_plan(two, NcclOperation::all_reduce, 8'000'000);
  for (const auto& [src, dst] : {std::pair(0, 1), std::pair(1, 0), std::pair(1, 2), std::pair(0, 3), std::pair(3, 0)})
    CHECK(sent(ordered, src, dst) == 6'000'000);
  CHECK(ordered.bytes_sent() == one.bytes_sent());
}

TEST_CASE("nccl: a tree over two nodes of two GPUs worked by hand") {
  // 1 MB is sent by LL128. bus = min(0.92 x 20, 2 x 41.4) x 120/128 = 17.25 GB/s, S/T = bus / 2 = 8.625 GB/s, x 0.6 at
  // 2^13 x 64 bytes: 5.175 GB/s: 193.2 us. Latency 14 + 2 (1.25 + 8.5) = 33.5 us.
  NcclSystem system = two_by_two();
  system.tree = {2, 10e9, 10e9};
  system.only_algorithm = NcclAlgorithm::tree;
  const NcclTime time = nccl_choice(system, NcclOperation::all_reduce, 1'000'000);
  CHECK(time.protocol == NcclProtocol::ll128);
  CHECK(time.seconds == Approx(33.5e-6 + 1e6 / 5.175e9));
  // Half of the vector goes up and down each of two chains in a node; all of it goes between the nodes, in both
  // directions.
  const Plan plan = nccl_plan(system, NcclOperation::all_reduce, 1'000'000);
  CHECK(sent(plan, 0, 1) == 1'000'000);
  CHECK(sent(plan, 1, 0) == 1'000'000);
  CHECK(sent(plan, 0, 2) == 1'000'000);
  CHECK(sent(plan, 2, 0) == 1'000'000);
  CHECK(plan.bytes_sent() == 2 * 3 * 1'000'000);  // 2(R-1) S
  CHECK_THROWS_AS(nccl_choice(system, NcclOperation::all_gather, 1000), std::invalid_argument);
}

TEST_CASE("nccl: NVLS in a node and NVLSTree between nodes worked by hand") {
  // 51 MB on 8 H200 take: 8 min(2 x 40 x 0.85 x 7/8, 60) = 476 GB/s of bus, x 8/14 = 272 GB/s; 25 + 187.5 = 212.5 us.
  const NcclTime one = nccl_choice(hgx_hopper(1), NcclOperation::all_reduce, 51'000'000);
  CHECK(one.algorithm == NcclAlgorithm::nvls);
  // The first round has 16 channels of 8 heads with chunks of 32 KiB (51 MB are fewer than 8 rounds of 64 KiB). It
  // passes 8 channels of 40 GB/s twice: 4.19 MB (2 / 320 - 1 / 272) = 10.8 us more.
  CHECK(one.seconds * 1e6 == Approx(212.5 + 10.79).epsilon(1e-4));
  // 8 nodes take 25 + 2 x 3 x 20.9 = 150.4 us; 8 min(59.5, 48, 45.5) = 364 GB/s, x 64/126: 275.8 us.
  const NcclTime eight = nccl_choice(hgx_hopper(8), NcclOperation::all_reduce, 51'000'000);
  CHECK(eight.algorithm == NcclAlgorithm::nvls_tree);
  // From four nodes on, chunks have at most 64 KiB. The first 8.39 MB pass the network 6 times: (2 / 320 + 6 / 384 - 1
  // / 184.9) 8.39 MB = 138.1 us.
  CHECK(eight.seconds * 1e6 == Approx(150.4 + 275.84 + 138.13).epsilon(1e-4));
  // Bytes include those that every GPU sends to its switch, and those of the double tree over the nodes.
  const Plan plan = nccl_plan(hgx_hopper(8), NcclOperation::all_reduce, 51'000'000);
  CHECK(double(plan.bytes_sent()) == Approx(51e6 * (64 + 8 + 2 * 7)).epsilon(1e-5));
}

TEST_CASE("nccl: times that its tuner gives for HGX Hopper nodes with eight 400 Gbit/s NICs") {
  const std::vector<std::pair<int, double>> expected{{1, 213}, {8, 427}, {64, 556}, {128, 598}, {256, 640}};
  for (const auto& [nodes, us] : expected)
    CHECK(microseconds_by_tables(hgx_hopper(nodes), 51'000'000) == Approx(us).margin(1));
  // A ring of 2048 GPUs would take 27 ms.
  NcclSystem ring = hgx_hopper(256);
  ring.only_algorithm = NcclAlgorithm::ring;
  ring.only_protocol = NcclProtocol::simple;
  CHECK(microseconds(ring, 51'000'000) / 1e3 == Approx(27).margin(0.6));
}

// As NCCL prints at its start ("24 coll channels, 16 nvls channels"): DGX A100 and H100 alone; eight NICs of 200 Gbit/s
// on A100, of 400 Gbit/s on H100; one of these NICs for one H100 of each node.
TEST_CASE("nccl: a large operation runs a thread block for each channel of the communicator") {
  NcclSystem node = hgx_hopper(1);
  CHECK(thread_blocks(node, NcclAlgorithm::ring) == 24);
  CHECK(thread_blocks(node, NcclAlgorithm::nvls) == 16);
  NcclSystem nodes = hgx_hopper(8);
  CHECK(thread_blocks(nodes, NcclAlgorithm::ring) == 16);
  CHECK(thread_blocks(nodes, NcclAlgorithm::tree) == 16);
  CHECK(thread_blocks(nodes, NcclAlgorithm::nvls_tree) == 16);
  nodes.ring.channels = 1;
  CHECK(thread_blocks(nodes, NcclAlgorithm::ring) == 4);
  node.generation = nodes.generation = NcclGeneration::ampere;
  node.ring = {12, 20e9, 20e9};
  CHECK(thread_blocks(node, NcclAlgorithm::ring) == 24);
  nodes.ring = {8, 24e9, 24e9};
  CHECK(thread_blocks(nodes, NcclAlgorithm::ring) == 16);
  nodes.ring.channels = 40;
  CHECK(thread_blocks(nodes, NcclAlgorithm::ring) == 64);
}

TEST_CASE("nccl: the choice is among the fastest, time grows with the size, no bus is faster than its graph") {
  for (int nodes : {1, 2, 4, 16}) {
    const NcclSystem system = hgx_hopper(nodes);
    for (NcclOperation operation : {NcclOperation::all_reduce, NcclOperation::reduce_scatter, NcclOperation::all_gather,
                                    NcclOperation::broadcast}) {
      double before = 0;
      for (std::int64_t bytes = 64; bytes < (std::int64_t{1} << 34); bytes *= 4) {
        INFO(nodes << " nodes, " << to_string(operation) << ", " << bytes << " bytes");
        const NcclTime choice = nccl_choice(system, operation, bytes);
        const NcclTime fastest = fastest_by_tables(system, operation, bytes);
        if (nodes <= 2) {
          REQUIRE(choice.algorithm == fastest.algorithm);
          REQUIRE(choice.protocol == fastest.protocol);
        }
        REQUIRE(choice.seconds >= fastest.seconds);
        REQUIRE(choice.seconds <= fastest.seconds + fastest.fill_s);
        if (choice.algorithm != NcclAlgorithm::tree) REQUIRE(choice.seconds >= before);
        before = choice.seconds;
        // The switch adds, so a GPU sends less than on a ring.
        const bool in_switch = choice.algorithm == NcclAlgorithm::nvls || choice.algorithm == NcclAlgorithm::nvls_tree;
        const double most = in_switch ? 8 * 60e9 : nodes == 1 ? 360e9 : 384e9;
        const double n = system.ranks;
        const double factor = operation == NcclOperation::all_reduce  ? 2 * (n - 1) / n
                              : operation == NcclOperation::broadcast ? 1
                                                                      : (n - 1) / n;
        REQUIRE(choice.bandwidth_bytes_per_s * factor <= most * 1.0001);
      }
    }
  }
}

TEST_CASE("nccl: NVLS fills its pipeline once, with no more than a round, and nothing else does") {
  for (int nodes : {1, 2, 3, 4, 16}) {
    NcclSystem system = hgx_hopper(nodes);
    const NcclAlgorithm in_switch = nodes == 1 ? NcclAlgorithm::nvls : NcclAlgorithm::nvls_tree;
    for (NcclAlgorithm algorithm : {NcclAlgorithm::ring, NcclAlgorithm::tree, in_switch}) {
      system.only_algorithm = algorithm;
      system.only_protocol = NcclProtocol::simple;
      for (std::int64_t bytes = 1 << 16; bytes < (std::int64_t{1} << 34); bytes *= 2) {
        INFO(nodes << " nodes, " << to_string(algorithm) << ", " << bytes << " bytes");
        const double fill_s = nccl_choice(system, NcclOperation::all_reduce, bytes).seconds -
                              fastest_by_tables(system, NcclOperation::all_reduce, bytes).seconds;
        if (algorithm != in_switch) CHECK(fill_s == 0);
        if (algorithm != in_switch) continue;
        // 128 channels and heads with 128 KiB each, but no more than the operation's bytes.
        const double round = std::min<double>(double(bytes), 128 * 131072.0);
        const int passes = nccl_choice(system, NcclOperation::all_reduce, bytes).network_passes;
        CHECK(fill_s >= 0);
        CHECK(fill_s <= round * (2 / 320e9 + passes / 384e9));
        if (bytes < 64 * 131072) continue;
        CHECK(fill_s > 0);
      }
    }
  }
  // From 4 x 16.8 MB on, each of two nodes adds 16.8 MB (2 / 320 + 2 / 384 - 1 / B). Smaller operations add half of
  // that, and below 8.4 MB a quarter.
  const auto fill_us = [](std::int64_t bytes) {
    NcclSystem two = hgx_hopper(2);
    two.only_algorithm = NcclAlgorithm::nvls_tree;
    return microseconds(two, bytes) - microseconds_by_tables(two, bytes);
  };
  CHECK(fill_us(std::int64_t{1} << 30) == Approx(fill_us(1 << 26)));
  CHECK(fill_us(1 << 25) == Approx(fill_us(1 << 26) / 2));
  CHECK(fill_us(1 << 22) == Approx(fill_us(1 << 26) / 4));
}

TEST_CASE("nccl: what a machine lacks is not chosen") {
  NcclSystem pcie = hgx_hopper(1);
  pcie.has_nvlink = false;
  pcie.nvls = {};
  for (const NcclTime& time : nccl_times(pcie, NcclOperation::all_reduce, 1 << 20)) {
    CHECK(time.protocol != NcclProtocol::ll128);
    CHECK(time.algorithm != NcclAlgorithm::nvls);
  }
  NcclSystem ampere = hgx_hopper(1);
  ampere.generation = NcclGeneration::ampere;
  for (const NcclTime& time : nccl_times(ampere, NcclOperation::all_reduce, 1 << 20))
    CHECK(time.algorithm != NcclAlgorithm::nvls);
  NcclSystem alone;
  CHECK(nccl_times(alone, NcclOperation::all_reduce, 1 << 20).empty());
  CHECK(nccl_plan(alone, NcclOperation::all_reduce, 1 << 20).phases.empty());
}

TEST_CASE("nccl: a machine's own latency and bandwidth come out of its calls, and go with them between nodes") {
  // Operations take 7 us longer than by the tables, and reach 80 % of their bandwidth.
  const NcclSystem node = hgx_hopper(1);
  std::vector<MeasuredNcclOperation> measured;
  for (double bytes = 1024; bytes < 1e10; bytes *= 8) {
    const NcclTime tables = nccl_choice(node, NcclOperation::all_reduce, static_cast<std::int64_t>(bytes));
    measured.push_back({bytes, tables.latency_s + 7e-6 + bytes / (0.8 * tables.bandwidth_bytes_per_s)});
  }
  const NcclCorrection fit = fit_nccl(node, NcclOperation::all_reduce, measured);
  CHECK(fit.latency_excess_s == Approx(7e-6).epsilon(1e-6));
  CHECK(fit.bandwidth_factor == Approx(0.8).epsilon(1e-6));
  for (int nodes : {1, 2, 16}) {
    NcclSystem corrected = hgx_hopper(nodes);
    corrected.latency_excess_s = fit.latency_excess_s;
    corrected.bandwidth_factor = fit.bandwidth_factor;
    for (double bytes : {4096.0, 1e6, 1e9}) {
      const auto size = static_cast<std::int64_t>(bytes);
      const NcclTime tables = nccl_choice(hgx_hopper(nodes), NcclOperation::all_reduce, size);
      const NcclTime time = nccl_choice(corrected, NcclOperation::all_reduce, size);
      CHECK(time.algorithm == tables.algorithm);
      CHECK(time.protocol == tables.protocol);
      CHECK(time.latency_s == Approx(tables.latency_s + 7e-6));
      CHECK(time.seconds == Approx(time.latency_s + double(size) / (0.8 * tables.bandwidth_bytes_per_s)));
    }
  }
  CHECK_THROWS_AS(fit_nccl(node, NcclOperation::all_reduce, {{1e6, 1e-3}}), std::invalid_argument);
  CHECK_THROWS_AS(fit_nccl(node, NcclOperation::all_reduce, {{1e3, 1.0}, {1e9, 0.01}}), std::invalid_argument);
}
