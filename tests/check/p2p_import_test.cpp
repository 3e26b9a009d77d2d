// Logs of copies lead to predictions: what `calibrate import` writes, a cluster file names as a link.
#include "engine/base/json.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/check/nccl_log.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {

TEST_CASE("p2pBandwidthLatencyTest and sendrecv_perf lead to predicted all-reduces without editing") {
  const TemporaryFolder folder;
  folder.write("sendrecv.log", "# Collective test starting: sendrecv_perf\n" +
                                   nccl_log({"sendrecv", 2, 1, "NVIDIA H100 80GB HBM3", {{1 << 30, 250}}}));
  const std::string p2p = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/fuzz/corpus/p2p.txt";
  for (const auto& [import, both_ways] :
       {std::pair<std::string, std::string>{"p2p " + p2p, "false"}, {"nccl-tests sendrecv.log", "true"}}) {
    INFO(import);
    const Outcome imported = run_program(folder.path(""), "calibrate", "import " + import + " -o copies.json");
    INFO(imported.err);
    REQUIRE(imported.code == 0);
    folder.write("two.json", R"({"schema": "lockstep/cluster/1", "name": "two", "nodes": 1, "gpus_per_node": 2,
      "profile": "copies.json", "host": {"memory_bandwidth": "100 GB/s"},
      "gpu": {"name": "A100", "memory": "40 GB", "memory_bandwidth": "1.5 TB/s", "peak": {"fp32": "19.5 TFLOP/s"}},
      "intra_node": {"kind": "nvswitch", "pcie_link": {"bandwidth": "12 GB/s", "latency": "1 us"},
                     "gpu_link": {"from": "gpu0", "to": "gpu1", "both_ways": )" +
                                 both_ways + "}}}");
    const Outcome predicted =
        run_program(folder.path(""), "simulate", "all-reduce --cluster two.json --gpus 2 --bytes 1GB --json -");
    INFO(predicted.err);
    REQUIRE(predicted.code == 0);
    // 250 GB/s each way: a ring of two sends half of the bytes twice.
    CHECK(Json::parse(predicted.out).at("rows").at(0).at("seconds").get<double>() == Approx(1e9 / 250e9).epsilon(0.1));
  }
}

}  // namespace lockstep::tests
