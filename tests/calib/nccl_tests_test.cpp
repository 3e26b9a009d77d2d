#include <cmath>

#include "calib/bus_bandwidth.hpp"
#include "calib/import/imported.hpp"
#include "tests/base/input_error.hpp"
#include "tests/calib/data.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

// In the documented layout (data/README.md); the figures are ours: 20 us + bytes / 100 GB/s on 4 GPUs, so that what
// comes out is known. 2 KiB: 20.02 us; 1 MiB: 30.49 us; 64 MiB: 691.09 us.
const std::string kLog = tests::data("nccl_tests_all_reduce.txt");
const std::string kHead = tests::lines_of(kLog, 0, 11), kRows = tests::lines_of(kLog, 11, 14);
NcclTestsOptions all_reduce() {
  NcclTestsOptions options;
  options.operation = "all-reduce";
  return options;
}

std::string log_error(const std::string& text, const NcclTestsOptions& options = all_reduce()) {
  return error_of([&] { import_nccl_tests(text, "a.log", options); });
}

void check_figures(const Imported& log) {
  REQUIRE(log.samples.size() == 6);
  CHECK(log.refused.empty());
  CHECK(log.samples[0].key["bytes"] == 2048.0);
  CHECK(log.samples[2].seconds[0] == Approx(30.49e-6));
  CHECK(log.samples[3].key["in_place"] == true);
  CHECK(log.samples[3].seconds[0] == Approx(31e-6));
  CHECK(log.samples[4].key["operation"] == "all-reduce");
  CHECK(log.samples[4].key["ranks"] == 4);
  CHECK(log.samples[4].key["nodes"] == 2);
  CHECK(log.samples[4].kind == "imported");
  CHECK(log.device.name == "NVIDIA A100-SXM4-80GB");
  CHECK(log.device.count == 4);
}

}  // namespace

TEST_CASE("bus bandwidth factors") {
  CHECK(bus_factor("all-reduce", 8) == Approx(1.75));
  CHECK(bus_factor("all-gather", 8) == Approx(0.875));
  CHECK(bus_factor("reduce-scatter", 4) == Approx(0.75));
  CHECK(bus_factor("broadcast", 4) == 1);
}

TEST_CASE("an nccl-tests log gives its ranks, nodes, device and times") {
  const Imported log = import_nccl_tests(kLog, "a.log", all_reduce());
  check_figures(log);
  CHECK(log.samples[0].source == "a.log line 12");
}

TEST_CASE("the planted latency and bandwidth come out of the fit") {
  const Imported log = import_nccl_tests(kHead + kRows, "a.log", all_reduce());
  const std::vector<Fit> fits = fit_curves(log.samples);
  REQUIRE(fits.size() == 2);  // out of place and in place
  CHECK(fits[0].line.pieces[0].line.latency_s == Approx(20e-6).epsilon(0.01));
  CHECK(1 / fits[0].line.pieces[0].line.seconds_per_unit == Approx(100e9).epsilon(0.01));
}

TEST_CASE("labels of mpirun and srun, and what else a launcher prints, do not matter") {
  std::string mpirun = "Loading module nccl\n", srun;
  std::istringstream lines(kLog);
  for (std::string line; std::getline(lines, line);) {
    mpirun += "[1,0]<stdout>:" + line + "\n";
    srun += "0: " + line + "\n";
  }
  check_figures(import_nccl_tests(mpirun, "a.log", all_reduce()));
  check_figures(import_nccl_tests(srun, "a.log", all_reduce()));
}

TEST_CASE("newer logs name their program, and have time stamps and statistics") {
  const Imported log = import_nccl_tests(tests::data("nccl_tests_all_gather_timestamps.txt"), "a.log");
  CHECK(log.samples.size() == 2);
  CHECK(log.samples[0].key["operation"] == "all-gather");
  CHECK(log.samples[0].key["nodes"] == 2);
  CHECK(log.refused.empty());
  const Imported wide = import_nccl_tests(tests::data("nccl_tests_all_gather_statistics.txt"), "a.log");
  REQUIRE(wide.samples.size() == 2);
  CHECK(wide.samples[1].seconds[0] == Approx(31e-6));
  CHECK(wide.refused.empty());
}

TEST_CASE("older logs have fewer columns") {
  for (const auto& [file, operation] :
       {std::pair{"nccl_tests_rows_of_12.txt", "all-reduce"}, std::pair{"nccl_tests_rows_of_11.txt", "all-gather"}}) {
    INFO(file);
    NcclTestsOptions options;
    options.operation = operation;
    const Imported log = import_nccl_tests(tests::data(file), "a.log", options);
    REQUIRE(log.samples.size() == 2);
    CHECK(log.refused.empty());
    CHECK(log.samples[1].seconds[0] == Approx(30.49e-6));
    CHECK(log.samples[1].key["ranks"] == 4);
    CHECK(log.device.name == "NVIDIA A100-SXM4-80GB");
  }
}

TEST_CASE("rows without a header are told by their number of columns") {
  NcclTestsOptions options = all_reduce();
  options.ranks = 4;
  const std::string row13 = " 1048576 262144 float sum -1 30.49 34.39 51.59 0 30.49 34.39 51.59 0\n";
  const std::string row12 = " 1048576 262144 float sum 30.49 34.39 51.59 2e-7 30.49 34.39 51.59 2e-7\n";
  const std::string row11 = " 1048576 262144 float 30.49 34.39 51.59 0e+00 30.49 34.39 51.59 0e+00\n";
  for (const std::string& row : {row13, row12, row11}) {
    const Imported log = import_nccl_tests(row, "a.log", options);
    REQUIRE(log.samples.size() == 2);
    CHECK(log.samples[0].seconds[0] == Approx(30.49e-6));
  }
}

TEST_CASE("rows that cannot be trusted are refused with their line") {
  const std::string wrong = "  4194304 1048576 float sum -1 61.94 67.71 101.57 3 61.94 67.71 101.57 0\n";
  const std::string odd = "  4194304 1048576 float sum -1 61.94 99.99 101.57 0 61.94 67.71 101.57 0\n";
  const std::string cut = "  4194304 1048576 float sum -1 61.94 67.71\n";
  const Imported log = import_nccl_tests(kHead + kRows + wrong + odd + cut, "a.log", all_reduce());
  CHECK(log.samples.size() == 7);  // the other halves of the two bad rows, of one size, are a series
  REQUIRE(log.refused.size() == 3);
  CHECK(log.refused[0] == "a.log line 17: 7 columns, expected 13");
  CHECK(log.refused[1] == "a.log line 15: 3 wrong results");
  CHECK(log.refused[2] == "a.log line 16: algbw 99.99 GB/s is not size / time = 67.7156 GB/s");
}

TEST_CASE("logs that do not time one call are refused whole") {
  std::string cpu = kHead + kRows;
  cpu.replace(cpu.find("    time   algbw"), 16, " cputime   algbw");
  CHECK(log_error(cpu) == "a.log line 10: the log is of CPU time (-C), not of the collective's time");
  std::string many = kHead + kRows;
  many.replace(many.find("agg iters: 1"), 12, "agg iters: 5");
  CHECK(log_error(many) == "a.log line 1: aggregated calls (-m) do not time one call");
}

TEST_CASE("what a log does not tell is asked for") {
  // Two ranks: an all-reduce and a reduce both have busbw = algbw. Rows before the column "root" do not tell them apart.
  const std::string of_two = " 1048576 262144 float sum 30.49 34.39 34.39 2e-7 30.49 34.39 34.39 2e-7\n";
  NcclTestsOptions two;
  two.ranks = 2;
  CHECK(log_error(of_two, two) ==
        "a.log: the log does not say which collective it timed, and busbw / algbw = 1 is all-reduce on 2 ranks, or "
        "reduce on 2 ranks; allowed: name it (--operation)");
  const std::string of_launches = " 1024 256 float sum -1 30.49 0.03 0.06 0 30.49 0.03 0.06 0\n";
  CHECK(log_error(of_launches) == "a.log: the log does not list its ranks; allowed: give their number (--ranks)");
  CHECK(log_error("hello\n").find("a.log: ") == 0);
  NcclTestsOptions options = all_reduce();
  options.operation = "all-reduces";
  CHECK(log_error(kHead + kRows, options).find("unknown operation \"all-reduces\"; allowed: all-reduce,") !=
        std::string::npos);
}

TEST_CASE("the JSON form says the same") {
  check_figures(import_nccl_tests(tests::data("nccl_tests_all_reduce.json"), "a.json"));
}
