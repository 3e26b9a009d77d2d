// Lines of NCCL_DEBUG=INFO in the formats of several versions of NCCL and RCCL; names and numbers are ours.
#include "calib/import/nccl_debug.hpp"

#include "tests/catch.hpp"

using namespace lockstep::calib;

namespace {

std::string line_of(const std::string& message, const std::string& host = "node-1", int device = 0) {
  return host + ":4711:4815 [" + std::to_string(device) + "] NCCL INFO " + message + "\n";
}

std::string log_of(const std::vector<std::string>& messages) {
  std::string text;
  for (const std::string& message : messages) text += line_of(message);
  return text;
}

}  // namespace

TEST_CASE("NCCL's NICs are counted in the formats of 2.10, 2.21 and 2.24, and its network is named") {
  for (const std::string using_nics : {" [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0:10.0.0.1<0>",
                                       " [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB/SHARP ; OOB e:1<0>",
                                       " [0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB} [RO]; OOB eth0:10.0.0.1<0>",
                                       " [0]mlx5_0+mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>"}) {
    INFO(using_nics);
    const NcclFacts facts = read_nccl_debug(log_of({"NET/IB : Using" + using_nics, "Using network IB"}));
    CHECK(facts.most_nics() == 2);
    CHECK(facts.link_types.size() == 1);
    CHECK(facts.link_types.count("IB") == 1);
    CHECK(facts.networks.count("IB") == 1);
    CHECK(facts.first_nics.line == 1);
  }
  const NcclFacts roce = read_nccl_debug(log_of({"NET/IB : Using [0]rdma0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"}));
  CHECK(roce.most_nics() == 1);
  CHECK(roce.link_types.count("RoCE") == 1);
}

TEST_CASE("channels are counted by network, with GPUDirect RDMA or without, and by their way within a node") {
  const NcclFacts facts = read_nccl_debug(log_of(
      {"Channel 00 : 7[af000] -> 8[1b000] [send] via NET/IB/0/GDRDMA",
       "Channel 01/0 : 8[0] -> 7[7] [receive] via NET/IB/3",
       "Channel 02/0 : 7[7] -> 8[0] [send] via NET/IB/1(5)/GDRDMA(PCI)/Shared",
       "Channel 03/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA",
       "Channel 00 : 0[1b000] -> 1[1c000] via P2P/IPC", "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
       "Channel 00/0 : 0[0] -> 3[3] via P2P/indirect/2[2]",
       "Channel 01 : 0[1b000] -> 1[1c000] via direct shared memory", "Channel 01 : 1[1] -> 0[0] via SHM/direct/direct",
       "Channel 00 : 0[c1000] -> 1[c6000] via P2P/IPC comm 0x7f3 nRanks 02",
       "Channel 00 : 1[c6000] -> 2[c1000] [send] via NET/IB/0/GDRDMA comm 0x7f3 nRanks 04"}));
  CHECK(facts.channels.at("IB").count == 4);
  CHECK(facts.channels.at("IB").gpudirect == 3);
  CHECK(facts.channels.at("IB").first.line == 1);
  CHECK(facts.channels.at("AWS Libfabric").gpudirect == 1);
  CHECK(facts.used_nics.at("node-1") == std::set<int>{0, 1, 3});
  CHECK(facts.local.at("P2P").count == 3);
  CHECK(facts.local.at("P2P/indirect").count == 1);
  CHECK(facts.local.at("SHM").count == 2);
  CHECK(facts.logging_ranks.at("node-1") == std::set<int>{0, 1, 7});
}

TEST_CASE("channels of NCCL 2.4 are read, which has no device at the ends of a network") {
  const NcclFacts facts =
      read_nccl_debug(log_of({"Ring 00 : 15 -> 0 [send] via NET/Socket/0", "Ring 00 : 3[3] -> 2[2] via P2P/IPC",
                              "Ring 01 : 7 -> 8 [receive] via NET/IB/1/GDRDMA", "Ring 00 : 0 -> 1 -> 2"}));
  CHECK(facts.channels.at("Socket").count == 1);
  CHECK(facts.channels.at("IB").gpudirect == 1);
  CHECK(facts.receiving.at("node-1").gpudirect == 1);
  CHECK(facts.local.at("P2P").count == 1);
}

TEST_CASE("ranks, nodes, NVLS, algorithms and variables are read") {
  const NcclFacts facts = read_nccl_debug(
      "NCCL version 2.21.5+cuda12.4\n" +
      log_of({"comm 0x55d0 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0",
              "ncclCommSplit comm 0x66d0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 5d000 parent 0x55d0 color 1 key 0 "
              "commId "
              "0xf - Init COMPLETE",
              "NVLS multicast support is not available on dev 3",
              "16 coll channels, 16 collnet channels, 0 nvls channels, 32 p2p channels, 2 p2p channels per peer",
              "Pattern 4, crossNic 0, nChannels 12, bw 40.000000/20.000000, type NVL/PIX, sameChannels 1",
              "AllReduce: 1073741824 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}",
              "2147483648 Bytes -> Algo 4 proto 2 time 9000.000000", "NCCL_ALGO set by environment to Ring",
              "NCCL_IB_DISABLE set by environment to 1.", "Connected all rings, use ring PXN 0 GDR 1",
              "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"}));
  CHECK(facts.version == "2.21.5");
  CHECK(facts.largest.ranks == 16);
  CHECK(facts.largest.nodes == 2);
  CHECK(facts.sizes == std::set<int>{8, 16});
  CHECK(facts.nvls_support.count(false) == 1);
  CHECK(facts.nvls_channels == 0);
  CHECK(facts.ring_types.count("NVL") == 1);
  CHECK(facts.algorithms.at(1073741824) == "RING");
  CHECK(facts.algorithms.at(2147483648) == "NVLS");
  CHECK(facts.environment.at("NCCL_ALGO") == "Ring");
  CHECK(facts.environment.at("NCCL_IB_DISABLE") == "1");
  CHECK(facts.rings_use_gpudirect.count(true) == 1);
  CHECK(facts.adapters_gpudirect.count(false) == 1);
  CHECK_THAT(nccl_facts_text(facts), Contains("NCCL 2.21.5: 16 ranks on 2 nodes, 0 NVLS channels"));
}

TEST_CASE(
    "NCCL's prefix is found behind launchers' labels, times, colours and tables, and two messages in a line are two") {
  const std::string message = "node-1:4711:4815 [0] NCCL INFO Using network Socket";
  for (const std::string& line : {"0: " + message, "[1,0]<stdout>:" + message, "[rank0]:" + message,
                                  "[default3]:" + message, "2026-11-30T09:44:17.123Z " + message,
                                  "[2025-01-02 03:04:05] " + message, "\x1b[36m(Worker pid=7)\x1b[0m " + message,
                                  "  1073741824     268435456     float     sum      -1 " + message, message + "\r"}) {
    INFO(line);
    CHECK(has_nccl_lines(line + "\n"));
    CHECK(read_nccl_debug(line + "\n").networks.count("Socket") == 1);
  }
  const NcclFacts two = read_nccl_debug(
      "node-1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC node-2:1:2 [3] NCCL INFO Using network IB\n");
  CHECK(two.messages == 2);
  CHECK(two.local.at("P2P").count == 1);
  CHECK(two.networks.count("IB") == 1);
  // Without a blank between them, where the first one ends is not known.
  const NcclFacts joined = read_nccl_debug(
      "n:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0n:3:4 [1] NCCL INFO Using network IB\n");
  CHECK(joined.channels.empty());
  CHECK(joined.networks.count("IB") == 1);
}

TEST_CASE("RCCL's lines are read, and its version") {
  const NcclFacts facts =
      read_nccl_debug("RCCL version : 2.20.5-HEAD:d380693\n" +
                      line_of("Channel 00/0 : 0[c000] -> 1[d000] via P2P/direct pointer comm 0x7f3 nRanks 08"));
  CHECK(nccl_facts_text(facts) == "RCCL 2.20.5: 1 channel by P2P");
}

TEST_CASE("text without NCCL's prefix tells nothing, and neither do messages that are cut off") {
  for (const std::string& text :
       {std::string("We see NET/Socket : Using [0]eth0:1<0> in the log\n"),
        std::string("NCCL INFO Using network Socket\n"), std::string("host [0] NCCL INFO Using network Socket\n"),
        std::string("host:1 [0] NCCL INFO Using network Socket\n")}) {
    INFO(text);
    CHECK_FALSE(has_nccl_lines(text));
    CHECK(read_nccl_debug(text).networks.empty());
  }
  const NcclFacts cut = read_nccl_debug(
      log_of({"Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDR", "Channel 00/0 : 7[7] -> 8[0] [send] via NET",
              "Channel 00/0 : 7[7] -> 8", "comm 0x55d0 rank 3 nRanks 1", "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/I",
              "16 coll channels, 16 collnet channels, ", "NCCL_ALGO set by environment to",
              "AllReduce: 1073741824 Bytes -> Algo RI"}));
  CHECK(cut.messages == 8);
  CHECK(cut.channels.empty());
  CHECK(cut.sizes.empty());
  CHECK(cut.nics.empty());
  CHECK_FALSE(cut.nvls_channels);
  CHECK(cut.environment.empty());
  CHECK(cut.algorithms.empty());
  CHECK(nccl_facts_text(cut).empty());
  const std::string last = "node-1:1:2 [0] NCCL INFO Channel 01/0 : 7[7] -> 8[0] [send] via NET/IB/0";
  CHECK(read_nccl_debug(line_of("Using network IB") + last).channels.empty());
  CHECK(read_nccl_debug(line_of("Using network IB") + last + "\n").channels.at("IB").gpudirect == 0);
}

TEST_CASE("a file of NCCL's lines alone is told from a log that has some") {
  std::string text = "NCCL version 2.18.3+cuda12.2\n";
  for (int i = 0; i < 20; ++i) text += line_of("Using network IB");
  CHECK(is_nccl_debug_file(text));
  for (int i = 0; i < 20; ++i) text += "iter 10: loss 4.1, time 135.31ms\n";
  CHECK_FALSE(is_nccl_debug_file(text));
}
