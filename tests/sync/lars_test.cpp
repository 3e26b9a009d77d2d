#include "engine/sync/lars.hpp"

#include <cmath>

#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/s_sgd.hpp"
#include "engine/sync/update.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {
namespace {

using Floats = std::vector<float>;

/// Returns weights 3, 4 and bias 2 after one step with a scaled gradient.
Floats after_step(const UpdateOptions& options, const Floats& gradient, double learning_rate = 1) {
  HostVectorOps ops;
  SSgd s_sgd(ops, make_layout({{0, 2, true}, {2, 1, false}}), {3, 4, 2}, 1, options);
  s_sgd.step(learning_rate, [&](int, const float*, std::int64_t) { return gradient.data(); });
  return s_sgd.parameters(0).to_host();
}

}  // namespace

// |w| = 5, |g| = 0.5: r = 0.1 * 5 / (0.5 + 0.1 * 5) = 0.5. w - 0.5 (g + 0.1 w) = 3 - 0.5 * 0.3, 4 - 0.5 * 0.9.
// The bias takes its gradient as it is: 2 - 1.
TEST_CASE("A LARS step by hand, biases are neither adapted nor decayed") {
  const Floats w = after_step({0, 0.1, LarsOptions{0.1, 0}}, {0, 0.5F, 1});
  CHECK(w[0] == Approx(2.85));
  CHECK(w[1] == Approx(3.55));
  CHECK(w[2] == Approx(1));
}

TEST_CASE("The trust ratio: formula, epsilon, and 1 where a norm is 0") {
  CHECK(trust_ratio({0.1, 0}, 5, 0.5, 0.1) == Approx(0.5));
  CHECK(trust_ratio({0.1, 1}, 5, 0.5, 0.1) == Approx(0.25));
  CHECK(trust_ratio({0.1, 0}, 0, 0.5, 0.1) == 1);
  CHECK(trust_ratio({0.1, 0}, 5, 0, 0.1) == 1);
}

// Without decay |step| = gamma eta |w| = 0.001 * 5, whatever the scale of the gradient.
TEST_CASE("A LARS step does not depend on the scale of the gradient") {
  for (const float scale : {1e-6F, 1.0F, 1e6F}) {
    const Floats w = after_step({0, 0, LarsOptions{}}, {3 * scale, -4 * scale, 0});
    CHECK(std::hypot(w[0] - 3, w[1] - 4) == Approx(0.005).epsilon(1e-3));
    CHECK(w[0] == Approx(3 - 0.003).epsilon(1e-5));
    CHECK(w[1] == Approx(4 + 0.004).epsilon(1e-5));
  }
}

TEST_CASE("LARS options out of range are refused") {
  CHECK_THROWS_WITH(check({0.9, 0, LarsOptions{0, 0}}), "update: the LARS coefficient must be positive");
  CHECK_THROWS_WITH(check({0.9, 0, LarsOptions{1, -1}}), "update: the LARS epsilon must not be negative");
  CHECK_THROWS_WITH(check({0.9, -1, {}}), "update: weight decay must not be negative");
}

}  // namespace lockstep::sync
