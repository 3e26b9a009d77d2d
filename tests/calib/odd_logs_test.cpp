// Logs as they come off clusters: labels of launchers, Windows line ends, several runs in a file, runs that were
// aborted, drivers that name NICs themselves, compressed traces.
#ifdef LOCKSTEP_WITH_ZLIB
#include <zlib.h>
#endif

#include <functional>

#include "calib/bus_bandwidth.hpp"
#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "engine/base/atomic_file.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

// 20 us + bytes / 100 GB/s. run_on() fills in "BUSBW" by the algbw before it.
std::string row(const std::string& rest_of_1_mib = "float     sum      -1    30.49   34.39   BUSBW") {
  return "     1048576        262144     " + rest_of_1_mib + "    N/A    30.49   34.39   BUSBW    N/A\n";
}

std::string with_bus_bandwidths(std::string rows, double factor) {
  for (std::size_t at = rows.find("BUSBW"); at != std::string::npos; at = rows.find("BUSBW")) {
    const std::size_t end = rows.find_last_not_of(' ', at - 1), begin = rows.rfind(' ', end) + 1;
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", factor * std::atof(rows.c_str() + begin));
    rows.replace(at, 5, text);
  }
  return rows;
}

// A run of nccl-tests with `per_node` GPUs on each node, without the check of results (-c 0).
std::string run_on(int nodes, int per_node, const std::string& rows, const std::string& program = "all_reduce_perf") {
  std::string text =
      "# Collective test starting: " + program + "\n" +
      "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 67108864 step: 64(factor) warmup iters: 5 iters: 20 "
      "agg iters: 1 validation: 0 graph: 0\n#\n# Using devices\n";
  for (int rank = 0; rank < nodes * per_node; ++rank)
    text += "#  Rank " + std::to_string(rank) + " Group  0 Pid  10" + std::to_string(rank) + " on  gpu-node-" +
            std::to_string(rank / per_node) + " device  " + std::to_string(rank % per_node) +
            " [0000:0f:00] NVIDIA H100 80GB HBM3\n";
  return text +
         "#\n#                                                              out-of-place                in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
         "busbw "
         "#wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  "
         "(GB/s)  "
         "(GB/s)\n" +
         with_bus_bandwidths(rows, bus_factor(program.find("gather") != std::string::npos ? "all-gather" : "all-reduce",
                                              nodes * per_node)) +
         "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 51.6 \n#\n";
}

std::string by_line(const std::string& text, const std::function<std::string(const std::string&)>& change) {
  std::string changed;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    changed += change(text.substr(begin, end - begin)) + "\n";
  return changed;
}

void check_two_nodes(const std::string& text) {
  const Imported log = import_nccl_tests(text, "a.log");
  REQUIRE(log.samples.size() == 2);
  CHECK(log.refused.empty());
  CHECK(log.samples[0].key["operation"] == "all-reduce");
  CHECK(log.samples[0].key["ranks"] == 16);
  CHECK(log.samples[0].key["nodes"] == 2);
  REQUIRE(log.samples[0].seconds.size() == 1);
  CHECK(log.samples[0].seconds[0] == Approx(30.49e-6));
  CHECK(log.device.name == "NVIDIA H100 80GB HBM3");
}

std::string refusal(const std::string& text, const NcclTestsOptions& options = {}) {
  try {
    import_nccl_tests(text, "a.log", options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("nccl-tests under launchers that label lines, and with Windows line ends") {
  const std::string plain = run_on(2, 8, row());
  check_two_nodes(plain);
  for (const std::string label :
       {"[1,0]<stdout>:", "[1,0]<stdout>: ", "[prterun-gpu-node-0-4711@1,0]<stdout>: ", "[0] ", "0: ", " 0: ", "00: ",
        "2026-01-31T12:00:00.123456789Z ", "2026-01-31T12:00:00Z [1,0]<stdout>:", "[pod/nccl-launcher-x2x/nccl] ",
        "[default0]:", "nccl-1  | ", "\x1b[36m0: \x1b[0m"}) {
    INFO(label);
    check_two_nodes(by_line(plain, [&](const std::string& line) { return label + line; }));
  }
  check_two_nodes(by_line(plain, [](const std::string& line) { return line + "\r"; }));
  check_two_nodes("# " + std::string(1000000, 'x') + "\n" + std::string(1000000, 'y') + "\n" + plain);
}

TEST_CASE("nccl-tests under MPICH, which labels each piece of a row, and NCCL's lines keep their own numbers") {
  CHECK(
      words_of(plain_line("[0]      1048576        262144     float     sum      -1[0]    1626.5    0.64    1.24      "
                          "0[0]    2302.3    0.46    0.87      0")) ==
      std::vector<std::string>{"1048576", "262144", "float", "sum", "-1", "1626.5", "0.64", "1.24", "0", "2302.3",
                               "0.46", "0.87", "0"});
  CHECK(plain_line("[0] 10-90-43-152:1:2 [0] NCCL INFO Using network IB") ==
        "10-90-43-152:1:2 [0] NCCL INFO Using network IB");
  CHECK(plain_line("[1] #  Rank  0 Group  0 Pid  101 on  node-0 device  1 [1] GPU") ==
        "#  Rank  0 Group  0 Pid  101 on  node-0 device  1 [1] GPU");
}

TEST_CASE("nccl-tests: JSON lists the first GPU of every process") {
  // Two processes, each one thread with four GPUs, run on two nodes; then one process has all GPUs.
  const auto with = [](const std::string& devices, int threads, int gpus) {
    return R"({"version": 3, "args": [".\/build\/all_reduce_perf"], "config": {"nthreads": )" +
           std::to_string(threads) + R"(, "ngpus": )" + std::to_string(gpus) +
           R"(, "aggregated_iterations": 1, "blocking_collectives": "false", "devices": [)" + devices +
           R"(]}, "results": [
               {"size": 0, "out_of_place": {"time": 5.0, "alg_bw": "nan", "bus_bw": "nan", "nwrong": 0}},
               {"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": "    -1",
                "out_of_place": {"time": 30.49, "alg_bw": 34.391, "bus_bw": 60.184, "nwrong": null},
                "in_place": {"time": "nan", "alg_bw": "nan", "bus_bw": "nan", "nwrong": null}}]})";
  };
  const std::string first = R"({"rank": 0, "group": 0, "hostname": "a", "device": 0, "device_info": "NVIDIA H100"})";
  const std::string second = R"({"rank": 4, "group": 0, "hostname": "b", "device": 0, "device_info": "NVIDIA H100"})";
  const Imported two = import_nccl_tests(with(first + ", " + second, 1, 4), "a.json");
  REQUIRE(two.samples.size() == 1);
  CHECK(two.samples[0].key["ranks"] == 8);
  CHECK(two.samples[0].key["nodes"] == 2);
  CHECK(two.device.count == 8);
  REQUIRE(two.refused.size() == 1);
  CHECK(two.refused[0] == "a.json: /results/1/in_place: no time");
  CHECK(import_nccl_tests(with(first, 2, 4), "a.json").samples[0].key["ranks"] == 8);
  CHECK(import_nccl_tests(with(first, 2, 4), "a.json").samples[0].key["nodes"] == 1);
}

TEST_CASE("nccl-tests: what NCCL and a failing run print between rows does not matter") {
  const std::string noise =
      "gpu-node-0:101:101 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
      "gpu-node-1: Test NCCL failure common.cu:958 'unhandled system error'\n"
      " .. gpu-node-1 pid 1009: Test failure common.cu:1055\n"
      "srun: error: gpu-node-1: task 9: Exited with exit code 3\n";
  check_two_nodes(run_on(2, 8, noise + row() + noise));
  // Aborted inside a row; nothing after it.
  std::string cut = run_on(2, 8, row() + "     67108864      16777216     float     sum      -1    691.");
  cut.erase(cut.find("# Out of bounds"));
  const Imported log = import_nccl_tests(cut, "a.log");
  CHECK(log.samples.size() == 2);
  REQUIRE(log.refused.size() == 1);
  CHECK(log.refused[0].find(": 6 columns, expected 13") != std::string::npos);
  // This run aborted before the first row. By itself that is an error; in a file with other runs it is ignored.
  std::string empty = run_on(4, 8, "");
  CHECK(refusal(empty) == "a.log: no usable row of nccl-tests");
  check_two_nodes(empty + run_on(2, 8, row()));
}

TEST_CASE("nccl-tests: runs one after the other in a file keep their own ranks, nodes and operation") {
  const Imported log = import_nccl_tests(
      run_on(1, 8, row()) + run_on(2, 8, row()) + run_on(4, 4, row(), "/opt/nccl-tests/all_gather_perf"), "a.log");
  REQUIRE(log.samples.size() == 6);
  CHECK(log.samples[0].key["ranks"] == 8);
  CHECK(log.samples[0].key["nodes"] == 1);
  CHECK(log.samples[2].key["ranks"] == 16);
  CHECK(log.samples[2].key["nodes"] == 2);
  CHECK(log.samples[4].key["operation"] == "all-gather");
  CHECK(log.samples[4].key["nodes"] == 4);
  CHECK(log.device.count == 16);
  std::string other = run_on(1, 8, row());
  for (std::size_t at = other.find("H100"); at != std::string::npos; at = other.find("H100"))
    other.replace(at, 4, "H200");
  CHECK(refusal(run_on(1, 8, row()) + other) ==
        "a.log: runs on NVIDIA H100 80GB HBM3 and on NVIDIA H200 80GB HBM3; allowed: those of one kind of GPU");
}

TEST_CASE("nccl-tests: cycles of one size are a series, other types and reductions are not") {
  const std::string later = "float     sum      -1    32.00   32.77   BUSBW";
  const Imported cycles = import_nccl_tests(run_on(1, 8, row() + row(later) + row()), "a.log");
  REQUIRE(cycles.samples.size() == 2);
  CHECK(cycles.samples[0].seconds.size() == 3);
  CHECK(cycles.samples[0].median_s() == Approx(30.49e-6));
  const Imported types =
      import_nccl_tests(run_on(1, 8, row() + row("half      sum      -1    35.00   29.96   BUSBW")), "a.log");
  CHECK(types.samples.size() == 2);
  REQUIRE(types.refused.size() == 2);
  CHECK(types.refused[0].find(": half sum among rows of float sum; allowed: one type and reduction") !=
        std::string::npos);
}

TEST_CASE("nccl-tests: a log of something else than it is said to be") {
  CHECK(refusal(run_on(1, 8, row(), "hypercube_perf"))
            .find("a.log: hypercube_perf times no collective that a profile has") == 0);
  CHECK(refusal(run_on(1, 8, row(), "alltoallv_perf"))
            .find("a.log: alltoallv_perf times no collective that a profile has") == 0);
  NcclTestsOptions options;
  options.operation = "all-reduce";
  CHECK(refusal(run_on(1, 8, row(), "all_gather_perf"), options) ==
        "a.log: the log is of all_gather_perf, not of all-reduce");
  std::string uneven = run_on(2, 6, row());
  uneven.replace(uneven.find("gpu-node-1 device  0"), 20, "gpu-node-0 device  6");
  CHECK(refusal(uneven) == "a.log: 5 ranks on gpu-node-1 and 7 on gpu-node-0; allowed: as many on each node");
  // Two programs that knew nothing of each other, their lines mixed by srun.
  const std::string alone = run_on(1, 8, row());
  std::string mixed;
  by_line(alone, [&](const std::string& line) {
    mixed += "0: " + line + "\n1: " + line + "\n";
    return "";
  });
  CHECK(refusal(mixed).find("a.log: ranks are listed twice: the output of several programs is mixed") == 0);
}

TEST_CASE("nvidia-smi topo -m: NICs under their drivers' names, one GPU, Windows line ends") {
  const std::string aws =
      "\tGPU0\tGPU1\trdmap16s27\tbnxt_re0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\r\n"
      "GPU0\t X \tNV18\tPIX\tSYS\t0-47\t0\t\tN/A\r\n"
      "GPU1\tNV18\t X \tNODE\tSYS\t0-47\t0\t\tN/A\r\n"
      "rdmap16s27\tPIX\tNODE\t X \tSYS\t\t\t\t\r\n"
      "bnxt_re0\tSYS\tSYS\tSYS\t X \t\t\t\t\r\n"
      "\r\nLegend:\r\n\r\n  X    = Self\r\n";
  const Json topology = import_topology(aws, "topo.txt").device.facts["topology"];
  CHECK(topology["nics"].dump() == "[\"rdmap16s27\",\"bnxt_re0\"]");
  CHECK(topology["links"]["GPU1-rdmap16s27"] == "NODE");
  CHECK(topology["links"]["rdmap16s27-bnxt_re0"] == "SYS");
  CHECK(topology["links"].size() == 6);
  // Under srun -l.
  const std::string labelled = by_line(aws, [](const std::string& line) { return "0: " + line; });
  CHECK(import_topology(labelled, "t").device.facts["topology"] == topology);
  const std::string one =
      "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPHB\t0-7\t0\t\tN/A\n"
      "NIC0\tPHB\t X \t\t\t\t\n";
  CHECK(import_topology(one, "t").device.facts["topology"]["links"].dump() == "{\"GPU0-NIC0\":\"PHB\"}");
}

TEST_CASE("nvbandwidth: early versions name the device alone, and JSON may have numbers") {
  const std::string text =
      "nvbandwidth Version: v0.2\nDevice 0: NVIDIA A100-SXM4-80GB\r\n\r\nRunning host_to_device_memcpy_ce.\r\n"
      "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\r\n          0\r\n0     24.64\r\n\r\nSUM host 24.64\r\n";
  const Imported plain = import_nvbandwidth(text, "b.txt");
  CHECK(plain.device.name == "NVIDIA A100-SXM4-80GB");
  CHECK(plain.samples.size() == 1);
  const Imported json = import_nvbandwidth(
      R"json({"nvbandwidth": {"GPU Device list": ["0: NVIDIA H200 (0000:1b:00): (host-1)"], "testcases": [
          {"name": "device_to_host_memcpy_ce", "status": "Passed",
           "bandwidth_description": "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)",
           "bandwidth_matrix": [[50.5, "N/A"]]},
          {"name": "multinode_device_to_device_memcpy_read_ce", "status": "Waived"}]}})json",
      "b.json");
  CHECK(json.device.name == "NVIDIA H200");
  REQUIRE(json.samples.size() == 1);
  CHECK(json.samples[0].seconds[0] == Approx(512.0 * 1024 * 1024 / 50.5e9));
}

TEST_CASE("a PyTorch trace: early categories, and a module's ranges after hundreds of thousands of others") {
  Json events = Json::array();
  const auto add = [&](const char* category, const std::string& name, double ts, double dur, Json args) {
    events.push_back({{"ph", "X"},
                      {"cat", category},
                      {"name", name},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", ts},
                      {"dur", dur},
                      {"args", args}});
  };
  // One range around all; in it a long row of modules that have ended when the kernel of the last is launched.
  add("python_function", "nn.Module: Net_0", 0, 1e6, Json::object());
  for (int i = 0; i < 20000; ++i)
    add("python_function", "nn.Module: Conv_" + std::to_string(i), 10 + i, 0.5, Json::object());
  for (int i = 0; i < 20000; ++i) {
    add("Runtime", "cudaLaunchKernel", 10.2 + i, 0.1, {{"correlation", i}});
    add("Kernel", "k", 11 + i, 2, {{"correlation", i}});
  }
  add("Runtime", "cudaLaunchKernel", 50000, 1, {{"correlation", 99999}});
  add("Kernel", "k", 50010, 7, {{"correlation", 99999}});
  const Imported imported = import_torch_trace(Json{{"traceEvents", events}}.dump(), "t.json", {"net", 8, "fp32"});
  CHECK(imported.samples.size() == 20001);
  for (const Sample& sample : imported.samples)
    CHECK(sample.seconds[0] == Approx(sample.key["layer"] == "Net_0" ? 7e-6 : 2e-6));
}

TEST_CASE("logs on disk: a byte order mark, UTF-16, gzip") {
  const TemporaryFolder folder;
  CHECK(log_text(folder.write("bom.txt", "\xef\xbb\xbf# nThread 1\n")) == "# nThread 1\n");
  CHECK_THROWS_WITH(log_text(folder.write("wide.txt", std::string("\xff\xfe#\0", 4))), Contains("wide.txt: UTF-16"));
  CHECK_THROWS_WITH(log_text(folder.path("none.txt")), Contains("none.txt: cannot be read"));
  const std::string path = folder.write("trace.json.gz", "\x1f\x8b damaged");
#ifdef LOCKSTEP_WITH_ZLIB
  CHECK_THROWS_WITH(log_text(path), Contains("trace.json.gz: damaged"));
  std::string text;
  for (int i = 0; i < 300000; ++i) text += "{\"ph\": \"X\", \"ts\": " + std::to_string(i) + "}\n";
  const gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  gzclose(file);
  CHECK(log_text(path) == text);
  const std::string whole = read_file(path);
  CHECK_THROWS_WITH(log_text(folder.write("cut.gz", whole.substr(0, whole.size() / 2))), Contains("cut.gz: damaged"));
#else
  CHECK_THROWS_WITH(log_text(path), Contains("built without zlib"));
#endif
}
