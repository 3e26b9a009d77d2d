// Activation memory that the learners of a device share.
#include "engine/device/backend.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::device {

// Eight learners and an evaluation on two threads: never more than two concurrent passes.
TEST_CASE("Learners of the host share as many arenas as threads compute") {
  const model::Graph graph = model::zoo_graph("lenet_crossbow");
  const auto backend = make_host_backend(1, 2);
  const std::vector<float> parameters = initial_parameters(graph, 1);
  const std::vector<float> images = host::random_values<float>(graph.input.elements() * 20, 1);
  const std::vector<int> labels = host::random_labels(20, graph.layers.back().out.elements());
  ReplicaOptions options;
  options.batch = 4;
  options.learners = 8;
  std::vector<std::unique_ptr<Replica>> replicas;
  for (int j = 0; j < 8; ++j) replicas.push_back(backend->make_replica(graph, options));
  const host::Network<float> alone(graph, 4, 1);
  for (int pass = 0; pass < 5; ++pass) {
    for (const auto& replica : replicas) replica->gradient(parameters.data(), {images.data(), labels.data()}, 0);
    backend->synchronise();
    CHECK(backend->shared_bytes() <= 2 * alone.pass_bytes());
  }
  CHECK(replicas.front()->activation_bytes() == alone.activation_bytes());
  options.batch = 20;
  const auto evaluation = backend->make_replica(graph, options);
  evaluation->correct(parameters.data(), {images.data(), labels.data()}, 20);
  const host::Network<float> large(graph, 20, 1);
  CHECK(backend->shared_bytes() <= alone.pass_bytes() + large.pass_bytes());
  CHECK(backend->shared_bytes() >= large.pass_bytes());
}

}  // namespace lockstep::device
