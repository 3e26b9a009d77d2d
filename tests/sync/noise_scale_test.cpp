// The gradient noise scale: laws on a quadratic whose gradient and covariance are known, then values by hand.
#include "engine/sync/noise_scale.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "engine/base/random.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/s_sgd.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"

namespace lockstep::sync {
namespace {

constexpr std::int64_t kCoordinates = 50;

/// A replica's gradient over `images` is `slope` + normal noise of variance `variance` / images in each coordinate:
/// |G|^2 = n slope^2 and S = n variance whatever the parameters are.
GradientFunction noisy_slope(double slope, double variance, int images, std::uint64_t seed,
                             std::map<int, std::vector<float>>& buffers) {
  return [=, &buffers](int learner, const float*, std::int64_t step) {
    std::vector<float>& g = buffers[learner];
    g.resize(kCoordinates);
    for (std::int64_t i = 0; i < kCoordinates; ++i) {
      const auto index = static_cast<std::uint64_t>(step * kCoordinates + i);
      const double noise = random_normal(seed, static_cast<std::uint64_t>(learner), index);
      g[static_cast<std::size_t>(i)] = static_cast<float>(slope + std::sqrt(variance / images) * noise);
    }
    return static_cast<const float*>(g.data());
  };
}

GradientNoise measured(double slope, double variance, int replicas, int images, int steps, std::uint64_t seed) {
  HostVectorOps ops;
  Processes processes;
  SSgd sgd(ops, plain_layout(kCoordinates), std::vector<float>(kCoordinates, 0), replicas);
  sgd.start_noise_meter(processes, images);
  std::map<int, std::vector<float>> buffers;
  const GradientFunction gradient = noisy_slope(slope, variance, images, seed, buffers);
  for (int t = 0; t < steps; ++t) sgd.step(0.01, gradient);
  return sgd.noise_meter()->mean();
}

struct NamedState final : StateVisitor {
  std::map<std::string, double> values;
  bool writes = true;
  void vector(const std::string&, DeviceVector&) override {}
  void integer(const std::string& name, std::int64_t& value) override {
    if (writes)
      values[name] = static_cast<double>(value);
    else
      value = static_cast<std::int64_t>(values.at(name));
  }
  void real(const std::string& name, double& value) override {
    writes ? values[name] = value : value = values.at(name);
  }
};

}  // namespace

TEST_CASE("The noise scale of a known gradient and covariance is inside its interval as often as it says") {
  const double expected = 4 / 0.25;  // S / |G|^2, per coordinate
  int inside = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    const GradientNoise noise = measured(0.5, 4, 3, 2, 70, 100 + static_cast<std::uint64_t>(run));
    const NoiseScale scale = noise_scale(noise);
    REQUIRE(scale.high);
    if (scale.low <= expected && expected <= *scale.high) ++inside;
  }
  CHECK(inside >= 0.72 * kRuns);  // 80 %, less 2.8 standard deviations
  CHECK(inside <= 0.88 * kRuns);
  const GradientNoise noise = measured(0.5, 4, 3, 2, 5000, 7);
  CHECK(noise.steps == 5000);
  CHECK(*noise_scale(noise).batch == Approx(expected).epsilon(0.05));
  CHECK(noise.gradient_square == Approx(kCoordinates * 0.25).epsilon(0.05));
  CHECK(noise.covariance_trace == Approx(kCoordinates * 4).epsilon(0.05));
}

TEST_CASE("The noise scale does not depend on the number of workers or their batch") {
  for (const auto& [replicas, images] : {std::pair{2, 1}, {2, 8}, {8, 1}, {5, 4}})
    CHECK(*noise_scale(measured(0.5, 4, replicas, images, 3000, 11)).batch == Approx(16).epsilon(0.1));
}

TEST_CASE("Equal gradients have a noise scale of 0") {
  const NoiseScale scale = noise_scale(measured(0.5, 0, 4, 2, 40, 1));
  CHECK(*scale.batch == Approx(0).margin(1e-6));
  CHECK(scale.low == Approx(0).margin(1e-6));
  CHECK(*scale.high == Approx(0).margin(1e-6));
}

TEST_CASE("A multiple of the loss leaves the noise scale and its interval as they are") {
  const NoiseScale one = noise_scale(measured(0.5, 4, 3, 2, 100, 5));
  const NoiseScale scaled = noise_scale(measured(0.5 * 8, 4 * 64, 3, 2, 100, 5));
  CHECK(*scaled.batch == Approx(*one.batch).epsilon(1e-5));
  CHECK(scaled.low == Approx(one.low).epsilon(1e-5));
  CHECK(*scaled.high == Approx(*one.high).epsilon(1e-5));
}

TEST_CASE("The order of the workers leaves the noise scale as it is") {
  HostVectorOps ops;
  Processes processes;
  const std::vector<float> a{1, 2}, b{3, -1}, c{0, 5}, mean{4.0F / 3, 2};
  NoiseMeter first(1, 3), second(1, 3);
  measure_noise(ops, processes, 2, {a.data(), b.data(), c.data()}, mean.data(), 3, first);
  measure_noise(ops, processes, 2, {c.data(), a.data(), b.data()}, mean.data(), 3, second);
  CHECK(first.mean().gradient_square == Approx(second.mean().gradient_square));
  CHECK(first.mean().covariance_trace == Approx(second.mean().covariance_trace));
}

// Without a gradient S / G2 has no upper bound: an interval that ended would be wrong half the time.
TEST_CASE("Noise without a gradient has no upper bound") {
  int bounded = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    bounded += noise_scale(measured(0, 4, 2, 2, 100, seed)).high.has_value() ? 1 : 0;
  CHECK(bounded <= 10);  // one in ten by the definition of the interval
}

// Gradients (3, 0) and (1, 2) over 4 images each: small = (9 + 5) / 2 = 7, mean (2, 1), large = 5.
// G2 = (8 * 5 - 4 * 7) / 4 = 3; S = (7 - 5) / (1/4 - 1/8) = 16; S / G2 = 16/3.
TEST_CASE("A noise scale by hand") {
  HostVectorOps ops;
  Processes processes;
  SSgd sgd(ops, plain_layout(2), {0, 0}, 2);
  sgd.start_noise_meter(processes, 4);
  const std::vector<std::vector<float>> gradients{{3, 0}, {1, 2}};
  sgd.step(0.1, [&](int j, const float*, std::int64_t) { return gradients[static_cast<std::size_t>(j)].data(); });
  const GradientNoise noise = sgd.noise_meter()->mean();
  CHECK(noise.gradient_square == Approx(3));
  CHECK(noise.covariance_trace == Approx(16));
  const NoiseScale scale = noise_scale(noise);
  CHECK(*scale.batch == Approx(16.0 / 3));
  CHECK_FALSE(scale.high);  // one step has no variance
  CHECK(scale.low == 0);
}

// Two blocks: G2 2 and 4, S 10 and 14: means 3 and 12, variances of the means 1 and 4, covariance 2.
TEST_CASE("The interval solves Fieller's equation") {
  NoiseMeter meter(1, 2);
  for (const auto& [g, s] : {std::pair{2.0, 10.0}, {4.0, 14.0}}) meter.add(g + s, g + s / 2);
  const GradientNoise noise = meter.mean();
  CHECK(noise.gradient_square_variance == Approx(1));
  CHECK(noise.covariance_trace_variance == Approx(4));
  CHECK(noise.shared_covariance == Approx(2));
  GradientNoise many = noise;
  many.blocks = 1000;  // t = 1.2824 for 80 %
  const NoiseScale scale = noise_scale(many);
  for (const double x : {scale.low, *scale.high}) {
    const double distance = 12 - 3 * x, variance = 4 - 2 * 2 * x + x * x;
    CHECK(distance * distance == Approx(1.2824 * 1.2824 * variance).epsilon(1e-3));
  }
  CHECK(scale.low < 4);
  CHECK(*scale.high > 4);
}

// At batch 100 iterations at 100 and 300 make 1/2 and 1/4 of the progress: (50 x 100 + 25 x 300) / 75.
TEST_CASE("The mean of stretches is weighted by progress, and undetermined if one of them is") {
  const NoiseStretch first{100, {100.0, 90, 120.0}}, second{100, {300.0, 240, 390.0}};
  const NoiseScale mean = mean_by_progress({first, second, {}}, 100);
  CHECK(*mean.batch == Approx(12500.0 / 75));
  CHECK(mean.low == Approx(12500.0 / 75 - std::hypot(50 * 10.0, 25 * 60.0) / 75));
  CHECK(*mean.high == Approx(12500.0 / 75 + std::hypot(50 * 20.0, 25 * 90.0) / 75));
  CHECK(*mean_by_progress({first, first}, 5).batch == Approx(100));
  const NoiseStretch open{100, {300.0, 240, std::nullopt}}, lost{100, {}};
  CHECK_FALSE(mean_by_progress({first, open}, 100).high);
  CHECK(mean_by_progress({first, open}, 100).batch);
  CHECK_FALSE(mean_by_progress({first, lost}, 100).batch);
  CHECK_FALSE(mean_by_progress({}, 100).batch);
}

TEST_CASE("Merged blocks keep the mean, also through a checkpoint") {
  NoiseMeter all(2, 4);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const double large = 1 + 0.1 * random_normal(3, 1, static_cast<std::uint64_t>(i));
    const double small = large + 0.5 + 0.1 * random_normal(3, 2, static_cast<std::uint64_t>(i));
    all.add(small, large);
    sum += (small - large) / (1.0 / 2 - 1.0 / 4);
  }
  const GradientNoise noise = all.mean();
  CHECK(noise.blocks == 31);  // of 32 iterations each, and 8 more
  CHECK(noise.covariance_trace == Approx(sum / 1000));
  CHECK(noise.covariance_trace_variance == Approx(std::pow(0.1 * 4, 2) / 1000).epsilon(0.6));
  NamedState state;
  all.visit_state(state);
  state.writes = false;
  NoiseMeter restored(2, 4);
  restored.visit_state(state);
  for (NoiseMeter* meter : {&all, &restored})
    for (int i = 0; i < 100; ++i) meter->add(2 + i, 1);
  CHECK(restored.mean().covariance_trace == all.mean().covariance_trace);
  CHECK(restored.mean().shared_covariance == all.mean().shared_covariance);
}

TEST_CASE("What is not finite is not measured, and wrong batches are refused") {
  NoiseMeter meter(1, 2);
  meter.add(1, std::numeric_limits<double>::infinity());
  CHECK(meter.mean().steps == 0);
  CHECK_FALSE(noise_scale(meter.mean()).batch);
  CHECK_THROWS_AS(NoiseMeter(2, 2), std::invalid_argument);
  HostVectorOps ops;
  Processes processes;
  SSgd single(ops, plain_layout(1), {0}, 1);
  CHECK_THROWS_AS(single.start_noise_meter(processes, 8), std::invalid_argument);
}

}  // namespace lockstep::sync
