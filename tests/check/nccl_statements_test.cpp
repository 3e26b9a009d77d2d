// What NCCL's lines say about causes, and how `calibrate check` uses it.
#include "sim/explain/nccl_statements.hpp"

#include <cmath>

#include "sim/explain/check_command.hpp"
#include "sim/explain/check_text.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/training_logs.hpp"
#include "tests/catch.hpp"
#include "tests/check/catalogue.hpp"
#include "tests/check/nccl_log.hpp"

namespace lockstep::tests {
namespace {

const std::string kNetwork = "8x 400 Gb/s InfiniBand";
const char* const kNics = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>";

std::string debug_lines(const std::vector<std::string>& messages) {
  std::string text;
  for (const std::string& message : messages) text += "node0:1000:2000 [0] NCCL INFO " + message + "\n";
  return text;
}

std::vector<sim::NcclStatement> statements(const std::vector<std::string>& messages, int nodes = 2) {
  return sim::nccl_statements({"a.log", calib::read_nccl_debug(debug_lines(messages))},
                              sim::machine_of(catalogue(), "H100", "", kNetwork, 8, 8 * nodes));
}

// "+tcp-sockets -no-gpudirect"
std::string summary(const std::vector<sim::NcclStatement>& all) {
  std::string text;
  for (const sim::NcclStatement& one : all)
    text += (text.empty() ? "" : " ") + std::string(one.is_present ? "+" : "-") + std::string(name_of(one.cause));
  return text;
}

// 95 GB/s of 456: several causes explain it.
NcclLog slow_table(int nodes = 2) {
  return {
      "all_reduce", 8 * nodes, nodes, "NVIDIA H100 80GB HBM3", {{1 << 28, 60}, {double(std::int64_t{1} << 32), 95}}};
}

sim::CheckResult checked(const std::vector<std::string>& messages, const std::string& network = kNetwork,
                         const NcclLog& table = slow_table(), const std::string& good = "") {
  const TemporaryFolder folder;
  sim::CheckOptions options;
  options.files = {folder.write("a.log", debug_lines(messages) + nccl_log(table))};
  options.question.job.network.stated = network;
  if (!good.empty()) options.good_file = folder.write("good.log", good);
  const auto none = [](const std::string&) { return false; };
  return sim::check(sim::read_measurements(options, catalogue(), none), catalogue(), 1,
                    sim::read_good_log(options, catalogue(), none));
}

const sim::RankedCause& ranked(const sim::CheckResult& result, sim::CauseId id) {
  for (const sim::RankedCause& one : result.causes)
    if (one.id == id) return one;
  throw std::logic_error("no such cause");
}

}  // namespace

TEST_CASE("each of NCCL's facts speaks of its cause") {
  CHECK(summary(statements({"Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0"})) == "+tcp-sockets");
  CHECK(summary(statements({"Using network Socket"})) == "+tcp-sockets");
  CHECK(summary(statements({"NET/IB : No device found."})) == "+tcp-sockets");
  CHECK(summary(statements({"NCCL_IB_DISABLE set by environment to 1."})) == "+tcp-sockets");
  CHECK(summary(statements({"Using network AWS Libfabric"})) == "-tcp-sockets");
  CHECK(summary(statements({"Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA"})) ==
        "-tcp-sockets -no-gpudirect");
  CHECK(summary(statements({"Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0"})) == "-tcp-sockets +no-gpudirect");
  // A GPU may read by GPUDirect RDMA farther than it writes.
  CHECK(summary(statements({"Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0",
                            "Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA"})) == "-tcp-sockets");
  // One node of two lacks it: the module is loaded on the other one alone.
  const auto one_of_two = sim::nccl_statements(
      {"a.log",
       calib::read_nccl_debug(debug_lines({"Channel 00 : 8[7000] -> 0[7000] [receive] via NET/IB/1/GDRDMA"}) +
                              "node1:1:2 [0] NCCL INFO Channel 00 : 0[7000] -> 8[7000] [receive] via NET/IB/0\n")},
      sim::machine_of(catalogue(), "H100", "", kNetwork, 8, 16));
  CHECK(summary(one_of_two) == "-tcp-sockets +no-gpudirect");
  CHECK(one_of_two.back().text == "node1 receives without GPUDirect RDMA, and others have it");
  CHECK(summary(statements({"Connected all rings, use ring PXN 0 GDR 0"})) == "+no-gpudirect");
  CHECK(summary(statements({"NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"})) == "+no-gpudirect");
  CHECK(summary(statements({"NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"})).empty());
  CHECK(summary(statements({kNics})) == "+fewer-nics");
  CHECK(statements({kNics}).front().count == 2);
  CHECK(summary(statements({"Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"})) == "+no-peer-access");
  CHECK(summary(statements({"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"})) == "-no-peer-access");
  CHECK(summary(statements({"NCCL_P2P_DISABLE set by environment to 1"})) == "+no-peer-access");
  CHECK(summary(statements({"NCCL_P2P_LEVEL set by environment to LOC"})) == "+no-peer-access");
  CHECK(summary(statements({"NVLS multicast support is not available on dev 0"})) == "+no-nvls");
  CHECK(summary(statements({"NCCL_ALGO set by environment to Ring"})) == "+no-nvls");
  CHECK(summary(statements({"NCCL_ALGO set by environment to NVLSTree,Ring"})).empty());
  CHECK(summary(statements({"NCCL_ALGO set by environment to ^NVLS"})) == "+no-nvls");
  CHECK(summary(statements({"AllReduce: 1073741824 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}"})) ==
        "+no-nvls");
  CHECK(summary(statements({"16 coll channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer"})) ==
        "-no-nvls -pcie-link");
  CHECK(summary(statements({"Pattern 4, crossNic 0, nChannels 2, bw 12.0/12.0, type SYS/PHB, sameChannels 1"})) ==
        "+pcie-link");
}

TEST_CASE("what NCCL did decides before what its variables ask for, and one node has no network") {
  CHECK(summary(statements({"NCCL_P2P_DISABLE set by environment to 1", "Channel 00 : 0[0] -> 1[1] via P2P/IPC"})) ==
        "-no-peer-access");
  CHECK(summary(statements({"NCCL_IB_DISABLE set by environment to 1.", "Using network IB"})) == "-tcp-sockets");
  CHECK(summary(statements({"Using network Socket", kNics}, 1)).empty());
}

TEST_CASE("a statement multiplies the odds of its cause by 49, and is the first line for it or against it") {
  const sim::CheckResult without = checked({});
  const std::vector<std::pair<sim::CauseId, std::string>> facts{
      {sim::CauseId::sockets, "Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0"},
      {sim::CauseId::no_gpudirect, "Connected all rings, use ring PXN 0 GDR 0"}};
  for (const auto& [id, message] : facts) {
    INFO(message);
    const sim::CheckResult with = checked({message});
    CHECK(with.speed == without.speed);
    CHECK(with.share == Approx(without.share));
    CHECK(with.causes.front().id == id);
    const double before = ranked(without, id).probability, after = ranked(with, id).probability;
    CHECK(after / (1 - after) == Approx(49 * before / (1 - before)));
    CHECK_THAT(sim::text_for(with, with.causes.front()), Contains("a.log line 1), 49 times as likely; "));
    for (const sim::DecidingTest& test : with.causes.front().tests) CHECK(test.run != sim::kNcclDebug);
  }
  const sim::CheckResult ruled_out = checked({"Connected all rings, use ring PXN 0 GDR 1"});
  const sim::RankedCause& cause = ranked(ruled_out, sim::CauseId::no_gpudirect);
  const double before = ranked(without, sim::CauseId::no_gpudirect).probability, after = cause.probability;
  CHECK(after / (1 - after) == Approx(before / (1 - before) / 49));
  CHECK_THAT(sim::text_against(ruled_out, cause),
             Contains("rings use GPUDirect RDMA (") && Contains("1/49 as likely; "));
}

TEST_CASE("the number of NICs that NCCL found is the variant of fewer NICs") {
  const sim::CheckResult result = checked({kNics, "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA"});
  CHECK(result.causes.front().id == sim::CauseId::fewer_nics);
  CHECK_THAT(result.causes.front().title, Contains("(2 of 8 NICs)"));
  const Json json = sim::check_json(result, {});
  CHECK(json.at("causes").at(0).at("nccl").at("count") == 2);
  CHECK(json.at("causes").at(0).at("nccl").at("line") == 1);
  CHECK(json.at("nccl").size() == 3);
}

TEST_CASE("a fact that makes nothing slower is reported, and a normal speed stays normal") {
  // Without NVLS, all-reduces over 8 nodes and more take rings or trees anyway where they are as fast.
  NcclLog table = slow_table();
  table.rows = {{double(std::int64_t{1} << 32), 456}};
  const sim::CheckResult result = checked({"Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0"}, kNetwork, table);
  CHECK(result.speed == sim::Speed::normal);
  CHECK(result.causes.front().id == sim::CauseId::normal);
  const sim::CheckResult tcp = checked({"Using network Socket"}, "8x 400 Gb/s TCP");
  CHECK(tcp.statements.size() == 1);
  CHECK_THAT(sim::check_text(tcp, {}),
             Contains("a.log line 1: NCCL uses the network Socket, which does not change what"));
}

TEST_CASE("without GPUDirect RDMA a GH200 loses little, because its host memory keeps up with four ports") {
  const NcclLog table{"all_reduce", 2, 2, "NVIDIA GH200 480GB", {{double(std::int64_t{1} << 31), 79.7}}};
  const sim::CheckResult with =
      checked({"Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"}, "4x 200 Gb/s InfiniBand", table);
  CHECK(with.speed == sim::Speed::normal);
  CHECK(with.causes.front().id == sim::CauseId::no_gpudirect);
  CHECK(ranked(with, sim::CauseId::no_gpudirect).gain < 1.5);
}

TEST_CASE("NCCL's lines that contradict the table, the job or the network are refused with both facts") {
  CHECK_THAT(error_of([] { (void)checked({"comm 0x5 rank 0 nranks 8 cudaDev 0 busId 1b000 - Init COMPLETE"}); }),
             Contains("a.log line 1: NCCL has 8 ranks, and the table of") && Contains("a.log 16; allowed"));
  CHECK_THAT(error_of([] { (void)checked({"comm 0x5 rank 0 nRanks 16 nNodes 4 localRanks 4 localRank 0 MNNVL 0"}); }),
             Contains("NCCL has 4 nodes, and the table of") && Contains("a.log 2;"));
  CHECK(checked({"comm 0x5 rank 0 nRanks 16 nNodes 1 localRanks 16 localRank 0 MNNVL 1"}).share > 0);
  CHECK_THAT(error_of([] { (void)checked({kNics}, "8x 400 Gb/s RoCE"); }),
             Contains("NCCL's NICs are of IB, and --network is 8x 400 Gb/s RoCE"));
  CHECK_THAT(error_of([] { (void)checked({"Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0"}, "8x 100 GbE"); }),
             Contains("NCCL uses NET/IB, and --network is"));
  CHECK(checked({kNics}, "8x 400 Gb/s").share > 0);
}

TEST_CASE("what the good log has too is no cause of a difference") {
  const std::string fact = "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0";
  NcclLog good = slow_table();
  for (auto& [bytes, bus] : good.rows) bus *= 3;
  CHECK(summary(checked({fact}, kNetwork, slow_table(), nccl_log(good)).statements) == "-tcp-sockets +no-gpudirect");
  CHECK(checked({fact}, kNetwork, slow_table(), debug_lines({fact}) + nccl_log(good)).statements.empty());
}

TEST_CASE(
    "a training log takes NCCL's ranks, and refuses more than the job has; a file of NCCL's lines alone is read") {
  const TemporaryFolder folder;
  const auto is_given = [](const std::string& name) {
    return name == "--model" || name == "--gpu" || name == "--global-batch";
  };
  sim::CheckOptions options;
  options.question.job.model.stated = "gpt2";
  options.question.job.gpu.stated = "H100";
  options.question.job.global_batch = 512;
  const std::string world = "comm 0x5 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0";
  std::string text;
  for (int i = 0; i < 30; ++i) text += "iter " + std::to_string(i) + ": loss 4.1, time 135.31ms, mfu 43.40%\n";
  options.files = {folder.write("train.log", debug_lines({world, "Using network Socket"}) + text)};
  const sim::Measurements measured = sim::read_measurements(options, catalogue(), is_given);
  CHECK(measured.steps.front().question.gpus == std::vector<int>{16});
  CHECK(summary(sim::check(measured, catalogue(), 1).statements) == "+tcp-sockets");
  options.question.gpus = {8};
  CHECK_THAT(
      error_of([&] { (void)sim::check(sim::read_measurements(options, catalogue(), is_given), catalogue(), 1); }),
      Contains("NCCL has 16 ranks, and the job of") && Contains("train.log 8;"));
  options.question.gpus = {16};
  options.files = {folder.write("plain.log", text),
                   folder.write("nccl.log", debug_lines({world, "Using network Socket"}))};
  CHECK(summary(sim::check(sim::read_measurements(options, catalogue(), is_given), catalogue(), 1).statements) ==
        "+tcp-sockets");
}

}  // namespace lockstep::tests
