// The timeline of a split's iteration: the work of a GPU, span by span.
#include <algorithm>
#include <map>

#include "sim/point/best_splits.hpp"
#include "sim/point/split_trace.hpp"
#include "sim/program/jitter.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {

TEST_CASE("spans of a stage follow each other, pass every micro-batch both ways and end with the iteration") {
  constexpr int kGpus = 16;
  sim::Scenario scenario = split_of({{"tensor", 2}, {"global_batch", 64}}, kGpus, switched_cluster());
  const sim::SplitQuestion question = sim::all_splits(scenario, kGpus);
  int seen = 0;
  for (const sim::ParallelSpec& spec : sim::splits_of(scenario, kGpus, question)) {
    if (++seen % 5 != 0) continue;
    INFO(sim::split_text(spec));
    scenario = sim::scenario_with_split(scenario, spec, kGpus);
    const sim::Cluster cluster(scenario.cluster, kGpus);
    sim::SplitModel model(scenario, cluster, kGpus);
    const double slowest = sim::expected_slowest(scenario, kGpus);
    std::map<int, double> ends;
    std::map<std::pair<int, sim::SplitSpan::Kind>, int> counts;
    for (const sim::SplitSpan& span : model.spans(slowest)) {
      CHECK(span.start_s >= ends[span.stage] * (1 - 1e-12));
      CHECK(span.end_s >= span.start_s);
      ends[span.stage] = span.end_s;
      ++counts[{span.stage, span.kind}];
    }
    const int passes = model.job().micro_batches * spec.virtual_stages;
    for (int stage = 0; stage < spec.pipeline; ++stage) {
      CHECK(counts[{stage, sim::SplitSpan::Kind::forward}] == passes);
      CHECK(counts[{stage, sim::SplitSpan::Kind::backward}] == passes);
      CHECK(counts[{stage, sim::SplitSpan::Kind::update}] == 1);
      CHECK(ends[stage] == Approx(model.iteration(slowest).iteration_s).epsilon(1e-9));
    }
  }
  CHECK(seen > 20);
}

TEST_CASE("a split job's trace has the first GPU of each stage, and Chrome can read it") {
  const sim::Scenario scenario =
      split_of({{"tensor", 2}, {"pipeline", 2}, {"global_batch", 64}}, 16, switched_cluster());
  CHECK(sim::traced_gpus(scenario, 16) == std::vector<int>{0, 8});
  sim::PointRequest request = sim::request_for(scenario, 16, scenario.batch_at(16));
  std::string events;
  request.trace.gpus = {0, 8};
  request.trace.sink = [&](const std::string& piece) { events += piece; };
  (void)sim::predict_point(scenario, request);
  std::map<int, int> spans;
  for (const Json& event : Json::parse("[" + events + "]"))
    if (event.at("ph") == "X") ++spans[event.at("pid").get<int>()];
  CHECK(spans.size() == 2);
  CHECK(spans.at(0) >= 2 * 64 / 4);
}

}  // namespace lockstep::tests
