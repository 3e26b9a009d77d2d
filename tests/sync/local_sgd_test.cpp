#include "engine/sync/local_sgd.hpp"

#include <stdexcept>

#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/s_sgd.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {

// Rate 0.5, momentum 0.5, from 1. Gradients 2 and 0: v = -1 and 0, w = 0 and 1. Then 2 and 2: v = -1.5 and -1,
// w = -1.5 and 0; their mean is -0.75. Then 0 and 0: v = -0.75 and -0.5, w = -1.5 and -1.25.
TEST_CASE("Three steps of local SGD with two replicas and tau 2, by hand") {
  HostVectorOps ops;
  LocalSgd local(ops, plain_layout(1), {1}, {2, 2}, {0.5, 0, {}});
  const std::vector<std::vector<float>> table{{2, 0}, {2, 2}, {0, 0}};
  const GradientFunction gradient = from_table(table);
  local.step(0.5, gradient);
  CHECK(local.parameters(0).to_host()[0] == 0);
  CHECK(local.parameters(1).to_host()[0] == 1);
  CHECK(local.average().to_host()[0] == 1);  // of the beginning
  local.step(0.5, gradient);
  for (int j : {0, 1}) CHECK(local.parameters(j).to_host()[0] == -0.75F);
  CHECK(local.average().to_host()[0] == -0.75F);
  local.step(0.5, gradient);
  CHECK(local.parameters(0).to_host()[0] == -1.5F);
  CHECK(local.parameters(1).to_host()[0] == -1.25F);
}

TEST_CASE("Local SGD with tau 1 and no momentum is S-SGD, to rounding") {
  HostVectorOps ops;
  Quadratic ours(11, 1, 0.5, 0.3), theirs(11, 1, 0.5, 0.3);
  LocalSgd local(ops, plain_layout(11), std::vector<float>(11, 2), {3, 1}, {0, 1e-3, {}});
  SSgd s_sgd(ops, plain_layout(11), std::vector<float>(11, 2), 3, {0, 1e-3, {}});
  for (int t = 0; t < 40; ++t) {
    local.step(0.1, ours.gradient());
    s_sgd.step(0.1, theirs.gradient());
  }
  const std::vector<float> a = local.average().to_host(), b = s_sgd.parameters(0).to_host();
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-5));
}

// Between averagings replicas drift apart by their own noise: of independent steps the variance adds up.
TEST_CASE("Replicas drift apart until they are averaged, and the farther the longer") {
  HostVectorOps ops;
  const auto drift = [&](int tau) {
    Quadratic quadratic(4000, 0.01, 0, 1);
    LocalSgd local(ops, plain_layout(4000), std::vector<float>(4000, 0), {2, tau}, {0, 0, {}});
    for (int t = 0; t + 1 < tau; ++t) local.step(0.1, quadratic.gradient());
    const std::vector<float> a = local.parameters(0).to_host(), b = local.parameters(1).to_host();
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / 4000;
  };
  CHECK(drift(1) == 0);
  CHECK(drift(5) == Approx(4 * 2 * 0.01).epsilon(0.2));
  CHECK(drift(17) == Approx(16 * 2 * 0.01).epsilon(0.2));
}

TEST_CASE("Local SGD refuses what makes no sense") {
  HostVectorOps ops;
  CHECK_THROWS_AS(LocalSgd(ops, plain_layout(2), {1, 1}, {0, 1}), std::invalid_argument);
  CHECK_THROWS_AS(LocalSgd(ops, plain_layout(2), {1, 1}, {1, 0}), std::invalid_argument);
  CHECK_THROWS_AS(LocalSgd(ops, plain_layout(2), {1}, {1, 1}), std::invalid_argument);
}

}  // namespace lockstep::sync
