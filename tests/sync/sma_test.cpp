#include "engine/sync/sma.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/s_sgd.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {
namespace {

using Floats = std::vector<float>;

SmaOptions learners(int k, double momentum) {
  SmaOptions options;
  options.learners_per_gpu = k;
  options.momentum = momentum;
  return options;
}

double total(const DeviceVector& x) {
  const Floats host = x.to_host();
  return std::accumulate(host.begin(), host.end(), 0.0);
}

/// Sum over the elements of z, of the references besides it, and of all replicas.
double total_of_models(const Sma& sma, const SmaOptions& options) {
  double sum = total(sma.average());
  if (options.averaging == Averaging::kReferencePerGpu) {
    for (int p = 1; p < options.gpus; ++p) sum += total(sma.reference(p));
  }
  for (int j = 0; j < sma.learners(); ++j) sum += total(sma.replica(j));
  return sum;
}

/// Variance of z around the optimum 1 in the steady state of a noisy quadratic.
double variance_of_average(int k) {
  HostVectorOps ops;
  const std::int64_t n = 64;
  Quadratic quadratic(n, 1, 1, 1);
  Sma sma(ops, plain_layout(n), Floats(n, 1), learners(k, 0));
  double sum = 0;
  for (int t = 0; t < 400; ++t) {
    sma.step(0.1, quadratic.gradient());
    if (t >= 100) sum += mean_square(sma.average().to_host(), 1);
  }
  return sum / 300;
}

}  // namespace

// The table uses alpha = 1/2, gamma = 1/2, mu = 1/2; its columns are c1 c2 | w1 w2 | z, from w1 = w2 = z = z_prev = 1:
//   gradients  1 -1:   0       0      |  0.5     1.5    | 1
//   gradients  2  1:  -0.25    0.25   | -0.25    0.75   | 1 + 0 + 0.5 (1 - 1)           = 1
//   gradients  0  0:  -0.625  -0.125  |  0.375   0.875  | 1 - 0.75 + 0.5 (1 - 1)        = 0.25
//   gradients  0  0:   0.0625  0.3125 |  0.3125  0.5625 | 0.25 + 0.375 + 0.5 (0.25 - 1) = 0.25
TEST_CASE("Four iterations of SMA with two learners, by hand") {
  HostVectorOps ops;
  const std::vector<std::vector<float>> table{{1, -1}, {2, 1}, {0, 0}, {0, 0}};
  const std::vector<Floats> expected{
      {0.5F, 1.5F, 1}, {-0.25F, 0.75F, 1}, {0.375F, 0.875F, 0.25F}, {0.3125F, 0.5625F, 0.25F}};
  Sma sma(ops, plain_layout(1), {1}, learners(2, 0.5));
  for (const Floats& row : expected) {
    sma.step(0.5, from_table(table));
    CHECK(sma.replica(0).to_host()[0] == row[0]);
    CHECK(sma.replica(1).to_host()[0] == row[1]);
    CHECK(sma.average().to_host()[0] == row[2]);
  }
}

// Without corrections the update of a replica is plain SGD: alpha = 0 in every iteration, tau = kNever by definition.
TEST_CASE("One SMA learner without corrections is plain SGD") {
  for (const bool never : {false, true}) {
    HostVectorOps ops;
    Quadratic quadratic(5, 1, 1, 0.3);
    SmaOptions options = learners(1, 0.9);
    options.weight_decay = 0.01;
    if (never) options.tau = kNever;
    if (!never) options.alpha = 0;
    Sma sma(ops, plain_layout(5), Floats(5, 4), options);
    SSgd sgd(ops, plain_layout(5), Floats(5, 4), 1, {0, 0.01, {}});
    for (int t = 0; t < 50; ++t) {
      sma.step(0.1, quadratic.gradient());
      sgd.step(0.1, quadratic.gradient());
      for (int i = 0; i < 5; ++i) {
        CHECK(sma.replica(0).to_host().at(i) == Approx(sgd.parameters(0).to_host().at(i)).epsilon(1e-5));
      }
    }
    CHECK(sma.average().to_host() == Floats(5, 4));
  }
}

// w' = z - g(w), z' = w: w(t+1) = w(t-1) - g(w(t)). From an error of 1 the error e = w - optimum is 1, 0.5, 0.75, ...
// with e(t+1) = e(t-1) - 0.5 e(t), whose roots (-1 +- sqrt(17)) / 4 are 0.78 and -1.28: it diverges.
TEST_CASE("One SMA learner with alpha 1 and no momentum is a leapfrog, and diverges, momentum 0.9 converges") {
  HostVectorOps ops;
  Quadratic quadratic(1, 1, 0);
  Sma leapfrog(ops, plain_layout(1), {1}, learners(1, 0));
  Sma with_momentum(ops, plain_layout(1), {1}, learners(1, 0.9));
  double before = 1;  // w(-1) = z(0) = w(0)
  double now = 1;
  for (int t = 0; t < 60; ++t) {
    const double next = before - 0.5 * now;
    leapfrog.step(0.5, quadratic.gradient());
    CHECK(leapfrog.replica(0).to_host()[0] == Approx(next).epsilon(1e-4));
    before = now;
    now = next;
  }
  CHECK(std::abs(now) > 1000);
  for (int t = 0; t < 600; ++t) with_momentum.step(0.5, quadratic.gradient());
  CHECK(std::abs(with_momentum.average().to_host()[0]) < 1e-3);
}

TEST_CASE("z receives what the corrections take: only gradients change z + sum w without momentum") {
  for (const Averaging averaging : {Averaging::kOneAverage, Averaging::kReferencePerGpu}) {
    HostVectorOps ops;
    Quadratic quadratic(6, 1, 1, 1);
    const GradientFunction gradient = quadratic.gradient();
    SmaOptions options = learners(3, 0);
    options.gpus = averaging == Averaging::kOneAverage ? 1 : 3;
    options.averaging = averaging;
    Sma sma(ops, plain_layout(6), Floats(6, 2), options);
    for (int t = 0; t < 20; ++t) {
      double gradients = 0;
      const double z = total(sma.average());
      const double models = total_of_models(sma, options);
      sma.step(0.1, [&](int j, const float* w, std::int64_t step) {
        const float* g = gradient(j, w, step);
        for (int i = 0; i < 6; ++i) gradients += g[i];
        return g;
      });
      CHECK(total(sma.average()) - z == Approx(total(sma.corrections())).margin(1e-4));
      CHECK(total_of_models(sma, options) - models == Approx(-0.1 * gradients).margin(2e-4));
    }
  }
}

TEST_CASE("Learners agree with z, and z with the optimum, once the noise ends") {
  for (const int k : {1, 2, 4, 8}) {
    for (const Averaging averaging : {Averaging::kOneAverage, Averaging::kReferencePerGpu}) {
      for (const int gpus : {1, 2, 4}) {
        INFO("learners per GPU " << k << ", GPUs " << gpus);
        HostVectorOps ops;
        Quadratic quadratic(4, 1, 1, 1);
        SmaOptions options = learners(k, 0.9);
        options.averaging = averaging;
        options.gpus = gpus;
        Sma sma(ops, plain_layout(4), Floats(4, 5), options);
        for (int t = 0; t < 1500; ++t) {
          if (t == 50) quadratic.set_noise(0);
          sma.step(0.1, quadratic.gradient());
        }
        CHECK(mean_square(sma.average().to_host(), 1) < 1e-8);
        for (int p = 0; p < gpus; ++p) CHECK(mean_square(sma.reference(p).to_host(), 1) < 1e-8);
        for (int j = 0; j < sma.learners(); ++j) CHECK(mean_square(sma.replica(j).to_host(), 1) < 1e-8);
      }
    }
  }
}

TEST_CASE("The variance of z falls with the number of learners") {
  const double two = variance_of_average(2);
  const double four = variance_of_average(4);
  const double eight = variance_of_average(8);
  CHECK(four < 0.75 * two);
  CHECK(eight < 0.75 * four);
}

// The same corrections in another order of summation; every GPU computes its copy of z from the same numbers.
TEST_CASE("One average model over two GPUs is Alg. 1 over all learners") {
  HostVectorOps ops;
  Quadratic quadratic(9, 1, 1, 1);
  SmaOptions options = learners(2, 0.9);
  options.gpus = 2;
  Sma two_gpus(ops, plain_layout(9), Floats(9, 3), options);
  Sma one_gpu(ops, plain_layout(9), Floats(9, 3), learners(4, 0.9));
  for (int t = 0; t < 50; ++t) {
    two_gpus.step(0.1, quadratic.gradient());
    one_gpu.step(0.1, quadratic.gradient());
  }
  CHECK(two_gpus.reference(1).to_host() == two_gpus.average().to_host());
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(two_gpus.average().to_host()[i] == Approx(one_gpu.average().to_host()[i]).margin(1e-4));
  }
}

// Two GPUs, one learner each: alpha = 1 / (1 + 2 - 1) = 1/2; no momentum; gamma = 1/2; all start at 1.
//   gradients 1, -1: c = 0; w = 0.5, 1.5; r1 = z = 1.
//   gradients 0, 0:  c0 = 0.5 (0.5 - 1) = -0.25, c1 = 0.25; w = 0.75, 1.25; r1 = 1 + 0.25 - 0 = 1.25; z = 1 - 0.25
//   gradients 0, 0:  c0 = 0.5 (0.75 - 0.75) = 0, c1 = 0.5 (1.25 - 1.25) = 0, pull = 0.5 (1.25 - 0.75) = 0.25;
//                    r1 = 1.25 - 0.25 = 1, z = 0.75 + 0.25 = 1
TEST_CASE("Reference models of two GPUs, by hand") {
  HostVectorOps ops;
  SmaOptions options = learners(1, 0);
  options.gpus = 2;
  options.averaging = Averaging::kReferencePerGpu;
  Sma sma(ops, plain_layout(1), {1}, options);
  CHECK(sma.alpha() == 0.5);
  const std::vector<std::vector<float>> table{{1, -1}, {0, 0}, {0, 0}};
  const std::vector<Floats> expected{{0.5F, 1.5F, 1, 1}, {0.75F, 1.25F, 1.25F, 0.75F}, {0.75F, 1.25F, 1, 1}};
  for (const Floats& row : expected) {
    sma.step(0.5, from_table(table));
    CHECK(sma.replica(0).to_host()[0] == row[0]);
    CHECK(sma.replica(1).to_host()[0] == row[1]);
    CHECK(sma.reference(1).to_host()[0] == row[2]);
    CHECK(sma.average().to_host()[0] == row[3]);
  }
}

TEST_CASE("A lower learning rate restarts the averaging from z: replicas and momentum are reset") {
  HostVectorOps ops;
  Quadratic quadratic(3, 1, 0, 1);
  const GradientFunction gradient = quadratic.gradient();
  Sma sma(ops, plain_layout(3), Floats(3, 5), learners(2, 0.9));
  for (int t = 0; t < 10; ++t) sma.step(0.1, gradient);
  const Floats z = sma.average().to_host();
  REQUIRE(sma.replica(0).to_host() != z);
  sma.step(0.01, [&](int j, const float* w, std::int64_t step) {
    CHECK(Floats(w, w + 3) == z);
    return gradient(j, w, step);
  });
  CHECK(sma.restarts() == 1);
  CHECK(sma.average().to_host() == z);  // no differences yet, and no momentum left
}

TEST_CASE("Rising and gradually falling learning rates do not restart") {
  HostVectorOps ops;
  Quadratic quadratic(3, 1, 0, 1);
  Sma sma(ops, plain_layout(3), Floats(3, 5), learners(2, 0.9));
  for (int t = 0; t < 100; ++t) sma.step(0.001 * (t + 1), quadratic.gradient());
  for (int t = 0; t < 90; ++t) sma.step(0.1 - 0.001 * t, quadratic.gradient());
  CHECK(sma.restarts() == 0);
}

TEST_CASE("tau 3: plain SGD for two iterations, then a synchronisation, never: independent learners") {
  HostVectorOps ops;
  Quadratic quadratic(3, 1, 0, 1);
  for (const int tau : {3, kNever}) {
    SmaOptions options = learners(2, 0.9);
    options.tau = tau;
    Sma sma(ops, plain_layout(3), Floats(3, 5), options);
    Sma alone(ops, plain_layout(3), Floats(3, 5), options);
    for (int t = 0; t < 6; ++t) {
      const Floats z = sma.average().to_host();
      sma.step(0.1, quadratic.gradient());
      const bool synchronised = tau != kNever && t % 3 == 2;
      CHECK((sma.average().to_host() != z) == synchronised);
      // Learner 1 of another run, where learner 0 does something else, tells whether they are independent.
      const GradientFunction gradient = quadratic.gradient();
      alone.step(0.1, [&](int j, const float* w, std::int64_t step) { return gradient(j, w, j == 0 ? 1000 : step); });
      const bool affected = tau != kNever && t >= 5;  // z of iteration 2 enters the corrections of iteration 5
      CHECK((sma.replica(1).to_host() != alone.replica(1).to_host()) == affected);
    }
  }
}

TEST_CASE("Learners come as copies of the average model and go, alpha follows their number") {
  HostVectorOps ops;
  Quadratic quadratic(3, 1, 0, 1);
  SmaOptions options = learners(1, 0.9);
  options.gpus = 2;
  Sma sma(ops, plain_layout(3), Floats(3, 5), options);
  for (int t = 0; t < 5; ++t) sma.step(0.1, quadratic.gradient());
  sma.add_learner(0);
  CHECK(sma.learners() == 3);
  CHECK(sma.learners_on(0) == 2);
  CHECK(sma.alpha() == Approx(1.0 / 3));
  CHECK(sma.replica(2).to_host() == sma.average().to_host());
  sma.step(0.1, quadratic.gradient());
  const Floats first = sma.replica(0).to_host();
  sma.remove_learner(0);
  CHECK(sma.learners_on(0) == 1);
  CHECK(sma.replica(0).to_host() == first);
  CHECK_THROWS_AS(sma.remove_learner(0), std::invalid_argument);
}

TEST_CASE("SMA refuses what makes no sense") {
  HostVectorOps ops;
  SmaOptions options = learners(0, 0.9);
  CHECK_THROWS_WITH(Sma(ops, plain_layout(1), {1}, options), "SMA: at least one learner per GPU");
  options = learners(1, 1);
  CHECK_THROWS_WITH(Sma(ops, plain_layout(1), {1}, options), "SMA: momentum must be in [0, 1)");
  options = learners(1, 0.9);
  options.alpha = 1.5;
  CHECK_THROWS_WITH(Sma(ops, plain_layout(1), {1}, options), "SMA: alpha must be in [0, 1]");
  CHECK_THROWS_WITH(Sma(ops, plain_layout(2), {1}, learners(1, 0)), "SMA: initial model of the wrong size");
}

}  // namespace lockstep::sync
