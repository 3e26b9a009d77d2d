// Closed-form points that share a process and its cluster equal those in separate processes. Replays that would need
// too many messages stay in closed form.
#include "engine/base/process_pool.hpp"
#include "sim/point/point.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

std::string digits(const sim::PointResult& point) {
  return Json{
      point.iteration_s, point.interval.low, point.interval.high, point.compute_s, point.exposed_communication_s,
      point.messages,    point.method.text()}
      .dump();
}

sim::PointRequest request(int gpus, int batch, sim::Fidelity fidelity) {
  sim::PointRequest r;
  r.gpus = gpus;
  r.batch_per_gpu = batch;
  r.fidelity = fidelity;
  return r;
}

}  // namespace

TEST_CASE("points of one process are the same as alone, whatever their clusters, but by messages") {
  const SmallFiles files;
  std::vector<std::pair<sim::Scenario, sim::PointRequest>> points;
  for (const sim::Fidelity fidelity : {sim::Fidelity::analytic, sim::Fidelity::fast})
    for (const char* all_reduce : {"ring", "halving-doubling", "hierarchical", "ring"}) {
      const std::string overhead = all_reduce[0] == 'r' ? "5 us" : "50 us";
      points.emplace_back(files.one({{"/communication/all_reduce", all_reduce},
                                     {"/communication/group_size", "2"},
                                     {"/communication/message_overhead", overhead}}),
                          request(all_reduce[1] == 'i' ? 4 : 2, 16, fidelity));
    }
  std::vector<std::string> alone, together;
  for (const auto& [scenario, asked] : points)
    alone.push_back(in_processes(1, 1, [&, s = &scenario, r = &asked](std::size_t) {
                      return digits(sim::predict_point(*s, *r));
                    }).front());
  for (const auto& [scenario, asked] : points) together.push_back(digits(sim::predict_point(scenario, asked)));
  CHECK(together == alone);
  CHECK(alone[0] == alone[3]);
  CHECK(alone[0] != alone[1]);
}

// Two rings over the single NIC of both nodes: max-plus replays refuse such flows.
TEST_CASE("a point that fast would replay by too many messages stays in closed form") {
  const SmallFiles files;
  const sim::Scenario s =
      files.one({{"/communication/all_reduce", "halving-doubling"}, {"/cluster/nic/bandwidth", "1 Gbit/s"}});
  const auto method = [&](double most_messages) {
    return in_processes(1, 1,
                        [&](std::size_t) {
                          sim::PointRequest r = request(4, 16, sim::Fidelity::fast);
                          r.most_messages = most_messages;
                          return sim::predict_point(s, r).method.text();
                        })
        .front();
  };
  CHECK(method(0) == "fair flows");
  CHECK(method(1e9) == "fair flows");
  CHECK(method(10) == "closed form");
}

}  // namespace lockstep::tests
