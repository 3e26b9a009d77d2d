// One training iteration of every model of the zoo on the host: the whole way through a backend's replica and an
// update. Models of a hundred million parameters and more are left to `train` itself: drawing them takes longer than
// the test.
#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/device/backend.hpp"
#include "tests/catch.hpp"

namespace lockstep::train {
namespace {

constexpr std::int64_t kMostParameters = 30'000'000;
constexpr int kBatch = 2;

/// The model on the smallest of some image sizes that it accepts.
model::Graph small_graph(const std::string& name) {
  const model::Graph original = model::zoo_graph(name);
  for (const int size : {32, 64, 96, 128}) {
    if (size >= original.input.height) break;
    Json json = model::to_json(original);
    json["input"] = {original.input.channels, size, size};
    try {
      return model::graph_from_json(JsonDocument::parse(json.dump(), name).root());
    } catch (const InputError&) {
    }
  }
  return original;
}

}  // namespace

// A step against the gradient that should take a thousandth off the loss takes some off it.
TEST_CASE("Models of the zoo learn from one iteration on the host") {
  int run = 0;
  const auto backend = device::make_host_backend(1, 0);
  for (const std::string& name : model::zoo_names()) {
    const model::Graph graph = small_graph(name);
    const std::int64_t n = graph.parameter_count();
    if (n > kMostParameters) continue;
    ++run;
    INFO(name << " with images of " << graph.input.height << " x " << graph.input.width);
    device::ReplicaOptions options;
    options.batch = kBatch;
    const auto replica = backend->make_replica(graph, options);
    std::vector<float> images(static_cast<std::size_t>(graph.input.elements() * kBatch));
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(random_normal(1, 2, i));
    const std::vector<std::int32_t> labels = {1, 3};
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
  CHECK(run >= 8);
}

}  // namespace lockstep::train
