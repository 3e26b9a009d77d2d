#include "sim/schedule/s_sgd.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "sim/collective/collectives.hpp"
#include "tests/catch.hpp"
#include "tests/schedule/two_layers.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

std::int64_t total_bytes(const std::vector<Bucket>& buckets) {
  std::int64_t sum = 0;
  for (const Bucket& bucket : buckets) sum += bucket.bytes;
  return sum;
}

}  // namespace

TEST_CASE("fusion loses no gradient at any threshold") {
  for (const std::string& name : model::zoo_names()) {
    const model::Graph graph = model::zoo_graph(name);
    for (std::int64_t threshold :
         {std::int64_t{0}, std::int64_t{1} << 16, std::int64_t{4'000'000}, std::int64_t{1} << 40})
      for (int wire : {2, 4}) {
        const std::vector<Bucket> buckets = fuse_gradients(graph, wire, threshold);
        int tensors = 0;
        for (const Bucket& bucket : buckets) tensors += bucket.tensors;
        INFO(name << ", threshold " << threshold);
        REQUIRE(total_bytes(buckets) == graph.parameter_count() * wire);
        REQUIRE(tensors == graph.parameter_tensors());
      }
  }
}

TEST_CASE("fusion by threshold: all but the last bucket reach it, none could have been sent earlier") {
  const model::Graph graph = model::zoo_graph("resnet50");
  CHECK(fuse_gradients(graph, 4, 0).size() == 161);
  CHECK(fuse_gradients(graph, 4, std::int64_t{1} << 40).size() == 1);
  const std::int64_t threshold = 4'000'000;
  const std::vector<Bucket> buckets = fuse_gradients(graph, 2, threshold);
  for (std::size_t i = 0; i + 1 < buckets.size(); ++i) CHECK(buckets[i].bytes >= threshold);
  for (std::size_t i = 0; i + 1 < buckets.size(); ++i) CHECK(buckets[i].last_layer >= buckets[i + 1].last_layer);
}

TEST_CASE("two layers worked by hand: what is enqueued, in which order") {
  // input -> fc1 (4 x 3 + 3) -> fc2 (3 x 2 + 2) -> loss. Backward produces fc2's gradients first.
  const model::Graph graph = tests::two_layers(4, 3, 2);
  ModelCost cost;
  cost.layers = {{0, 0}, {1, 2}, {3, 4}, {0.5, 0.25}};
  cost.update_s = 0.125;
  const std::vector<Bucket> buckets = fuse_gradients(graph, 4, 20);
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].name == "fc2/bias .. fc2/weight");
  CHECK(buckets[0].bytes == 8 * 4);
  CHECK(buckets[1].bytes == 15 * 4);

  SSgd options;
  options.gpus = 4;
  options.iterations = 2;
  const Program program = s_sgd(graph, cost, buckets, options, ring_all_reduce);
  // Per iteration: load, copy, forward, backward to fc2, all-reduce, backward to fc1, all-reduce, update.
  REQUIRE(program.work.size() == 16);
  CHECK(program.work[2].seconds == 4.5);
  CHECK(program.work[3].seconds == 4.25);
  CHECK(program.work[5].seconds == 2);
  CHECK(program.work[4].after == std::vector<int>{3});
  CHECK(program.work[7].after == std::vector<int>{6});
  CHECK(program.iteration_ends == std::vector<int>{7, 15});
  // The second forward waits for its input and for the update.
  CHECK(program.work[10].after == std::vector<int>{9, 7});
  // Each GPU sends 2 * 3/4 of 32 and of 60 bytes per iteration.
  CHECK(program.bytes_sent_per_gpu_and_iteration() == 48 + 90);
  CHECK(program.messages_per_iteration() == 2 * 6 * 4);
}

TEST_CASE("gradients are copied into their bucket before it is summed and back behind it, in computation's place") {
  const model::Graph graph = tests::two_layers(4, 3, 2);
  ModelCost cost;
  cost.layers = {{0, 0}, {1, 2}, {3, 4}, {0.5, 0.25}};
  cost.update_s = 0.125;
  const std::vector<Bucket> buckets = fuse_gradients(graph, 4, 20);  // 32 and 60 bytes
  SSgd options;
  options.gpus = 4;
  options.bucket_copy_bytes_per_s = 4;
  const Program program = s_sgd(graph, cost, buckets, options, ring_all_reduce);
  // load, copy, forward, backward to fc2, in, all-reduce, backward to fc1, in, all-reduce, out, out, update
  REQUIRE(program.work.size() == 12);
  double copies_s = 0;
  for (const Work& work : program.work)
    if (work.name == "bucket copy") copies_s += work.seconds;
  CHECK(copies_s == 2 * (32 + 60) / 4.0);
  CHECK(program.work[4].seconds == 8);
  CHECK(program.work[5].after == std::vector<int>{4});
  CHECK(program.work[8].after == std::vector<int>{7});
  CHECK(program.work[9].after == std::vector<int>{5});
  CHECK(program.work[10].after == std::vector<int>{8});
  CHECK(program.work[11].after == std::vector<int>{10});

  options.gpus = 1;
  for (const Work& work : s_sgd(graph, cost, buckets, options, ring_all_reduce).work) CHECK(work.name != "bucket copy");
}

TEST_CASE("without overlap every all-reduce waits for the whole backward pass") {
  const model::Graph graph = model::zoo_graph("lenet_crossbow");
  ModelCost cost;
  cost.layers.assign(graph.layers.size(), {1, 2});
  SSgd options;
  options.gpus = 2;
  options.overlap = false;
  const Program program = s_sgd(graph, cost, fuse_gradients(graph, 4, 0), options, ring_all_reduce);
  int last_backward = -1;
  for (std::size_t w = 0; w < program.work.size(); ++w)
    if (program.work[w].name == "backward") last_backward = static_cast<int>(w);
  for (const Work& work : program.work)
    if (work.kind == Work::Kind::collective) CHECK(work.after == std::vector<int>{last_backward});
}

TEST_CASE(
    "which programs send one message at a time: rings and chains do, a tree's root does not, nor do two streams") {
  const auto program_of = [](const Plan& plan, int streams) {
    Enqueue queue(plan.ranks, {"compute", "a", "b"});
    queue.begin_iteration();
    int last = queue.compute(0, "backward", 1, {});
    const int index = queue.add_plan(plan);
    for (int stream = 1; stream <= streams; ++stream) last = queue.collective(stream, "sum", index, 0, {});
    queue.end_iteration(last);
    return queue.finish();
  };
  CHECK(sends_one_by_one(program_of(ring_all_reduce(8, 1000), 1)));
  CHECK(sends_one_by_one(program_of(hierarchical_all_reduce(8, 4, 1000, 4), 1)));
  CHECK(sends_one_by_one(program_of(halving_doubling_all_reduce(8, 1000), 1)));
  CHECK_FALSE(sends_one_by_one(program_of(ring_all_reduce(8, 1000), 2)));
  Plan star{"star", 3, 1000, {}};
  star.phases.edit().push_back({Transfers({{0, 1, 1000}, {0, 2, 1000}}), 1});
  CHECK_FALSE(sends_one_by_one(program_of(star, 1)));
  star.phases = SharedVector<Phase>{{Transfers({{0, 1, 1000}}), 1}, {Transfers({{0, 2, 1000}}), 1}};
  CHECK(sends_one_by_one(program_of(star, 1)));
}
