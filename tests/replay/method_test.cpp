#include "sim/point/method.hpp"

#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

using namespace lockstep::sim;

MethodsToTry choose_methods(Fidelity fidelity, int gpus, double messages, double most_messages) {
  return sim::choose_methods(fidelity, gpus, messages, most_messages, {});
}

std::vector<ReplayMethod> replays(const MethodsToTry& methods) {
  std::vector<ReplayMethod> all;
  for (const PredictionMethod& method : methods) all.push_back(method.replay);
  return all;
}

}  // namespace

TEST_CASE("methods: max-plus first, then every message, then rounds as messages grow, then a refusal") {
  using Replays = std::vector<ReplayMethod>;
  CHECK(replays(choose_methods(Fidelity::message, 8, 1e3, 0)) == Replays{ReplayMethod::messages});
  CHECK(replays(choose_methods(Fidelity::analytic, 8, 1e3, 0)) == Replays{ReplayMethod::closed_form});
  const Replays each{ReplayMethod::max_plus, ReplayMethod::fair_flows};
  const Replays rounds{ReplayMethod::max_plus, ReplayMethod::shared_rounds, ReplayMethod::fair_flows};
  CHECK(replays(choose_methods(Fidelity::fast, 512, 1e7, 0)) == each);
  CHECK(replays(choose_methods(Fidelity::fast, 512, 3e7, 0)) == rounds);
  CHECK(replays(choose_methods(Fidelity::fast, 513, 2e4, 0)) == each);
  CHECK(replays(choose_methods(Fidelity::fast, 513, 1e5, 0)) == rounds);
  CHECK(choose_methods(Fidelity::fast, 513, 1e5, 0)[1].stated_error() == 0.01);
  CHECK(choose_methods(Fidelity::fast, 513, 1e7, 0)[1].stated_error() == 0.15);
  CHECK(replays(choose_methods(Fidelity::fast, 513, 3e8, 0)) ==
        Replays{ReplayMethod::max_plus, ReplayMethod::shared_rounds});
  const MethodsToTry limited = choose_methods(Fidelity::fast, 8, 1e3, 100);
  CHECK(replays(limited) == Replays{ReplayMethod::max_plus, ReplayMethod::closed_form});
  CHECK(limited[1].reason == MethodReason::message_limit);
  CHECK(limited[1].fidelity() == Fidelity::analytic);
}

TEST_CASE("methods: beyond 65,536 GPUs the closed form stands for a replay that would take long or much memory") {
  using Replays = std::vector<ReplayMethod>;
  const auto of_size = [](int gpus, double steps, double transfers) {
    return replays(sim::choose_methods(Fidelity::fast, gpus, 1e12, 0, {steps, transfers}));
  };
  CHECK(of_size(65536, 1e7, 1e12) == Replays{ReplayMethod::max_plus, ReplayMethod::shared_rounds});
  CHECK(of_size(1 << 20, 1e7, 1e6) == Replays{ReplayMethod::max_plus, ReplayMethod::shared_rounds});
  CHECK(of_size(1 << 20, 1e8, 1e6) == Replays{ReplayMethod::max_plus, ReplayMethod::closed_form});
  CHECK(of_size(1 << 20, 1e9, 1e6) == Replays{ReplayMethod::closed_form});
  CHECK(of_size(1 << 20, 1e7, 1e8) == Replays{ReplayMethod::closed_form});
  const MethodsToTry large = sim::choose_methods(Fidelity::fast, 1 << 20, 1e12, 0, {1e9, 1e6});
  CHECK(large.front().reason == MethodReason::large_cluster);
  CHECK(large.front().error_class() == ErrorClass::closed_form);
}

TEST_CASE("methods: the closed form stands for rounds that would take minutes, at any number of GPUs") {
  const MethodsToTry methods = sim::choose_methods(Fidelity::fast, 4096, 9e7, 0, {1e8, 5e5});
  CHECK(replays(methods) == std::vector<ReplayMethod>{ReplayMethod::max_plus, ReplayMethod::closed_form});
  CHECK(methods[1].reason == MethodReason::long_replay);
}

TEST_CASE("methods: messages of GPUs that exchange with many others at once go by rounds where others go each") {
  const auto second_of = [](int gpus, double transfers) {
    return sim::choose_methods(Fidelity::fast, gpus, 9e5, 0, {1e6, transfers})[1];
  };
  CHECK(second_of(1024, 2e4).shares_any_links);
  CHECK_FALSE(second_of(1024, 1e3).shares_any_links);
  CHECK(second_of(512, 2e4).replay == ReplayMethod::fair_flows);
}

TEST_CASE("a replay's size: steps of all iterations, transfers of different ranks") {
  Program program;
  program.gpus = 4;
  program.iterations = 2;
  Plan ring{"ring", 4, 400, {}};
  ring.phases.edit().push_back({Transfers{{{0, 1, 100}, {1, 2, 100}, {2, 3, 100}, {3, 0, 100}}}, 6});
  Plan other = ring;
  other.phases.edit().front().transfers = Transfers(ring.phases.front().transfers.blocks().front()->of_bytes(7));
  Plan call = ring;
  call.call = CallTime{1, 1};
  program.plans = {ring, other, call};
  for (const int plan : {0, 1, 2}) {
    Work work;
    work.kind = Work::Kind::collective;
    work.plan = plan;
    program.work.push_back(work);
  }
  Work compute;
  compute.kind = Work::Kind::compute;
  program.work.push_back(compute);
  const ReplaySize size = estimate_replay_size(program);
  // Six rounds of four messages twice; the call and the compute of four GPUs each.
  CHECK(size.steps == 2 * 6 * 4 + 4 + 4);
  CHECK(size.transfers == 4);
}

TEST_CASE("methods: error classes") {
  PredictionMethod method;
  CHECK(method.error_class() == ErrorClass::closed_form);
  for (ReplayMethod exact : {ReplayMethod::messages, ReplayMethod::fair_flows, ReplayMethod::max_plus}) {
    method.replay = exact;
    CHECK(method.error_class() == ErrorClass::exact);
    CHECK(method.stated_error() == 0);
  }
  method.replay = ReplayMethod::shared_rounds;
  CHECK(method.error_class() == ErrorClass::approximate);
  CHECK(method.fidelity() == Fidelity::fast);
}

}  // namespace lockstep::tests
