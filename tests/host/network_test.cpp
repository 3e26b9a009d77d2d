// Whole networks: training works, any number of threads gives the same bits, the zoo runs.
#include <cmath>

#include "engine/base/text.hpp"
#include "engine/host/gemm.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::host {
namespace {

using model::GraphBuilder;

TEST_CASE("The same bits with any number of threads") {
  const int batch = GENERATE(1, 11);
  for (const char* name : {"lenet_crossbow", "resnet32_crossbow", "cifar10_quick"}) {
    INFO(name << " at batch " << batch);
    Subject<float> one(model::zoo_graph(name), batch, 1);
    Subject<float> three(model::zoo_graph(name), batch, 3);
    CHECK(one.network.parameters() == three.network.parameters());
    CHECK(one.loss_and_gradients() == three.loss_and_gradients());
    CHECK(one.network.gradients() == three.network.gradients());
    CHECK(one.network.running_statistics() == three.network.running_statistics());
  }
}

TEST_CASE("A small network learns 20 random images by heart") {
  GraphBuilder net("tiny", "tiny", {1, 8, 8});
  int at = net.relu("relu1", net.batch_norm("bn", net.conv("conv", 0, 8, square(3, 1, 1), false)));
  at = net.relu("relu2", net.fc("fc1", net.max_pool("pool", at, square(2, 2)), 32));
  net.softmax("loss", net.fc("fc2", at, 10));
  Subject<float> subject(net.finish(), 20, 2);
  float loss = 0;
  for (int step = 0; step < 300; ++step) {
    loss = subject.loss_and_gradients();
    subject.network.parameters() -= 0.1F * subject.network.gradients();
  }
  CHECK(loss < 0.01F);
  CHECK(subject.network.correct(subject.images.data(), subject.labels.data()) >= 19);
}

TEST_CASE("The AVX2 build of the products agrees with the generic one") {
  Subject<float> subject(model::zoo_graph("lenet_crossbow"), 8, 1);
  subject.loss_and_gradients();
  const Vector<float> fast = subject.network.gradients();
  use_generic_gemm(true);
  subject.loss_and_gradients();
  use_generic_gemm(false);
  CHECK((fast - subject.network.gradients()).norm() < 1e-5F * fast.norm());
}

TEST_CASE("Weights start with He's variance before a ReLU") {
  const model::Graph graph = model::zoo_graph("lenet_crossbow");
  Network<float> network(graph, 1);
  network.initialise(1);
  int fc1 = 0;
  while (graph.layers[fc1].name != "fc1") ++fc1;
  const std::int64_t count = graph.layers[fc1].parameters[0].elements;
  const Vector<float> weights = network.parameters().segment(network.offset(fc1, 0), count);
  CHECK(weights.squaredNorm() / static_cast<float>(count) == Approx(2.0 / 1024).epsilon(0.01));
  CHECK(network.parameters().segment(network.offset(fc1, 1), 1024).isZero(0));
}

TEST_CASE("A graph that cannot run is refused") {
  GraphBuilder middle("m", "m", {4, 1, 1});
  middle.fc("fc", middle.softmax("s", 0), 2);
  CHECK_THROWS_WITH((Network<float>(middle.finish(), 1)), "model \"m\", layer \"fc\": reads the softmax layer \"s\"");
  GraphBuilder tail("t", "t", {4, 1, 1});
  tail.softmax("s", 0);
  tail.fc("fc", 0, 2);
  CHECK_THROWS_WITH((Network<float>(tail.finish(), 1)), "model \"t\": its last layer is no softmax layer, others are");
  Subject<float> subject(model::zoo_graph("lenet_crossbow"), 1);
  const int label = 10;
  CHECK_THROWS_AS(subject.network.loss_and_gradients(subject.images.data(), &label), std::invalid_argument);
}

// Left out for their time: seconds to draw the VGGs' 140 million parameters, and the deepest networks.
TEST_CASE("Networks of the zoo run forward and backward") {
  for (const std::string& name : model::trainable_names()) {
    const model::Graph& graph = model::zoo_graph(name);
    if (graph.parameter_count() > 70'000'000 || graph.macs() > 6'500'000'000) continue;
    INFO(name);
    Subject<float> subject(graph, 1, 2);
    CHECK(std::isfinite(subject.loss_and_gradients()));
    CHECK(subject.network.gradients().allFinite());
    CHECK(subject.network.gradients().squaredNorm() > 0);
  }
}

}  // namespace
}  // namespace lockstep::host
