// One training iteration of the zoo's small models on the host: the whole way through a backend's replica and an
// update. The others run the same way with `train --data synthetic`, but take from seconds to minutes.
#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/device/backend.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::train {
namespace {

constexpr int kMostPixels = 32;  // on a side
constexpr int kBatch = 4;

}  // namespace

// A step against the gradient that should lower the loss by a thousandth lowers it.
TEST_CASE("Small models of the zoo learn from one iteration on the host") {
  int run = 0;
  const auto backend = device::make_host_backend(1, 0);
  for (const std::string& name : model::trainable_names()) {
    const model::Graph graph = model::zoo_graph(name);
    if (graph.input.height > kMostPixels) continue;
    const std::int64_t n = graph.parameter_count();
    ++run;
    INFO(name);
    device::ReplicaOptions options;
    options.batch = kBatch;
    const auto replica = backend->make_replica(graph, options);
    std::vector<float> images(static_cast<std::size_t>(graph.input.elements() * kBatch));
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(random_normal(1, 2, i));
    const std::vector<std::int32_t> labels = {1, 3, 5, 7};
    sync::DeviceVector w(backend->ops(), n);
    backend->ops().upload(n, device::initial_parameters(graph, 1).data(), w.data());

    const float* gradient = replica->gradient(w.data(), {images.data(), labels.data()}, 0);
    const double before = replica->loss();
    CHECK(std::isfinite(before));
    CHECK(before > 0);
    const double square = backend->ops().dot(n, gradient, gradient);
    CHECK(std::isfinite(square));
    REQUIRE(square > 0);
    backend->ops().axpy(n, -1e-3 * before / square, gradient, w.data());
    replica->gradient(w.data(), {images.data(), labels.data()}, 0);
    CHECK(replica->loss() < before);
    CHECK(replica->correct(w.data(), {images.data(), labels.data()}, kBatch) >= 0);
  }
  CHECK(run >= 5);
}

}  // namespace lockstep::train
