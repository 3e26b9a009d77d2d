// Closed-form points that share a process and its cluster are those of processes of their own; replays that would need
// too many messages stay in closed form.
#include "engine/base/process_pool.hpp"
#include "sim/point/point.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

std::string digits(const sim::PointResult& point) {
  return Json{
      point.iteration_s, point.relative_low, point.relative_high, point.compute_s, point.exposed_communication_s,
      point.messages,    point.method}
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

TEST_CASE("closed-form points that share a cluster are the same as alone, in any order") {
  const SmallFiles files;
  std::vector<sim::Scenario> scenarios;
  for (const char* all_reduce : {"ring", "halving-doubling", "hierarchical", "ring"})
    scenarios.push_back(files.one({{"/communication/all_reduce", all_reduce},
                                   {"/communication/group_size", "2"},
                                   {"/communication/message_overhead", all_reduce[0] == 'r' ? "5 us" : "50 us"}}));
  std::vector<std::string> alone;
  for (const sim::Scenario& s : scenarios)
    alone.push_back(in_processes(1, 1, [&](std::size_t) {
                      return digits(sim::predict_point(s, request(4, 16, sim::Fidelity::analytic)));
                    }).front());
  const std::string shared = in_processes(1, 1, [&](std::size_t) {
                               sim::AnalyticPoints points;
                               std::string all;
                               for (const sim::Scenario& s : scenarios)
                                 all += digits(points.predict("c", s, request(4, 16, sim::Fidelity::analytic))) + "\n";
                               return all;
                             }).front();
  std::string expected;
  for (const std::string& text : alone) expected += text + "\n";
  CHECK(shared == expected);
  CHECK(alone[0] == alone[3]);
  CHECK(alone[0] != alone[1]);
}

TEST_CASE("a process takes closed-form points of one cluster and one number of GPUs, and nothing else") {
  const SmallFiles files;
  const sim::Scenario s = files.one();
  sim::Scenario learners = s;
  learners.algorithm = Algorithm::sma;
  learners.learners.auto_tune.emplace();
  CHECK(!sim::AnalyticPoints::can_predict(learners));
  const std::string said = in_processes(1, 1, [&](std::size_t) {
                             sim::AnalyticPoints points;
                             const auto at_4 = request(4, 16, sim::Fidelity::analytic);
                             std::string text = points.accepts("c", s, at_4) ? "any " : "";
                             points.predict("c", s, at_4);
                             text += points.accepts("c", s, request(4, 64, sim::Fidelity::analytic)) ? "batch " : "";
                             text += points.accepts("c", s, request(2, 16, sim::Fidelity::analytic)) ? "fewer " : "";
                             text += points.accepts("other", s, at_4) ? "other " : "";
                             try {
                               points.predict("c", s, request(4, 16, sim::Fidelity::fast));
                             } catch (const std::logic_error&) {
                               text += "analytic only";
                             }
                             return text;
                           }).front();
  CHECK(said == "any batch analytic only");
}

// Two rings over both nodes' one NIC: flows that max-plus refuses.
TEST_CASE("a point that fast would replay by too many messages stays in closed form") {
  const SmallFiles files;
  const sim::Scenario s =
      files.one({{"/communication/all_reduce", "halving-doubling"}, {"/cluster/nic/bandwidth", "1 Gbit/s"}});
  const auto method = [&](double most_messages) {
    return in_processes(1, 1,
                        [&](std::size_t) {
                          sim::PointRequest r = request(4, 16, sim::Fidelity::fast);
                          r.most_messages = most_messages;
                          return sim::predict_point(s, r).method;
                        })
        .front();
  };
  CHECK(method(0) == "fair flows");
  CHECK(method(1e9) == "fair flows");
  CHECK(method(10) == "closed form");
}

}  // namespace lockstep::tests
