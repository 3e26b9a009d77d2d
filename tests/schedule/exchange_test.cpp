// DDP's buckets, gradient accumulation, local SGD, sharded data parallelism, Theano-MPI's exchanges and its loading:
// the enqueued work, worked by hand for a model of two layers.
#include "sim/collective/exchange.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/schedule/local_sgd.hpp"
#include "sim/schedule/sharded.hpp"
#include "sim/schedule/theano_mpi.hpp"
#include "tests/catch.hpp"
#include "tests/schedule/two_layers.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

// Forward 1 + 3, backward 4 + 2 seconds, update 0.5.
ModelCost two_costs() {
  ModelCost cost;
  cost.layers = {{0, 0}, {1, 2}, {3, 4}, {0, 0}};
  cost.update_s = 0.5;
  return cost;
}

template <class Options>
Options options_for(int gpus, int iterations) {
  Options options;
  options.gpus = gpus;
  options.iterations = iterations;
  return options;
}

std::vector<std::string> names(const Program& program, int stream) {
  std::vector<std::string> names;
  for (const Work& work : program.work)
    if (work.stream == stream) names.push_back(work.name);
  return names;
}

int index_of(const Program& program, const std::string& name, int occurrence = 0) {
  for (std::size_t w = 0; w < program.work.size(); ++w)
    if (program.work[w].name == name && occurrence-- == 0) return static_cast<int>(w);
  return -1;
}

}  // namespace

TEST_CASE("DDP: the first bucket closes at 1 MiB, the next at 25 MiB, and every gradient is in one") {
  constexpr std::int64_t kFirst = 1 << 20, kCap = 25 << 20;
  for (const std::string& name : model::zoo_names()) {
    const model::Graph graph = model::zoo_graph(name);
    const std::vector<Bucket> buckets = fuse_gradients(graph, 4, kCap, kFirst);
    INFO(name);
    std::int64_t bytes = 0;
    int tensors = 0;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      bytes += buckets[b].bytes;
      tensors += buckets[b].tensors;
      if (b + 1 < buckets.size()) REQUIRE(buckets[b].bytes >= (b == 0 ? kFirst : kCap));
      if (b > 0) REQUIRE(buckets[b].last_layer <= buckets[b - 1].last_layer);
    }
    REQUIRE(bytes == 4 * graph.parameter_count());
    REQUIRE(tensors == graph.parameter_tensors());
  }
  // ResNet-50 in single precision: the bias and then the weights of the classifier (8,196,000 bytes) close the first.
  const std::vector<Bucket> resnet = fuse_gradients(model::zoo_graph("resnet50"), 4, kCap, kFirst);
  CHECK(resnet[0].bytes == 4 * (1000 + 2048 * 1000));
  CHECK(resnet.size() == 5);
}

TEST_CASE("accumulation of 2: two forward and backward passes, one exchange, one update") {
  const model::Graph graph = tests::two_layers();
  auto options = options_for<SSgd>(4, 1);
  options.accumulation = 2;
  const Program program = s_sgd(graph, two_costs(), fuse_gradients(graph, 4, 1 << 20), options, ring_all_reduce);
  CHECK(names(program, 2) == std::vector<std::string>{"forward", "backward", "forward", "backward", "update"});
  CHECK(names(program, 3).size() == 1);
  CHECK(names(program, 0).size() == 2);  // a batch for each
  // Each GPU sends 2 x 3/4 of 23-byte quarters of the 92 bytes of gradients, as without accumulation.
  CHECK(program.bytes_sent_per_gpu_and_iteration() == 6 * 23);
  // k micro-steps send 1/k of the bytes per batch.
  auto once = options_for<SSgd>(4, 2);
  const Program twice = s_sgd(graph, two_costs(), fuse_gradients(graph, 4, 1 << 20), once, ring_all_reduce);
  CHECK(twice.bytes_sent_per_gpu_and_iteration() * 2 == program.bytes_sent_per_gpu_and_iteration() * 2);
  CHECK(names(twice, 3).size() == 2);
}

TEST_CASE("local SGD: an averaging every H steps, after the update, and the next step waits for it") {
  const model::Graph graph = tests::two_layers();
  auto options = options_for<LocalSgd>(4, 6);
  options.period = 3;
  const Program program =
      local_sgd(graph, two_costs(), fuse_gradients(graph, 4, 1 << 20), options, ring_all_reduce, all_gather);
  CHECK(names(program, 3).size() == 2);
  const int average = names(program, 3).empty() ? -1 : index_of(program, names(program, 3)[0]);
  CHECK(program.work[static_cast<std::size_t>(average)].iteration == 2);
  CHECK(program.work[static_cast<std::size_t>(average)].after == std::vector<int>{index_of(program, "update", 2)});
  CHECK(program.iteration_ends[2] == average);
  const std::vector<int>& fourth = program.work[static_cast<std::size_t>(index_of(program, "forward", 3))].after;
  CHECK(std::count(fourth.begin(), fourth.end(), average) == 1);
  CHECK(program.bytes_sent_per_gpu_and_iteration() == 6 * 23.0 / 3);
}

TEST_CASE("local SGD of groups: gradients are summed within groups at every step, parameters averaged every H") {
  const model::Graph graph = tests::two_layers();
  auto options = options_for<LocalSgd>(4, 6);
  options.period = 3;
  options.group_gpus = 2;
  const Program program =
      local_sgd(graph, two_costs(), fuse_gradients(graph, 4, 1 << 20), options, ring_all_reduce, all_gather);
  CHECK(names(program, 3).size() == 10);  // six sums, two averages, two gathers
  const int average = index_of(program, "average " + names(program, 3)[0]);
  REQUIRE(average >= 0);
  CHECK(program.work[static_cast<std::size_t>(average)].after == std::vector<int>{index_of(program, "update", 2)});
  CHECK(program.iteration_ends[2] == index_of(program, "outer update"));
  CHECK(program.iteration_ends[1] == index_of(program, "update", 1));
  // A ring of two sends every byte once; the average sends 1 of 2 halves twice and gathers half.
  const double bytes = static_cast<double>(graph.parameter_count()) * 4;
  CHECK(program.bytes_sent_per_gpu_and_iteration() == Approx(bytes + (bytes / 2 + bytes / 2) / 3).epsilon(0.1));
  options.group_gpus = 4;
  const Program one_group =
      local_sgd(graph, two_costs(), fuse_gradients(graph, 4, 1 << 20), options, ring_all_reduce, all_gather);
  CHECK(index_of(one_group, "outer update") == -1);
}

TEST_CASE("sharding units: consecutive layers of at least so many bytes, every parameter once") {
  for (const std::string& name : model::zoo_names()) {
    const model::Graph graph = model::zoo_graph(name);
    for (std::int64_t unit_bytes : {std::int64_t{1}, std::int64_t{1'000'000}, std::int64_t{1} << 40}) {
      const std::vector<ShardingUnit> units = sharding_units(graph, 2, unit_bytes);
      INFO(name << ", units of " << unit_bytes);
      std::int64_t bytes = 0;
      int next_layer = 0;
      for (const ShardingUnit& unit : units) {
        REQUIRE(unit.first_layer == next_layer);
        next_layer = unit.last_layer + 1;
        bytes += unit.bytes;
        REQUIRE(unit.bytes > 0);
      }
      REQUIRE(next_layer == static_cast<int>(graph.layers.size()));
      REQUIRE(bytes == 2 * graph.parameter_count());
    }
  }
}

TEST_CASE("sharded: gathers one unit ahead, gathers again, reduce-scatters, worked by hand") {
  const model::Graph graph = tests::two_layers();
  const std::vector<ShardingUnit> units = sharding_units(graph, 4, 1);
  REQUIRE(units.size() == 2);  // fc1 (60 bytes) and fc2 (32 bytes) with the loss
  CHECK(units[0].bytes == 60);
  CHECK(units[1].bytes == 32);
  CHECK(units[1].last_layer == 3);
  const Program program = sharded(graph, two_costs(), units, options_for<Sharded>(4, 1), all_gather, reduce_scatter);
  const std::string one = units[0].name, two = units[1].name;
  // Passes: fc1 and fc2 forward, fc2 and fc1 backward; the gather of each goes before the work of the one before.
  CHECK(names(program, 3) == std::vector<std::string>{"gather " + one, "gather " + two, "gather " + two,
                                                      "gather " + one, "reduce-scatter " + two,
                                                      "reduce-scatter " + one});
  CHECK(names(program, 2) ==
        std::vector<std::string>{"forward " + one, "forward " + two, "backward " + two, "backward " + one, "update"});
  // The gather for a pass waits for the pass two before: fc2 backward for fc1 forward, fc1 backward for fc2 forward.
  const auto after = [&](const std::string& name, int occurrence) {
    return program.work[static_cast<std::size_t>(index_of(program, name, occurrence))].after;
  };
  CHECK(after("gather " + two, 0).empty());
  CHECK(after("gather " + two, 1) == std::vector<int>{index_of(program, "forward " + one)});
  CHECK(after("gather " + one, 1) == std::vector<int>{index_of(program, "forward " + two)});
  CHECK(after("reduce-scatter " + two, 0) == std::vector<int>{index_of(program, "backward " + two)});
  CHECK(after("update", 0) == std::vector<int>{index_of(program, "reduce-scatter " + one)});
  CHECK(program.work[static_cast<std::size_t>(index_of(program, "update"))].seconds == 0.5 / 4);
  // 3 (n-1)/n S: 3 x 3/4 x 92 = 207 bytes per GPU; kept for the backward pass 2 x 3/4 x 92 = 138.
  CHECK(program.bytes_sent_per_gpu_and_iteration() == 207);
  auto kept = options_for<Sharded>(4, 1);
  kept.gathers_again = false;
  CHECK(sharded(graph, two_costs(), units, kept, all_gather, reduce_scatter).bytes_sent_per_gpu_and_iteration() == 138);
}

TEST_CASE("sharded, accumulation of 2: two steps that gather and scatter, one update") {
  const model::Graph graph = tests::two_layers();
  const std::vector<ShardingUnit> units = sharding_units(graph, 4, 1);
  auto options = options_for<Sharded>(4, 1);
  const Program once = sharded(graph, two_costs(), units, options, all_gather, reduce_scatter);
  options.accumulation = 2;
  const Program twice = sharded(graph, two_costs(), units, options, all_gather, reduce_scatter);
  CHECK(twice.bytes_sent_per_gpu_and_iteration() == 2 * once.bytes_sent_per_gpu_and_iteration());
  CHECK(names(twice, 2).size() == 2 * (names(once, 2).size() - 1) + 1);
  CHECK(names(twice, 0).size() == 2);
  // The second step's first gather waits for the first step's last gradients.
  CHECK(twice.work[static_cast<std::size_t>(index_of(twice, "gather " + units[0].name, 2))].after ==
        std::vector<int>{index_of(twice, "reduce-scatter " + units[0].name)});
}

TEST_CASE("ZeRO-1 exchanges the bytes of an all-reduce once, however many micro-steps there are") {
  const model::Graph graph = tests::two_layers();
  const std::vector<ShardingUnit> units = sharding_units(graph, 4, 1);
  auto options = options_for<Sharded>(4, 1);
  options.gathers_again = false;
  options.keeps_gradients = true;
  for (const int steps : {1, 2, 5}) {
    options.accumulation = steps;
    const Program program = sharded(graph, two_costs(), units, options, all_gather, reduce_scatter);
    CHECK(program.bytes_sent_per_gpu_and_iteration() == 138);  // 2 x 3/4 x 92
    CHECK(names(program, 2).size() == static_cast<std::size_t>(4 * steps + 1));
  }
}

TEST_CASE("sharded: one GPU gathers nothing, waits for no launch and updates everything") {
  const model::Graph graph = tests::two_layers();
  auto options = options_for<Sharded>(1, 2);
  options.launch_s = 1e-3;
  for (bool gathers_again : {true, false}) {
    options.gathers_again = gathers_again;
    const Program program =
        sharded(graph, two_costs(), sharding_units(graph, 4, 1), options, all_gather, reduce_scatter);
    CHECK(names(program, 3).empty());
    CHECK(names(program, 2).size() == 2 * 5);
    CHECK(program.work[static_cast<std::size_t>(index_of(program, "update"))].seconds == 0.5);
  }
}

TEST_CASE("Theano-MPI: the steps of AR, ASA and ASA16 on one tensor worked by hand") {
  const model::Graph graph = tests::two_layers();
  const std::vector<Bucket> whole = fuse_gradients(graph, 4, 1 << 20);  // 92 bytes
  const TheanoMpiPlans plans{[](int gpus, std::int64_t bytes) { return ring_all_reduce(gpus, bytes); }, all_to_all,
                             all_gather};
  auto options = options_for<TheanoMpi>(4, 1);
  options.staging_bytes_per_s = 46;
  options.pass_bytes_per_s = 10;
  const auto seconds = [](const Program& program, const std::string& name) {
    return program.work[static_cast<std::size_t>(index_of(program, name))].seconds;
  };

  options.exchange = ParameterExchange::ar;
  const Program ar = theano_mpi(graph, two_costs(), whole, options, plans);
  CHECK(names(ar, 3).front() == "to host");
  CHECK(names(ar, 3).back() == "from host");
  CHECK(seconds(ar, "to host") == 2);  // 92 / 46
  CHECK(ar.iteration_ends[0] == index_of(ar, "from host"));
  CHECK(ar.work[static_cast<std::size_t>(index_of(ar, "to host"))].after == std::vector<int>{index_of(ar, "update")});

  // All-to-all and all-gather: 3 x 23 bytes each. The sum reads 4 quarters and writes one: 5/4 x 92 / 10 s.
  options.exchange = ParameterExchange::asa;
  const Program asa = theano_mpi(graph, two_costs(), whole, options, plans);
  CHECK(asa.bytes_sent_per_gpu_and_iteration() == 2 * 3 * 23);
  CHECK(seconds(asa, "sum") == Approx(11.5));
  CHECK(names(asa, 3).size() == 3);

  // It sends half of the bytes (quarters of 46: 12); conversions of 6 bytes per element take 23 x 6 / 10 s each.
  options.exchange = ParameterExchange::asa16;
  const Program asa16 = theano_mpi(graph, two_costs(), whole, options, plans);
  CHECK(asa16.bytes_sent_per_gpu_and_iteration() == 2 * 3 * 12);
  CHECK(seconds(asa16, "to half") == Approx(13.8));
  CHECK(seconds(asa16, "sum") == Approx(5.75));
  CHECK(asa16.iteration_ends[0] == index_of(asa16, "to single"));
  // A single GPU exchanges nothing.
  CHECK(names(theano_mpi(graph, two_costs(), whole, options_for<TheanoMpi>(1, 1), plans), 3).empty());
}

TEST_CASE("loading: in parallel a batch waits for its buffer, blocking for the step before") {
  const model::Graph graph = tests::two_layers();
  auto options = options_for<SSgd>(1, 3);
  options.prefetch = 1;
  const std::vector<Bucket> whole = fuse_gradients(graph, 4, 1 << 20);
  const Program parallel = s_sgd(graph, two_costs(), whole, options, ring_all_reduce);
  CHECK(parallel.work[static_cast<std::size_t>(index_of(parallel, "load", 1))].after ==
        std::vector<int>{index_of(parallel, "forward", 0)});
  options.blocking = true;
  const Program blocking = s_sgd(graph, two_costs(), whole, options, ring_all_reduce);
  CHECK(blocking.work[static_cast<std::size_t>(index_of(blocking, "load", 0))].after.empty());
  CHECK(blocking.work[static_cast<std::size_t>(index_of(blocking, "load", 1))].after ==
        std::vector<int>{index_of(blocking, "update", 0)});
}
