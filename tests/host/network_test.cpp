// Whole networks: training works, results have the same bits with any number of threads, and the zoo runs.
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

Vector<float> gradients_of(const model::Graph& graph, int batch, Level level, bool onednn) {
  const Build build(level, onednn);
  Subject<float> subject(graph, batch, 2);
  subject.loss_and_gradients();
  return subject.network.gradients();
}

TEST_CASE("All builds of the hot code agree, and oneDNN with them") {
  for (const char* name : {"lenet_crossbow", "resnet32_crossbow", "cifar10_quick"}) {
    const model::Graph graph = model::zoo_graph(name);
    const Vector<float> expected = gradients_of(graph, 5, Level::any, false);
    for (const Level level : levels_here())
      for (const bool onednn : {false, true}) {
        INFO(name << " " << to_string(level) << (onednn ? " oneDNN" : ""));
        CHECK((gradients_of(graph, 5, level, onednn) - expected).norm() < 1e-4F * expected.norm());
      }
  }
}

// Strides, windows of any shape, uneven padding that is cut off, groups, no bias, one output read twice, and batches
// that the parts do not divide. The reference is in double precision, whose gradients finite differences check.
TEST_CASE("Convolutions of single precision, by oneDNN where it is there, are those of double") {
  const int batch = GENERATE(1, 3, 8, 13);
  for (int variant = 0; variant < 6; ++variant) {
    GraphBuilder net("small", "small", {6, 23, 17});
    model::Window window = square(3, 1, 1);
    if (variant == 1) window = square(3, 2, 0);
    if (variant == 2) window.kernel_h = 1, window.kernel_w = 5, window.pad_top = window.pad_bottom = 0;
    if (variant == 3) window.groups = 3;
    if (variant == 4) window.pad_top = 2, window.pad_right = 0;
    if (variant == 5) window = square(5, 2, 2), window.groups = 6;
    const int first = net.conv("first", 0, 6, square(3, 1, 1), true);
    const int left = net.relu("relu", net.conv("left", first, 12, window, variant % 2 == 0));
    const int right = net.conv("right", first, 12, window, true);
    net.softmax("loss", net.fc("fc", net.add("add", {left, right}), 7));
    const model::Graph graph = net.finish();
    Subject<float> single(graph, batch, 2);
    Subject<double> twice(graph, batch, 2);
    single.loss_and_gradients();
    twice.loss_and_gradients();
    const Vector<double> gradients = single.network.gradients().cast<double>();
    INFO("batch " << batch << " variant " << variant);
    CHECK((gradients - twice.network.gradients()).norm() < 2e-5 * twice.network.gradients().norm());
  }
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

// Omitted because of their time: the VGGs, whose 140 million parameters take seconds to draw, and the deepest networks.
TEST_CASE("Networks of the zoo run forward and backward") {
  for (const std::string& name : model::trainable_names()) {
    const model::Graph& graph = model::zoo_graph(name);
    if (graph.parameter_count() > 70'000'000 || graph.macs() > 4'000'000'000) continue;
    INFO(name);
    Subject<float> subject(graph, 1, 2);
    CHECK(std::isfinite(subject.loss_and_gradients()));
    CHECK(subject.network.gradients().allFinite());
    CHECK(subject.network.gradients().squaredNorm() > 0);
  }
}

}  // namespace
}  // namespace lockstep::host
