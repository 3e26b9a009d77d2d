// Backup workers whose servers are equivalent: replaying one for all is exact.
#include "engine/base/statistics.hpp"
#include "sim/point/point.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

// 14 workers of the published comparison, 3 of them backups, with 5 servers.
PointResult run(Settings settings, Fidelity fidelity) {
  const Settings small{{"/variants/0/set/~1gpus", "[14]"}, {"/variants/0/set/~1baseline~1gpus", "14"}};
  settings.insert(settings.begin(), small.begin(), small.end());
  const LoadedScenario loaded =
      load_scenario(LOCKSTEP_SOURCE_DIR "/scenarios/published/revisiting-sync-sgd/machines.json", settings);
  Scenario scenario = loaded.variants.front();
  REQUIRE(scenario.algorithm == Algorithm::backup_workers);
  scenario.workers->servers = 5;
  PointRequest request;
  request.gpus = 14;
  request.batch_per_gpu = 32;
  request.iterations = 6;
  request.fidelity = fidelity;
  return predict_points({{&scenario, request}}, 1).front();
}

}  // namespace

TEST_CASE("one server for all alike ones equals messages to each, every iteration") {
  const std::vector<Settings> cases{{},
                                    {{"/workers/apply_rate", "\"2 GB/s\""}},
                                    {{"/workers/timeout", "\"1.6 s\""}},
                                    {{"/workers/late", "\"interrupted\""}},
                                    {{"/communication/wire", "\"fp16\""}}};
  for (const Settings& settings : cases) {
    INFO((settings.empty() ? "as it is" : settings.front().first));
    const PointResult one = run(settings, Fidelity::fast), all = run(settings, Fidelity::message);
    CHECK(one.method.text() == "fair flows of one of 5 identical servers");
    CHECK(all.method.text() == "messages");
    CHECK(one.events < all.events / 3);
    REQUIRE(one.iteration_s.size() == all.iteration_s.size());
    for (std::size_t i = 0; i < all.iteration_s.size(); ++i)
      CHECK(one.iteration_s[i] == Approx(all.iteration_s[i]).epsilon(1e-9));
    CHECK(one.samples_per_iteration == Approx(all.samples_per_iteration));
    CHECK(one.bytes_sent_per_gpu == Approx(all.bytes_sent_per_gpu));
    CHECK(one.messages == Approx(all.messages));
    CHECK(one.compute_s == Approx(all.compute_s));
    const WorkersDetails &one_server = *one.details.workers, &all_servers = *all.details.workers;
    CHECK(*one_server.dropped_share == Approx(*all_servers.dropped_share));
    CHECK(one_server.idle_share == Approx(all_servers.idle_share));
    CHECK(*one_server.aggregated_gradients == Approx(*all_servers.aggregated_gradients));
    CHECK(one_server.servers == all_servers.servers);
  }
}

TEST_CASE("servers that are not reached alike are replayed one by one") {
  // Overlapping, the shards of a gradient leave at different moments.
  CHECK(run({{"/communication/overlap", "true"}}, Fidelity::fast).method.text() == "fair flows");
}
