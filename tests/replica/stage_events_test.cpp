// The timeline of a split's stages in closed form: what the iteration's time is made of.
#include "sim/replica/stage_events.hpp"

#include <algorithm>

#include "sim/cluster/cluster.hpp"
#include "tests/catch.hpp"
#include "tests/replica/small_split.hpp"

namespace lockstep::tests {
namespace {

using sim::Pass;

Json events_of(const sim::SplitModel& model) {
  std::string text;
  sim::write_stage_events(model, 1, 16, [&](const std::string& piece) { text += piece; });
  return Json::parse("[" + text + "]");
}

double last_end_us(const Json& events) {
  double end_us = 0;
  for (const Json& event : events)
    if (event["ph"] == "X") end_us = std::max(end_us, event["ts"].get<double>() + event["dur"].get<double>());
  return end_us;
}

}  // namespace

TEST_CASE("stages pass every micro-batch, one after the other, and end with the iteration") {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1"}) {
    INFO(schedule);
    Json parallel{{"tensor", 4}, {"pipeline", 4}, {"micro_batches", 8}, {"schedule", schedule}};
    if (parallel["schedule"] == "interleaved") parallel["virtual_stages"] = 2;
    const sim::Scenario scenario = split_of(parallel, 64);
    const sim::SplitModel model(scenario, sim::Cluster(scenario.cluster, 64), 64);
    const std::vector<sim::StageTimes> stages = model.stage_times(1);
    REQUIRE(stages.size() == 4);
    for (const sim::StageTimes& stage : stages) {
      double free_s = 0;
      int forward = 0;
      for (const sim::StageSpan& span : stage.passes) {
        CHECK(span.start_s >= free_s * (1 - 1e-12));
        free_s = span.start_s + span.seconds;
        if (span.op.pass == Pass::forward) ++forward;
      }
      CHECK(forward == 8 * model.job().spec.virtual_stages);
      CHECK(stage.exchanged_s >= free_s * (1 - 1e-12));
    }
    CHECK(last_end_us(events_of(model)) / 1e6 == Approx(model.iteration(1).iteration_s).epsilon(1e-9));
  }
}

}  // namespace lockstep::tests
