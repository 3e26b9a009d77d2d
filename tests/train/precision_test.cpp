// Loss scaling by hand, and half precision as the host emulates it.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/loss_scale.hpp"
#include "engine/sync/s_sgd.hpp"
#include "engine/sync/sma.hpp"
#include "tests/catch.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

// S 8, doubling after 2 good steps, at most 16. good, good: 16; good, good: 16 (the most); overflow: 8; good, overflow:
// 4 (the count of good steps begins anew); good: 4; good: 8.
TEST_CASE("A loss scale by hand") {
  sync::LossScale scale({8, 2, 16});
  scale.count_good_step();
  CHECK(scale.value() == 8);
  scale.count_good_step();
  CHECK(scale.value() == 16);
  scale.count_good_step();
  scale.count_good_step();
  CHECK(scale.value() == 16);
  scale.overflow();
  CHECK(scale.value() == 8);
  scale.count_good_step();
  scale.overflow();
  CHECK(scale.value() == 4);
  scale.count_good_step();
  CHECK(scale.value() == 4);
  scale.count_good_step();
  CHECK(scale.value() == 8);
  CHECK(scale.overflows() == 2);
  for (int i = 0; i < 10; ++i) scale.overflow();
  CHECK(scale.value() == 1);
}

TEST_CASE("Wrong loss scales are refused") {
  CHECK_THROWS_AS(sync::LossScale({3, 2, 16}), std::invalid_argument);
  CHECK_THROWS_AS(sync::LossScale({0.5, 2, 16}), std::invalid_argument);
  CHECK_THROWS_AS(sync::LossScale({8, 0, 16}), std::invalid_argument);
  CHECK_THROWS_AS(sync::LossScale({8, 2, 4}), std::invalid_argument);
}

// The second of two learners overflows: nothing may have moved, and the next step must be as if there had been none.
TEST_CASE("A dropped step leaves the models as they were") {
  sync::HostVectorOps ops;
  const std::vector<float> initial{1, 2};
  const std::vector<float> slope{0.5F, -0.25F};
  const auto good = [&](int, const float*, std::int64_t) { return slope.data(); };
  const auto overflowing = [&](int learner, const float*, std::int64_t) {
    if (learner == 1) throw sync::GradientOverflow();
    return slope.data();
  };
  const auto check = [&](auto make, auto model) {
    auto dropped = make(), never = make();
    CHECK_THROWS_AS(dropped.step(0.1, overflowing), sync::GradientOverflow);
    CHECK(model(dropped) == initial);
    dropped.step(0.1, good);
    never.step(0.1, good);
    CHECK(model(dropped) == model(never));
    CHECK(dropped.iteration() == 1);
  };
  check([&] { return sync::SSgd(ops, sync::plain_layout(2), initial, 2); },
        [](const sync::SSgd& s) { return s.parameters(0).to_host(); });
  sync::SmaOptions two;
  two.learners_per_gpu = 2;
  check([&] { return sync::Sma(ops, sync::plain_layout(2), initial, two); },
        [](const sync::Sma& s) { return s.average().to_host(); });
}

struct OneReplica {
  explicit OneReplica(device::Precision precision, int threads = 1, int learners = 1)
      : document(JsonDocument::parse(small_model(""), "small")),
        graph(model::graph_from_json(document.root())),
        backend(device::make_host_backend(1, threads)),
        parameters(device::initial_parameters(graph, 3)) {
    device::ReplicaOptions options;
    options.batch = 4;
    options.precision = precision;
    options.learners = learners;
    replica = backend->make_replica(graph, options);
    for (int i = 0; i < 4 * 64; ++i) images.push_back(static_cast<float>(random_normal(5, 0, i)));
  }
  std::vector<float> gradient(double scale) {
    replica->set_loss_scale(scale);
    const std::vector<std::int32_t> labels{0, 1, 2, 3};
    const float* g = replica->gradient(parameters.data(), {images.data(), labels.data()}, 0);
    std::vector<float> result(parameters.size());
    backend->ops().download(static_cast<std::int64_t>(result.size()), g, result.data());
    return result;
  }

  JsonDocument document;
  model::Graph graph;
  std::unique_ptr<device::Backend> backend;
  std::vector<float> parameters;
  std::unique_ptr<device::Replica> replica;
  std::vector<float> images;
};

std::vector<float> rounded_to_half(std::vector<float> values) {
  for (float& value : values) value = static_cast<float>(static_cast<Eigen::half>(value));
  return values;
}

// Parameters rounded, the pass in float, each gradient rounded to 11 bits: relative 2^-11 of the exact pass.
TEST_CASE("Half precision rounds parameters before the pass and gradients after it") {
  OneReplica half(device::Precision::fp16), full(device::Precision::fp32);
  full.parameters = rounded_to_half(full.parameters);
  const std::vector<float> exact = full.gradient(1);
  const std::vector<float> rounded = half.gradient(1024);
  bool differs = false;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    CHECK(std::abs(rounded[i] - exact[i]) <= std::abs(exact[i]) / 2048 + 0x1p-25F / 1024);
    differs = differs || rounded[i] != exact[i];
    CHECK(rounded[i] * 1024 == static_cast<float>(static_cast<Eigen::half>(rounded[i] * 1024)));
  }
  CHECK(differs);
}

TEST_CASE("Scaling saves gradients that half precision would lose, and too much of it overflows") {
  OneReplica half(device::Precision::fp16);
  for (float& pixel : half.images) pixel *= 1e-7F;  // so are the gradients of the convolution's weights
  const auto zeros = [](const std::vector<float>& g) { return std::count(g.begin(), g.end(), 0.0F); };
  const std::vector<float> unscaled = half.gradient(1), scaled = half.gradient(4096);
  CHECK(zeros(scaled) < zeros(unscaled));
  const std::vector<float> overflowed = half.gradient(0x1p40);
  CHECK(std::any_of(overflowed.begin(), overflowed.end(), [](float g) { return std::isinf(g); }));
}

TEST_CASE("fp32 ignores the loss scale") {
  OneReplica full(device::Precision::fp32);
  CHECK(full.gradient(1) == full.gradient(65536));
}

TEST_CASE("Learners side by side give the gradients of a learner alone") {
  OneReplica alone(device::Precision::fp32), beside(device::Precision::fp32, 3, 2);
  CHECK(alone.gradient(1) == beside.gradient(1));
}

// fp32 would leave the tensor cores idle, which users do not expect unless they request it.
TEST_CASE("Where no precision is asked for the host has fp32, and CUDA TF32") {
  Request request;
  CHECK(resolve(request).precision == device::Precision::fp32);
  request.device = "cuda";
  CHECK(resolve(request).precision == device::Precision::tf32);
  for (const auto precision : {device::Precision::fp32, device::Precision::bf16, device::Precision::fp16}) {
    request.precision = device::to_string(precision);
    CHECK(resolve(request).precision == precision);
  }
}

TEST_CASE("The host has no TF32") {
  CHECK_THROWS_WITH(OneReplica(device::Precision::tf32),
                    "precision tf32: the host has no TF32; allowed: fp32, fp16, bf16 (emulated)");
}

TEST_CASE("The layout knows weights from biases and batch norm") {
  const JsonDocument document = JsonDocument::parse(small_model(R"({"name": "norm", "kind": "batch_norm"},)"), "small");
  const model::Graph graph = model::graph_from_json(document.root());
  const sync::Layout layout = device::layout_of(graph);
  CHECK(layout.count == graph.parameter_count());
  std::vector<std::pair<std::int64_t, bool>> segments;
  for (const sync::Segment& segment : layout.segments) segments.push_back({segment.count, segment.is_weight});
  const std::vector<std::pair<std::int64_t, bool>> expected{{54, true}, {6, false},  {6, false},
                                                            {6, false}, {384, true}, {4, false}};
  CHECK(segments == expected);
}

}  // namespace
}  // namespace lockstep::train
