// What the benchmarks' table is worth: fast takes the times of messages for every collective and every schedule on every kind
// of cluster, with jitter, as far as links are not shared out round by round.
#include "tests/replay/table.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

std::vector<PointResult> both_ways(const Scenario& s, int iterations) {
  PointRequest request;
  request.gpus = s.gpus[0];
  request.batch_per_gpu = tests::kTableBatch;
  request.iterations = iterations;
  std::vector<PointJob> jobs(2, {&s, request});
  jobs[0].request.fidelity = Fidelity::message;
  jobs[1].request.fidelity = Fidelity::fast;
  return predict_points(jobs, 2);
}

void check_row(const std::string& name, const Scenario& s, int iterations) {
  INFO(name << " over " << s.gpus[0] << " GPUs on " << s.cluster.name);
  const std::vector<PointResult> points = both_ways(s, iterations);
  CHECK(points[0].fidelity == "message");
  CHECK(points[1].method.find("round by round") == std::string::npos);
  REQUIRE(points[0].iteration_s.size() == points[1].iteration_s.size());
  CHECK(points[1].mean_iteration_s() == Approx(points[0].mean_iteration_s()).epsilon(1e-3));
  CHECK(points[1].compute_s == Approx(points[0].compute_s).epsilon(1e-3));
}

}  // namespace

TEST_CASE("property: fast takes the times of messages, of all collectives and schedules on 8 and 64 GPUs") {
  for (const int gpus : {8, 64})
    for (const ClusterSpec& cluster : tests::table_clusters(gpus / 8))
      for (const auto& [name, s] : tests::table_rows(cluster, gpus)) check_row(name, s, 3);
}

TEST_CASE("property: fast takes the times of messages, of all collectives and schedules on 512 GPUs") {
  for (const ClusterSpec& cluster : tests::table_clusters(64))
    for (auto [name, s] : tests::table_rows(cluster, 512)) {
      if (tests::goes_round_all(name, s) && cluster.name != "a NIC per GPU") continue;  // some seconds each
      s.communication.fusion_threshold_bytes = 100'000'000;
      check_row(name, s, 1);
    }
}
