// Plans share their spans if they differ only in bytes.
#include "sim/replay/rank_spans.hpp"

#include "sim/collective/collectives.hpp"
#include "sim/collective/parameter_server.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

TEST_CASE("spans fit plans with the same transfers and other bytes, and no others") {
  const Roles roles = co_located_servers(16, 4, 2);
  const Plan plan = push_gradients(roles, {1000, 0}), other = push_gradients(roles, {3000, 0});
  const RankSpans spans(plan);
  CHECK(spans.fit(plan));
  CHECK(spans.fit(other));
  CHECK_FALSE(spans.fit(push_gradients(roles, {0, 1000})));     // the other server
  CHECK_FALSE(spans.fit(push_gradients(roles, {1000, 1000})));  // both servers
  CHECK_FALSE(spans.fit(pull_parameters(roles, {1000, 0})));
  CHECK_FALSE(spans.fit(push_gradients(co_located_servers(16, 8, 2), {1000, 0})));
  CHECK_FALSE(RankSpans(ring_all_reduce(4, 64)).fit(ring_all_reduce(8, 64)));

  // The spans of a rank name the bytes of its transfers in each of these plans.
  for (const Plan* each : {&plan, &other}) {
    const std::vector<std::int64_t> bytes = RankSpans::bytes_of_runs(*each);
    std::int64_t sent = 0, in_plan = 0;
    for (int rank = 0; rank < each->ranks; ++rank)
      for (const Span* span = spans.begin(rank); span != spans.end(rank); ++span)
        if (span->is_send) sent += bytes.at(static_cast<std::size_t>(span->run));
    for (const Phase& phase : each->phases)
      for (const Transfer& transfer : phase.transfers) in_plan += transfer.bytes;
    CHECK(sent == in_plan);
  }
}
