// Runs to which a law of the loss is fitted: CSV tables and logs, with facts behind a file's name.
#include "sim/api/loss_runs.hpp"

#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

std::string nanogpt_log(double loss, int iterations) {
  std::string text = "tokens per iteration will be: 524,288\nnumber of parameters: 123.59M\n";
  for (int i = 0; i <= iterations; i += 10)
    text += "iter " + std::to_string(i) + ": loss " + std::to_string(loss) + ", time 135.31ms, mfu 43.40%\n";
  return text;
}

}  // namespace

TEST_CASE("loss runs: tables and logs join, and each log says what was taken from it") {
  const TemporaryFolder folder;
  const std::string csv = folder.write("runs.csv", "parameters,tokens,loss\n1B,20B,2.6\n2B,40B,2.4\n");
  const std::string log = folder.write("run.log", nanogpt_log(3.1, 1000));
  const LossRuns runs = read_loss_runs({csv, log, log + ":parameters=124M,tokens=10B,batch_tokens=1M"});
  REQUIRE(runs.table.points.size() == 4);
  CHECK(runs.table.points[1].tokens == 40e9);
  CHECK(runs.table.points[2].parameters == Approx(123.59e6));
  CHECK(runs.table.points[2].tokens == Approx(524288e3));
  CHECK(runs.table.points[2].loss == Approx(3.1));
  CHECK(runs.table.points[3].parameters == 124e6);
  CHECK(runs.table.points[3].tokens == 10e9);
  CHECK(runs.table.points[3].batch_tokens == 1e6);
  REQUIRE(runs.read.size() == 6);  // three remarks of each log
  std::string of_first;
  for (std::size_t i = 0; i < 3; ++i) of_first += runs.read[i] + "\n";
  INFO(of_first);
  CHECK(of_first.find("loss 3.1000 (") != std::string::npos);
  CHECK(of_first.find("no learning rate is logged") != std::string::npos);
}

TEST_CASE("loss runs: unknown facts and records of train are refused with what to do") {
  const TemporaryFolder folder;
  const std::string log = folder.write("run.log", nanogpt_log(3.1, 100));
  CHECK(error_of([&] {
          read_loss_runs({log + ":layers=12"});
        }).find("allowed: parameters=, tokens= and batch_tokens=") != std::string::npos);
  CHECK(error_of([&] { read_loss_runs({log + ":tokens=many"}); }).find("tokens \"many\": not a count") !=
        std::string::npos);
  const std::string record = folder.write("record.json", "{\"schema\": \"lockstep/run/1\"}");
  CHECK(error_of([&] { read_loss_runs({record}); }).find("allowed: simulate convergence " + record) !=
        std::string::npos);
}

}  // namespace lockstep::sim
