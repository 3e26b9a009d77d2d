#include "sim/point/method.hpp"

#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

using namespace lockstep::sim;

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
