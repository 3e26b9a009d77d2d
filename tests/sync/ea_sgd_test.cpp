#include "engine/sync/ea_sgd.hpp"

#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/sma.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {
namespace {

using Floats = std::vector<float>;

EaSgdOptions elastic(int workers, double alpha, int tau = 1) {
  return {workers, alpha, 0, tau};
}

}  // namespace

// The table uses alpha = 1/4, gamma = 1/2; its columns are e1 e2 | w1 w2 | z, from 1:
//   gradients 1 -3:   0      0     | 0.5    2.5   | 1
//   gradients 1  2:  -0.125  0.375 | 0.125  1.125 | 1.25
// then worker 2 alone, gradient 2: e = 0.25 (1.125 - 1.25) = -0.03125, w2 = 1.125 + 0.03125 - 1, z = 1.25 - 0.03125
TEST_CASE("Two synchronous and one asynchronous EA-SGD step, by hand") {
  HostVectorOps ops;
  const std::vector<std::vector<float>> table{{1, -3}, {1, 2}, {0, 2}};
  EaSgd ea_sgd(ops, plain_layout(1), {1}, elastic(2, 0.25));
  ea_sgd.step(0.5, from_table(table));
  CHECK(ea_sgd.worker(0).to_host()[0] == 0.5F);
  CHECK(ea_sgd.worker(1).to_host()[0] == 2.5F);
  CHECK(ea_sgd.center().to_host()[0] == 1);
  ea_sgd.step(0.5, from_table(table));
  CHECK(ea_sgd.worker(0).to_host()[0] == 0.125F);
  CHECK(ea_sgd.worker(1).to_host()[0] == 1.125F);
  CHECK(ea_sgd.center().to_host()[0] == 1.25F);
  ea_sgd.async_step(1, 0.5, from_table(table));
  CHECK(ea_sgd.worker(0).to_host()[0] == 0.125F);
  CHECK(ea_sgd.worker(1).to_host()[0] == 0.15625F);
  CHECK(ea_sgd.center().to_host()[0] == 1.21875F);
}

// With learning rate 0 only the elastic force acts, equal and opposite on worker and centre.
TEST_CASE("An exchange leaves worker + centre as they were, and alpha 1/2 makes them meet") {
  HostVectorOps ops;
  Quadratic quadratic(5, 1, 1, 1);
  EaSgd ea_sgd(ops, plain_layout(5), Floats(5, 2), elastic(2, 0.5));
  for (int t = 0; t < 3; ++t) ea_sgd.step(0.1, quadratic.gradient());
  const Floats worker = ea_sgd.worker(1).to_host();
  const Floats center = ea_sgd.center().to_host();
  ea_sgd.async_step(1, 0, quadratic.gradient());
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(ea_sgd.worker(1).to_host()[i] + ea_sgd.center().to_host()[i] == Approx(worker[i] + center[i]));
    CHECK(ea_sgd.worker(1).to_host()[i] == Approx(ea_sgd.center().to_host()[i]));
  }
}

TEST_CASE("EA-SGD is SMA without momentum at the same alpha and tau") {
  for (const int tau : {1, 2, 5}) {
    HostVectorOps ops;
    Quadratic quadratic(5, 1, 1, 1);
    EaSgd ea_sgd(ops, plain_layout(5), Floats(5, 2), elastic(4, 0.2, tau));
    SmaOptions options;
    options.learners_per_gpu = 4;
    options.alpha = 0.2;
    options.momentum = 0;
    options.tau = tau;
    Sma sma(ops, plain_layout(5), Floats(5, 2), options);
    for (int t = 0; t < 40; ++t) {
      ea_sgd.step(0.1, quadratic.gradient());
      sma.step(0.1, quadratic.gradient());
    }
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(ea_sgd.center().to_host()[i] == Approx(sma.average().to_host()[i]).epsilon(1e-4));
    }
  }
}

TEST_CASE("Asynchronous workers of different speed take the centre to the optimum, every tau-th step of their own") {
  HostVectorOps ops;
  Quadratic quadratic(4, 1, 1);
  EaSgd ea_sgd(ops, plain_layout(4), Floats(4, 5), elastic(3, 0.5, 2));
  ea_sgd.async_step(0, 0.1, quadratic.gradient());
  CHECK(ea_sgd.center().to_host() == Floats(4, 5));  // the first of two steps: no exchange
  for (int t = 0; t < 600; ++t) ea_sgd.async_step(t % 6 < 3 ? 0 : (t % 6 < 5 ? 1 : 2), 0.1, quadratic.gradient());
  CHECK(mean_square(ea_sgd.center().to_host(), 1) < 1e-8);
}

TEST_CASE("EA-SGD: alpha is 0.9 / workers by default, bad options are refused") {
  HostVectorOps ops;
  CHECK(EaSgd(ops, plain_layout(1), {1}, {3, {}, 0, 1}).alpha() == Approx(0.3));
  CHECK_THROWS_WITH(EaSgd(ops, plain_layout(1), {1}, elastic(2, 2)), "EA-SGD: alpha must be in [0, 1]");
  CHECK_THROWS_WITH(EaSgd(ops, plain_layout(1), {1}, elastic(2, 0.5, 0)), "EA-SGD: tau must be at least 1");
}

}  // namespace lockstep::sync
