// What the host backend offers to probes: layers timed one by one compute what a pass computes, collectives do what
// their names say.
#include <map>

#include "engine/data/augment.hpp"
#include "engine/data/synthetic.hpp"
#include "engine/device/backend.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::device;

namespace {

std::vector<float> gradient_of(Replica& replica, const model::Graph& graph, const float* parameters,
                               const data::Batch& batch, bool by_layer, std::vector<LayerTime>& times) {
  const HostBatch host{batch.images.data(), batch.labels.data()};
  const float* gradient = replica.gradient(parameters, host, 3);
  if (by_layer) times = replica.time_layers(parameters, host, 3);
  replica.loss();
  return {gradient, gradient + graph.parameter_count()};
}

data::Batch some_batch(const model::Graph& graph, int size) {
  const data::SyntheticImages images({graph.input.channels, graph.input.height, graph.input.width}, 10, size, 5);
  data::Batch batch;
  batch.images.resize(static_cast<std::size_t>(graph.input.elements() * size));
  for (int i = 0; i < size; ++i) {
    images.image(i, batch.images.data() + i * graph.input.elements());
    batch.labels.push_back(images.label(i));
  }
  return batch;
}

}  // namespace

TEST_CASE("layers timed one by one give the same gradient, to the last bit, and every part once") {
  const int batch = 6;
  for (const std::string name : {"lenet", "resnet32"}) {
    const model::Graph graph = model::zoo_graph(name);
    const auto backend = make_host_backend(1, 2);
    ReplicaOptions options;
    options.batch = batch;
    const auto replica = backend->make_replica(graph, options);
    const std::vector<float> parameters = initial_parameters(graph, 4);
    const data::Batch images = some_batch(graph, batch);
    std::vector<LayerTime> times;
    const std::vector<float> expected = gradient_of(*replica, graph, parameters.data(), images, false, times);
    replica->set_running_statistics(std::vector<float>(replica->running_statistics().size(), 1.0F));
    CHECK(gradient_of(*replica, graph, parameters.data(), images, true, times) == expected);

    std::map<std::pair<int, LayerPart>, int> count;
    for (const LayerTime& time : times) {
      ++count[{time.layer, time.part}];
      CHECK(time.seconds >= 0);
    }
    bool is_first_product = true;
    for (int i = 1; i < static_cast<int>(graph.layers.size()); ++i) {
      INFO(name << ", " << graph.layers[static_cast<std::size_t>(i)].name);
      const model::LayerKind kind = graph.layers[static_cast<std::size_t>(i)].kind;
      const bool is_product = kind == model::LayerKind::conv || kind == model::LayerKind::fc;
      CHECK(count[{i, LayerPart::forward}] == 1);
      CHECK(count[{i, LayerPart::backward_filter}] == (is_product ? 1 : 0));
      // The images need no gradient.
      CHECK(count[{i, LayerPart::backward_data}] == (is_product && !is_first_product ? 1 : 0));
      CHECK(count[{i, LayerPart::backward}] == (is_product ? 0 : 1));
      is_first_product = is_first_product && !is_product;
    }
  }
}

TEST_CASE("collectives of the host move and add what their names say") {
  // Three devices, six floats each: device d sends 10 d + i at place i. Sums over d: 30 + 3 i.
  const int devices = 3, n = 6;
  const auto backend = make_host_backend(devices, 2);
  std::vector<sync::DeviceVector> send, receive;
  for (int d = 0; d < devices; ++d) {
    send.emplace_back(backend->ops(), n, d);
    receive.emplace_back(backend->ops(), n, d);
    std::vector<float> values;
    for (int i = 0; i < n; ++i) values.push_back(static_cast<float>(10 * d + i));
    backend->ops().upload(n, values.data(), send.back().data());
  }
  const auto run = [&](Collective collective) {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (int d = 0; d < devices; ++d) {
      backend->ops().zero(n, receive[static_cast<std::size_t>(d)].data());
      from.push_back(send[static_cast<std::size_t>(d)].data());
      to.push_back(receive[static_cast<std::size_t>(d)].data());
    }
    backend->exchange(collective, Precision::fp32, n, from, to);
    std::vector<std::vector<float>> result;
    for (const sync::DeviceVector& vector : receive) result.push_back(vector.to_host());
    return result;
  };
  using Vector = std::vector<float>;
  const Vector sum{30, 33, 36, 39, 42, 45}, zeros(6, 0.0F), first{0, 1, 2, 3, 4, 5};
  CHECK(run(Collective::all_reduce) == std::vector<Vector>{sum, sum, sum});
  CHECK(run(Collective::reduce) == std::vector<Vector>{sum, zeros, zeros});
  CHECK(run(Collective::broadcast) == std::vector<Vector>{first, first, first});
  CHECK(run(Collective::reduce_scatter) ==
        std::vector<Vector>{{30, 33, 0, 0, 0, 0}, {36, 39, 0, 0, 0, 0}, {42, 45, 0, 0, 0, 0}});
  const Vector gathered{0, 1, 10, 11, 20, 21};
  CHECK(run(Collective::all_gather) == std::vector<Vector>{gathered, gathered, gathered});
  CHECK(run(Collective::all_to_all) ==
        std::vector<Vector>{{0, 1, 10, 11, 20, 21}, {2, 3, 12, 13, 22, 23}, {4, 5, 14, 15, 24, 25}});
  const std::vector<const void*> from{send[0].data(), send[1].data(), send[2].data()};
  const std::vector<void*> to{receive[0].data(), receive[1].data(), receive[2].data()};
  CHECK_THROWS_AS(backend->exchange(Collective::broadcast, Precision::fp32, 5, from, to), std::invalid_argument);
  CHECK_FALSE(backend->has_exchange(Precision::bf16));
  CHECK_THROWS_AS(backend->exchange(Collective::broadcast, Precision::bf16, 6, from, to), std::runtime_error);
  CHECK_THROWS_WITH(backend->set_gradient_wire(Precision::bf16), Contains("sent in fp32, not in bf16"));
}
