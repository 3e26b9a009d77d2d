// Ma, Mao & Taylor 2016 (arXiv:1605.08325), Table 3: the cost per iteration of exchanging parameters. The compute rates
// are the paper's. Properties of links and hosts are assumptions of the cluster files and the schedule's defaults.
#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/statistics.hpp"
#include "sim/report/result.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

struct Published {
  const char* scenario;
  int iterations;                        // of 5,120 images on 8 GPUs
  double train_1_s, train_8_s;           // of 5,120 images on one GPU, on 8 without communication
  std::map<std::string, double> comm_s;  // of 5,120 images
  std::map<std::string, double> speedup;
};

const std::vector<Published> kTable3{{"alexnet_128",
                                      5,
                                      31.2,
                                      3.90,
                                      {{"AR", 2.01}, {"ASA", 0.75}, {"ASA16", 0.47}},
                                      {{"AR", 5.3}, {"ASA", 6.7}, {"ASA16", 7.1}}},
                                     {"alexnet_32",
                                      20,
                                      36.4,
                                      4.56,
                                      {{"AR", 8.03}, {"ASA", 2.94}, {"ASA16", 1.83}},
                                      {{"AR", 2.9}, {"ASA", 4.9}, {"ASA16", 5.7}}},
                                     {"googlenet_32",
                                      20,
                                      134.9,
                                      16.82,
                                      {{"AR", 2.07}, {"ASA", 1.96}, {"ASA16", 1.76}},
                                      {{"AR", 7.1}, {"ASA", 7.2}, {"ASA16", 7.3}}},
                                     {"vgg16_32",
                                      20,
                                      405.2,
                                      51.79,
                                      {{"AR", 41.41}, {"ASA", 8.60}, {"ASA16", 4.84}},
                                      {{"AR", 4.3}, {"ASA", 6.7}, {"ASA16", 7.2}}}};

sim::Report report_of(const std::string& name) {
  return sim::predict(
      sim::load_scenario(LOCKSTEP_SOURCE_DIR "/scenarios/published/theano-mpi/" + name + ".json", {}, {}), 2, {});
}

}  // namespace

TEST_CASE("published: Theano-MPI's Table 3 within 20 % in the median") {
  std::vector<double> comm_errors, speedup_errors;
  for (const Published& row : kTable3) {
    const sim::Report report = report_of(row.scenario);
    std::map<std::string, double> exposed_s;
    for (const sim::ReportPoint& point : report.points) {
      const double comm_s = point.point.exposed_communication_s * row.iterations;
      exposed_s[point.variant] = comm_s;
      comm_errors.push_back(std::fabs(comm_s / row.comm_s.at(point.variant) - 1));
      const double speedup = row.train_1_s / (row.train_8_s + comm_s);
      speedup_errors.push_back(std::fabs(speedup / row.speedup.at(point.variant) - 1));
      // The paper's K20m nodes. On the K80 node, the predicted exchange is up to 60 % too fast.
      INFO(row.scenario << ", " << point.variant << ": " << comm_s << " s");
      CHECK(comm_errors.back() < 0.60);
    }
    REQUIRE(exposed_s.size() == 3);
    CHECK(exposed_s["AR"] > exposed_s["ASA"]);
    CHECK(exposed_s["ASA"] > exposed_s["ASA16"]);
  }
  REQUIRE(comm_errors.size() == 12);
  CHECK(quantile(comm_errors, 0.5) < 0.20);
  CHECK(quantile(speedup_errors, 0.5) < 0.05);
}

TEST_CASE("published: the sum of ASA on the GPU takes about 1.6 % of the communication") {
  // 60,965,224 parameters on 8 K20m take 9/8 x 244 MB at 0.8 x 208 GB/s.
  const sim::Report report = report_of("alexnet_128");
  const double sum_s = 9.0 / 8 * 4 * 60965224 / (0.8 * 208e9);
  for (const sim::ReportPoint& point : report.points)
    if (point.variant == "ASA") CHECK(sum_s / point.point.exposed_communication_s == Approx(0.016).margin(0.006));
}

TEST_CASE("published: Theano-MPI's parallel loading hides what blocking loading adds") {
  // 128 x 196,608 B at 150 MB/s + 128 / 1500 s of pre-processing take 253.1 ms; 128 x 618,348 B at 6 GB/s take 13.2 ms.
  const sim::Report report = report_of("loading");
  std::map<std::string, double> iteration_s;
  for (const sim::ReportPoint& point : report.points) {
    iteration_s[point.variant] = point.point.mean_iteration_s();
    if (point.variant == "parallel") CHECK(point.point.input_wait_s == Approx(0).margin(1e-9));
    if (point.variant == "blocking") CHECK(point.point.input_wait_s == Approx(0.2531 + 0.0132).epsilon(1e-3));
  }
  CHECK(iteration_s["blocking"] - iteration_s["parallel"] == Approx(0.2531 + 0.0132).epsilon(1e-3));
}

TEST_CASE("published: ways to exchange on DGX H100") {
  const sim::Report report = sim::predict(
      sim::load_scenario(LOCKSTEP_SOURCE_DIR "/scenarios/resnet50_h100_exchanges.json", {}, {8, 64}), 2, {});
  std::map<std::string, sim::ReportPoint> at_64;
  for (const sim::ReportPoint& point : report.points)
    if (point.point.gpus == 64) at_64[point.variant] = point;
  REQUIRE(at_64.size() == 4);
  // Shards cost 3/2 of an all-reduce's bytes by ring; four micro-steps train on four batches; local SGD is the fastest.
  const double parameters_bytes = 2 * 25'557'032.0;
  CHECK(at_64["sharded, units of 5 MB"].point.bytes_sent_per_gpu ==
        Approx(3 * 63.0 / 64 * parameters_bytes).epsilon(1e-4));
  CHECK(at_64["4 micro-steps"].global_batch == 4 * at_64["DDP"].global_batch);
  CHECK(at_64["4 micro-steps"].point.samples_per_s() > at_64["DDP"].point.samples_per_s());
  CHECK(at_64["local SGD, every 8 steps"].point.exposed_communication_s <
        at_64["sharded, units of 5 MB"].point.exposed_communication_s);
}

TEST_CASE("published: the example of DDP's buckets and NCCL's choice tells what NCCL chose") {
  const sim::Report report =
      sim::predict(sim::load_scenario(LOCKSTEP_SOURCE_DIR "/scenarios/resnet50_h100_ddp.json", {}, {8, 64}), 2, {});
  REQUIRE(report.points.size() == 2);
  for (const sim::ReportPoint& point : report.points) {
    const std::vector<sim::CollectiveCall>& calls = point.point.details.calls;
    double per_iteration = 0;
    for (const sim::CollectiveCall& call : calls) per_iteration += call.per_iteration;
    CHECK(per_iteration == 3);  // 4 MB of classifier, then twice 25 MiB of half precision
    CHECK(calls.at(0).choice.find("nccl all-reduce, ") == 0);
    CHECK(point.scaling_efficiency > 0.95);
  }
}
