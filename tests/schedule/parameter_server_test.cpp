#include "sim/schedule/parameter_server.hpp"

#include <set>

#include "sim/collective/parameter_server.hpp"
#include "tests/catch.hpp"
#include "tests/schedule/two_layers.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

ModelCost costs_of_two() {
  ModelCost cost;
  cost.layers = {{0, 0}, {1, 2}, {3, 4}, {0.5, 0.25}};
  cost.update_s = 0.115;
  return cost;
}

LayerExchange exchange_of(int layer, const std::string& name, std::int64_t bytes) {
  const Roles roles = co_located_servers(2, 1, 0);
  LayerExchange exchange;
  exchange.layer = layer;
  exchange.name = name;
  exchange.push = push_gradients(roles, {bytes / 2, bytes / 2});
  exchange.pull = pull_parameters(roles, {bytes / 2, bytes / 2});
  return exchange;
}

int find(const Program& program, const std::string& name, int iteration) {
  for (std::size_t w = 0; w < program.work.size(); ++w)
    if (program.work[w].name == name && program.work[w].iteration == iteration) return static_cast<int>(w);
  FAIL("no work \"" << name << "\" in iteration " << iteration);
  return -1;
}

const Work& work(const Program& program, const std::string& name, int iteration) {
  return program.work[static_cast<std::size_t>(find(program, name, iteration))];
}

ParameterServer options_of(bool overlap, bool barrier) {
  ParameterServer options;
  options.gpus = 2;
  options.iterations = 2;
  options.overlap = overlap;
  options.barrier = barrier;
  options.streams = 2;
  return options;
}

}  // namespace

TEST_CASE("wait-free back-propagation: a layer's exchange waits for its own gradient only") {
  const std::vector<LayerExchange> exchanges{exchange_of(2, "fc2", 32), exchange_of(1, "fc1", 60)};
  const Program program = parameter_server(tests::two_layers(), costs_of_two(), exchanges, options_of(true, true));
  // Backward of loss and fc2 is 0.25 + 4 s, of fc1 2 s. fc2's push follows the first of them.
  const int first = find(program, "backward", 0);
  CHECK(program.work[static_cast<std::size_t>(first)].seconds == 4.25);
  CHECK(work(program, "push fc2", 0).after == std::vector<int>{first});
  CHECK(work(program, "push fc1", 0).after != std::vector<int>{first});
  CHECK(work(program, "push fc1", 0).stream != work(program, "push fc2", 0).stream);
  CHECK(work(program, "pull fc2", 0).after == std::vector<int>{find(program, "push fc2", 0)});
  // With a barrier one update follows all pulls, and ends the iteration.
  CHECK(work(program, "update", 0).after ==
        std::vector<int>{find(program, "pull fc2", 0), find(program, "pull fc1", 0)});
  CHECK(program.iteration_ends[0] == find(program, "update", 0));
  // 2 workers and servers: half of every layer is pushed and half is sent back; 16 + 30 each.
  CHECK(program.bytes_sent_per_gpu_and_iteration() == 2 * (16 + 30));
  CHECK(program.messages_per_iteration() == 2 * 4);
}

TEST_CASE("bulk-synchronous per key: a layer's next forward waits for its own pull and makes its own update") {
  const std::vector<LayerExchange> exchanges{exchange_of(2, "fc2", 32), exchange_of(1, "fc1", 60)};
  const Program program = parameter_server(tests::two_layers(), costs_of_two(), exchanges, options_of(true, false));
  // 15 of the 23 parameters are fc1's: updates of 0.115 x 15/23 = 0.075 s and 0.04 s, before the layers' forward.
  std::vector<double> updates;
  std::vector<std::set<int>> waits;
  for (const Work& w : program.work)
    if (w.name == "update") {
      CHECK(w.iteration == 1);
      updates.push_back(w.seconds);
      waits.emplace_back(w.after.begin(), w.after.end());
    }
  REQUIRE(updates.size() == 2);
  CHECK(updates[0] == Approx(0.075));
  CHECK(updates[1] == Approx(0.04));
  CHECK(waits[0].count(find(program, "pull fc1", 0)) == 1);
  CHECK(waits[0].count(find(program, "pull fc2", 0)) == 0);
  CHECK(waits[1] == std::set<int>{find(program, "pull fc2", 0)});
  // fc1 forward, 1 s, on its own; then fc2 and the loss, 3.5 s.
  double forward_s = 0;
  for (const Work& w : program.work)
    if (w.name == "forward" && w.iteration == 1) forward_s += w.seconds;
  CHECK(forward_s == 4.5);
}

TEST_CASE("sequential: nothing is sent before the backward pass ends and blocking copies come before and after") {
  std::vector<LayerExchange> exchanges{exchange_of(2, "fc2", 32), exchange_of(1, "fc1", 60)};
  for (LayerExchange& exchange : exchanges) exchange.to_host_s = exchange.to_device_s = 1;
  ParameterServer options = options_of(false, true);
  options.staging_blocks = true;
  const Program program = parameter_server(tests::two_layers(), costs_of_two(), exchanges, options);
  const int copied = find(program, "to host fc1", 0);
  const int computing = work(program, "forward", 0).stream;
  CHECK(work(program, "to host fc1", 0).stream == computing);
  for (const char* name : {"push fc1", "push fc2"}) CHECK(work(program, name, 0).after == std::vector<int>{copied});
  const std::vector<int> pulled{find(program, "pull fc2", 0), find(program, "pull fc1", 0)};
  for (const char* name : {"to device fc1", "to device fc2"}) {
    CHECK(work(program, name, 0).after == pulled);
    CHECK(work(program, name, 0).stream == computing);
  }
}

TEST_CASE("staging that overlaps goes by its own streams, between gradient and push and between pull and update") {
  std::vector<LayerExchange> exchanges{exchange_of(2, "fc2", 32)};
  exchanges[0].to_host_s = 1;
  exchanges[0].server_s = 2;
  exchanges[0].to_device_s = 3;
  exchanges[0].decode_s = 4;
  const Program program = parameter_server(tests::two_layers(), costs_of_two(), exchanges, options_of(true, true));
  const std::vector<std::string> chain{"to host fc2",   "push fc2",   "serve fc2", "pull fc2",
                                       "to device fc2", "decode fc2", "update"};
  std::set<int> streams;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    CHECK(work(program, chain[i], 1).after == std::vector<int>{find(program, chain[i - 1], 1)});
    streams.insert(work(program, chain[i - 1], 1).stream);
  }
  CHECK(streams.size() == 6);
}
