// Activations in host memory: passes wait for copies that take longer than they do.
#include "sim/replica/activation_offload.hpp"

#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

struct Timed {
  sim::SplitJob job;
  sim::RankSeconds seconds;
  double host_link_bytes_per_s = 0;

  double forward_s() const {
    double sum = 0;
    for (const sim::BlockSeconds& block : seconds.blocks) sum += block.forward_s;
    return sum;
  }
  double backward_s() const {
    double sum = 0;
    for (const sim::BlockSeconds& block : seconds.blocks) sum += block.backward_s;
    return sum;
  }
};

Timed timed(int layers, double host_link_bytes_per_s = 0) {
  Json parallel{{"micro_batches", 1}};
  if (layers > 0) parallel["offload_layers"] = layers;
  sim::Scenario scenario = split_of(parallel, 4);
  scenario.cluster.gpu.host_link_bytes_per_s = host_link_bytes_per_s;
  const sim::SplitJob job = sim::split_job(scenario, 4);
  return {job, sim::rank_seconds(scenario, job), scenario.cluster.host_link_bytes_per_s()};
}

}  // namespace

TEST_CASE("copies of offloaded activations are hidden behind the passes over a fast link to the host") {
  const Timed without = timed(0), with = timed(7, 1e15);
  CHECK(with.forward_s() == without.forward_s());
  CHECK(with.backward_s() == without.backward_s());
}

TEST_CASE("over a slow link, each pass takes as long as the copies of its offloaded layers") {
  const double link = 1e6;
  for (int layers : {1, 4, 7}) {
    const Timed with = timed(layers, link);
    const double bytes = layers * kept_bytes(with.job.shape, with.job.spec, 0, with.job.memory.activations);
    CHECK(with.forward_s() == Approx(bytes / link));
    CHECK(with.backward_s() == Approx(bytes / link));
  }
}

TEST_CASE("without a link of its own, a GPU copies to the host over its PCIe path") {
  CHECK(timed(1).host_link_bytes_per_s == 100e9);
  CHECK(timed(1, 225e9).host_link_bytes_per_s == 225e9);
}
