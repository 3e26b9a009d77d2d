// `calibrate check --against`: a log of a good machine or job is the expectation.
#include <cmath>

#include "sim/explain/check_command.hpp"
#include "sim/explain/good_log.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/calib/training_logs.hpp"
#include "tests/catch.hpp"
#include "tests/check/catalogue.hpp"
#include "tests/check/nccl_log.hpp"
#include "tests/cli/process.hpp"

namespace lockstep::tests {
namespace {

// 2 nodes of 8 H100, 40 us and 1/250 s a GB for an operation; times `factor`.
NcclLog log_of_two_nodes(double factor, double latency_s = 40e-6, double bytes_per_s = 250e9) {
  NcclLog log{"all_reduce", 16, 2, "NVIDIA H100 80GB HBM3", {}};
  for (double bytes = 1024; bytes < 1e10; bytes *= 4) {
    const double seconds = factor * (latency_s + bytes / bytes_per_s);
    log.rows.emplace_back(bytes, 1.875 * bytes / seconds / 1e9);
  }
  return log;
}

sim::CheckResult check_against(const std::string& bad, const std::string& good, sim::CheckOptions options = {}) {
  options.files = {bad};
  options.good_file = good;
  options.question.job.network.stated = "8x 400 Gb/s InfiniBand";
  const auto is_given = [](const std::string& name) { return name == "--model" || name == "--gpu"; };
  return sim::check(sim::read_measurements(options, catalogue(), is_given), catalogue(), 1,
                    sim::read_good_log(options, catalogue(), is_given));
}

std::string training_of(double seconds) {
  return log_of(log_examples().front(), std::vector<double>(30, seconds));
}

}  // namespace

TEST_CASE("a log against itself is normal with share 1, and a log k times as slow is slow with share 1 / k") {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.log", nccl_log(log_of_two_nodes(1)));
  const sim::CheckResult same = check_against(good, good);
  CHECK(same.speed == sim::Speed::normal);
  CHECK(same.share == 1);
  CHECK(same.causes.front().id == sim::CauseId::normal);
  REQUIRE(same.good_log);
  CHECK(same.good_log->share_of_predicted > 0.5);
  for (double factor : {1.2, 2.0, 7.0}) {
    const sim::CheckResult slow = check_against(folder.write("bad.log", nccl_log(log_of_two_nodes(factor))), good);
    CHECK(slow.speed == sim::Speed::slow);
    CHECK(slow.share == Approx(1 / factor).epsilon(1e-3));
  }
  CHECK(check_against(folder.write("bad.log", nccl_log(log_of_two_nodes(0.5))), good).speed == sim::Speed::fast);
}

TEST_CASE("a loss within the interval of the prediction is slow against a good log of the same machine") {
  const TemporaryFolder folder;
  const std::string bad = folder.write("bad.log", nccl_log(log_of_two_nodes(1.12)));
  CHECK(check_against(bad, "").speed == sim::Speed::normal);
  CHECK(check_against(bad, folder.write("good.log", nccl_log(log_of_two_nodes(1)))).speed == sim::Speed::slow);
}

TEST_CASE("the good log's scatter widens its interval, and the least scatter bounds it from below") {
  CHECK(sim::expected_from_good(1, 0, 1e9).deviation() == Approx(sim::least_scatter(1e9)));
  CHECK(sim::expected_from_good(1, 0, 1024).deviation() == Approx(sim::least_scatter(1024)));
  CHECK(sim::expected_from_good(1, 0.2, 1e9).deviation() == Approx(0.2));
  CHECK(sim::least_scatter(0) == sim::least_scatter(1e9));  // a step
  const sim::Expected good = sim::expected_from_good(3, 0.1, 0), predicted{2, 1.5, 2.6};
  const sim::Expected same = sim::expect_with_fault(good, predicted, predicted);
  CHECK(same.seconds == 3);
  CHECK(same.low_s == Approx(good.low_s));
  const sim::Expected doubled = sim::expect_with_fault(good, predicted, {4, 3, 5.2});
  CHECK(doubled.seconds == Approx(6));
  CHECK(doubled.deviation() > good.deviation());
}

TEST_CASE("launches that wait are told from a slow network by the good log's small and large messages") {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.log", nccl_log(log_of_two_nodes(1)));
  const sim::CheckResult late = check_against(folder.write("late.log", nccl_log(log_of_two_nodes(1, 140e-6))), good);
  CHECK(late.speed == sim::Speed::slow);
  CHECK(late.is_of_small);
  CHECK(late.causes.front().id == sim::CauseId::slow_launch);
  const sim::CheckResult slow =
      check_against(folder.write("slow.log", nccl_log(log_of_two_nodes(1, 40e-6, 30e9))), good);
  CHECK(slow.causes.front().id != sim::CauseId::slow_launch);
}

TEST_CASE("other operations, machines and sizes than the good log's are refused with both names") {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.log", nccl_log(log_of_two_nodes(1)));
  const auto error = [&](const NcclLog& log) {
    const std::string bad = folder.write("bad.log", nccl_log(log));
    return error_of([&] { (void)check_against(bad, good); });
  };
  NcclLog scatter = log_of_two_nodes(1), one_node = log_of_two_nodes(1), old = log_of_two_nodes(1);
  scatter.operation = "reduce_scatter";
  CHECK_THAT(error(scatter), Contains("bad.log: is of reduce-scatter on 16 h100-sxm, 8 a node, and ") &&
                                 Contains("good.log of all-reduce on 16 h100-sxm, 8 a node"));
  one_node.ranks = 8;
  one_node.nodes = 1;
  CHECK_THAT(error(one_node), Contains("all-reduce on 8 h100-sxm") && Contains("all-reduce on 16 h100-sxm"));
  old.device = "NVIDIA A100-SXM4-80GB";
  CHECK_THAT(error(old), Contains("all-reduce on 16 a100") && Contains("all-reduce on 16 h100-sxm"));
  CHECK_THAT(error({"all_reduce", 16, 2, "NVIDIA H100 80GB HBM3", {{3 << 20, 100}}}), Contains("has no size of"));
  sim::CheckOptions options;
  options.question.job.gpu.stated = "H100";
  options.question.job.model.stated = "llama3-8b";
  const std::string training = folder.write("train.log", training_of(2));
  CHECK_THAT(error_of([&] { (void)check_against(training, good, options); }),
             Contains("train.log: is of a training, and ") && Contains("good.log of all-reduce on 16"));
}

TEST_CASE("sizes that one log alone has are left out, and that is said") {
  const TemporaryFolder folder;
  NcclLog fewer = log_of_two_nodes(1);
  fewer.rows.erase(fewer.rows.begin());
  const sim::CheckResult result =
      check_against(folder.write("bad.log", nccl_log(log_of_two_nodes(1))), folder.write("good.log", nccl_log(fewer)));
  CHECK(result.observations.size() == fewer.rows.size());
  REQUIRE(result.good_log->left_out.size() == 1);
  CHECK_THAT(result.good_log->left_out.front(), Contains("Left out: 1 size of all-reduce"));
}

TEST_CASE("a training against a good one compares their steady steps, and refuses another job") {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.log", training_of(2)), bad = folder.write("bad.log", training_of(3));
  sim::CheckOptions options;
  options.question.job.gpu.stated = "H100";
  options.question.job.model.stated = "llama3-8b";
  const sim::CheckResult slow = check_against(bad, good, options);
  CHECK(slow.speed == sim::Speed::slow);
  CHECK(slow.share == Approx(2.0 / 3));
  CHECK(slow.observations.front().expected.seconds == Approx(2));
  CHECK(check_against(good, good, options).speed == sim::Speed::normal);
  std::string other = training_of(2);
  const std::string tensor = argument_of("tensor_model_parallel_size", "2");
  other.replace(other.find(tensor), tensor.size(), argument_of("tensor_model_parallel_size", "4"));
  const std::string of_other = folder.write("other.log", other);
  CHECK_THAT(error_of([&] { (void)check_against(of_other, good, options); }),
             Contains("other.log: has tp 4, and ") && Contains("good.log 2"));
}

TEST_CASE("calibrate check --against says so in the table, in JSON and by its exit code") {
  const TemporaryFolder folder;
  folder.write("good.log", nccl_log(log_of_two_nodes(1)));
  folder.write("bad.log", nccl_log(log_of_two_nodes(2)));
  const auto run = [&](const std::string& arguments) {
    return run_program(folder.path(""), "calibrate",
                       "check " + arguments + " --network \"8x 400 Gb/s InfiniBand\" --against good.log");
  };
  CHECK(run("good.log").code == 0);
  const Outcome slow = run("bad.log --json check.json");
  CHECK(slow.code == 1);
  CHECK_THAT(slow.out, Contains("Verdict: slow: 50 % of the speed in good.log"));
  const Json json = Json::parse(slurp(folder.path("check.json")));
  CHECK(json["good_log"]["file"] == "good.log");
  CHECK(json["share"].get<double>() == Approx(0.5).epsilon(1e-3));
  CHECK(json["provenance"]["inputs"].size() == 2);
  CHECK(json["observations"][0]["predicted_s"].get<double>() > 0);
  CHECK(run("bad.log --at-least 0.4").code == 0);
}

}  // namespace lockstep::tests
