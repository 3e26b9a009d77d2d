// Lines and programs of a file that calibrate check does not judge, and options that no measurement depends on.
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/check/nccl_log.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

const std::vector<std::pair<double, double>> kRows{{16 << 20, 300}, {256 << 20, 360}};

std::string log_of(const std::string& operation) {
  NcclLog log;
  log.operation = operation;
  log.rows = kRows;
  return nccl_log(log);
}

Outcome check(const std::string& text, const std::string& options = "") {
  const TemporaryFolder folder;
  folder.write("a.log", text);
  return run_program(folder.path(""), "calibrate", "check a.log " + options);
}

}  // namespace

TEST_CASE("check says which rows of nccl-tests have no time") {
  const Outcome whole = check(log_of("all_reduce"));
  CHECK_THAT(whole.err, !Contains("left out"));
  const Outcome broken =
      check(log_of("all_reduce") +
            "    1048576        262144     float     sum      -1      nan     nan     nan      0      "
            "nan     nan     nan      0\n");
  CHECK_THAT(broken.err, Contains("left out: a.log line") && Contains("no time"));
  CHECK(broken.out == whole.out);
}

TEST_CASE("check judges every operation of a log of several programs, and names another tool's output") {
  const Outcome both =
      check(log_of("all_reduce") + "# Collective test starting: all_gather_perf\n" + log_of("all_gather"));
  CHECK_THAT(both.out, Contains("all-reduce") && Contains("all-gather"));
  CHECK_THAT(both.err, !Contains("left out"));
  const Outcome mixed = check(log_of("all_reduce") +
                              "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1 \n"
                              "     0 2500.00 370.00 \n     1 371.00 2500.00 \n");
  if (mixed.code != 2) CHECK_THAT(mixed.err, Contains("left out") && Contains("a file of its own"));
}

TEST_CASE("check refuses options of a training for logs of collectives") {
  for (const char* options : {"--model nonsense", "--tensor 2", "--global-batch 64", "--gpus 8"}) {
    const Outcome refused = check(log_of("all_reduce"), options);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Contains(std::string(options).substr(0, 6)) && Contains("--step-time"));
  }
  CHECK(check(log_of("all_reduce"), "--link \"NVLink 4\"").code != 2);
}

}  // namespace lockstep::tests
