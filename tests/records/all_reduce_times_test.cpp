#include "sim/job_prediction/all_reduce_times.hpp"

#include "sim/validation/predict.hpp"
#include "tests/catalogue/catalogue.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

using namespace sim;

AllReduceQuestion h100s() {
  AllReduceQuestion question;
  question.gpu = "H100";
  question.network = "8x 400 Gb/s InfiniBand";
  question.gpus = {8, 64};
  question.sizes = {"1MB", "100 MB", "1GB"};
  return question;
}

TEST_CASE("all-reduce: a size in KB is one in kB") {
  AllReduceQuestion question = h100s();
  question.sizes = {"1kB", "1KB"};
  const AllReduceTimes times = all_reduce_times(question, catalogue(), 1);
  CHECK(times.rows.at(0).seconds == times.rows.at(1).seconds);
}

TEST_CASE("all-reduce: more bytes and more nodes take longer, and no link is faster than it is") {
  const AllReduceTimes times = all_reduce_times(h100s(), catalogue(), 1);
  REQUIRE(times.rows.size() == 6);
  for (std::size_t i = 1; i < 6; ++i)
    if (i != 3) CHECK(times.rows[i].seconds > times.rows[i - 1].seconds);
  for (std::size_t i = 0; i < 3; ++i) CHECK(times.rows[i].seconds < times.rows[i + 3].seconds);
  for (const AllReduceTime& row : times.rows) {
    CHECK(row.low_s < row.seconds);
    CHECK(row.high_s > row.seconds);
    CHECK(row.bus_bandwidth() == Approx(2.0 * (row.gpus - 1) / row.gpus * double(row.bytes) / row.seconds));
  }
  // Eight ports of 50 GB/s carry a node's share once each way; in a node switches add, so that the links carry it once.
  CHECK(times.rows[5].bus_bandwidth() < 400e9);
  CHECK(times.rows[2].algorithm_bandwidth() < 450e9);
  CHECK_THAT(times.read, Contains("H100 SXM5 (h100-sxm), 8 per node") && Contains("8x 400 Gb/s InfiniBand NDR"));
}

TEST_CASE("all-reduce: a cloud's machine has all of its ports, and NCCL's one socket is slower than a fast line") {
  const auto bus_of = [](const std::string& network, int gpus_per_node) {
    AllReduceQuestion question;
    question.gpu = "H100";
    question.network = network;
    question.gpus_per_node = gpus_per_node;
    question.gpus = {2 * gpus_per_node};
    question.sizes = {"1GB"};
    return all_reduce_times(question, catalogue(), 1).rows.at(0).bus_bandwidth();
  };
  // Eight ports of 400 Gbit/s by EFA are as many by InfiniBand; as one port a channel of NCCL's would carry all, 48 GB/s.
  CHECK(bus_of("aws-p5", 8) == Approx(bus_of("8x 400 Gb/s InfiniBand", 8)).epsilon(0.1));
  // What 25 Gbit/s carry a socket carries, too; of 100 and 400 Gbit/s no more than the 4 GB/s of one thread.
  CHECK(bus_of("25 GbE", 1) < 25e9 / 8);
  CHECK(bus_of("100 GbE", 1) > 3.8e9);
  CHECK(bus_of("100 GbE", 1) < 4.1e9);
  CHECK(bus_of("400 GbE", 1) == Approx(bus_of("100 GbE", 1)).epsilon(0.01));
}

TEST_CASE("all-reduce: a question in words is answered as a published record of the same facts") {
  AllReduceQuestion question = h100s();
  question.gpus = {64};
  question.sizes = {"512 MiB"};
  const AllReduceTimes times = all_reduce_times(question, catalogue(), 1);
  const JsonDocument document = JsonDocument::parse(
      R"([{"id": "a", "role": "target", "source": "s", "metric": "allreduce_seconds", "unit": "s", "value": 1,
           "software": "collective", "gpu": "h100-sxm", "gpus": 64, "gpus_per_node": 8,
           "network": {"id": "ib-ndr", "count": 8}, "bytes": 536870912, "precision": "fp32"}])",
      "records.json");
  const std::vector<Record> records = read_records(document);
  const std::vector<Prediction> predicted = predict_records(targets_of(records), records, catalogue(), 1);
  REQUIRE(predicted.size() == 1);
  CHECK(times.rows.at(0).seconds == Approx(predicted[0].predicted).epsilon(1e-12));
  CHECK(times.rows.at(0).low_s == Approx(predicted[0].low).epsilon(1e-12));
}

TEST_CASE("all-reduce: a cluster file is asked of all its GPUs, by a ring where NCCL has no tables") {
  AllReduceQuestion question;
  question.cluster = LOCKSTEP_SOURCE_DIR "/scenarios/clusters/dgx_h100.json";
  question.sizes = {"1MB"};
  const AllReduceTimes all = all_reduce_times(question, catalogue(), 1);
  CHECK(all.rows.at(0).gpus == 2048);
  CHECK_FALSE(all.has_bounds);
  CHECK(all.rows[0].low_s == all.rows[0].seconds);
  CHECK_FALSE(all.assumptions.empty());
  question.cluster = LOCKSTEP_SOURCE_DIR "/scenarios/clusters/crossbow_8gpu.json";
  const AllReduceTimes old = all_reduce_times(question, catalogue(), 1);
  CHECK_THAT(old.read, Contains("by a ring"));
  // Every GPU sends and receives 2 (n - 1) / n of the sum over one PCIe 3 port, of at most 16 GB/s.
  CHECK(old.rows.at(0).seconds > 2.0 * 7 / 8 * 1e6 / 16e9);
}

TEST_CASE("all-reduce: what is not understood is refused with what would be") {
  const auto refused = [](const AllReduceQuestion& question, const char* text) {
    CHECK_THROWS_WITH(all_reduce_times(question, catalogue(), 1), Contains(text));
  };
  AllReduceQuestion q = h100s();
  q.sizes = {"1XB"};
  refused(q, "unit \"XB\" is unknown; allowed: B, kB");
  q.sizes = {"0.5B"};
  refused(q, "out of range; allowed: whole bytes");
  q.sizes = {};
  refused(q, "--bytes is missing");
  q = h100s();
  q.algorithm = "foo";
  refused(q, "no all-reduce of that name; allowed: ring");
  q = h100s();
  q.gpus = {12};
  refused(q, "do not fill whole nodes; allowed: up to 8");
  q = h100s();
  q.gpu = "H1000";
  refused(q, "the nearest h100-sxm");
  q = h100s();
  q.cluster = "c.json";
  refused(q, "allowed: without --gpu");
  q = {};
  q.sizes = {"1MB"};
  refused(q, "--gpu or --gpus is missing");
  q.cluster = LOCKSTEP_SOURCE_DIR "/scenarios/clusters/dgx_h100.json";
  q.gpus = {4096};
  refused(q, "at most 2048");
}

}  // namespace
}  // namespace lockstep::tests
