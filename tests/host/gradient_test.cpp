// Compares gradients with central finite differences in double precision. A convolution before the layer under test
// tests its input gradient, too, and not only that of its parameters.
#include <cmath>
#include <functional>

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::host {
namespace {

using model::Graph;
using model::GraphBuilder;

double error_of(const std::function<int(GraphBuilder&, int)>& layers, model::Shape input = {2, 7, 6}, int batch = 3) {
  GraphBuilder net("small", "small", input);
  const int first = net.conv("first", 0, 4, square(3, 1, 1), true);
  net.softmax("loss", net.fc("last", layers(net, first), 5));
  return gradient_error(net.finish(), batch);
}

constexpr double kTolerance = 1e-6;

TEST_CASE("Gradient of convolution and fully-connected layers") {
  model::Window odd;
  odd.kernel_h = 3;
  odd.kernel_w = 2;
  odd.stride_w = 2;
  odd.pad_top = 2;
  odd.pad_right = 1;
  model::Window grouped = square(3, 2, 1);
  grouped.groups = 2;
  CHECK(error_of([](GraphBuilder&, int at) { return at; }) < kTolerance);
  CHECK(error_of([&](GraphBuilder& net, int at) { return net.conv("c", at, 3, odd, true); }) < kTolerance);
  CHECK(error_of([&](GraphBuilder& net, int at) { return net.conv("c", at, 6, grouped, false); }) < kTolerance);
  CHECK(error_of([](GraphBuilder& net, int at) { return net.conv("c", at, 3, square(1), true); }) < kTolerance);
  CHECK(error_of([](GraphBuilder& net, int at) { return net.fc("f", at, 9, false); }) < kTolerance);
}

TEST_CASE("Gradient of a convolution whose products span images and slots") {
  const auto twice = [](GraphBuilder& net, int at) { return net.conv("c", at, 3, square(3, 2), true); };
  CHECK(error_of(twice, {2, 5, 5}, 21) < kTolerance);
}

TEST_CASE("Gradient of activations and normalisation") {
  CHECK(error_of([](GraphBuilder& net, int at) { return net.relu("l", at); }) < kTolerance);
  CHECK(error_of([](GraphBuilder& net, int at) { return net.dropout("l", at); }) < kTolerance);
  CHECK(error_of([](GraphBuilder& net, int at) { return net.batch_norm("l", at); }) < kTolerance);
  CHECK(error_of([](GraphBuilder& net, int at) { return net.lrn("l", at); }, {3, 4, 4}) < kTolerance);
}

TEST_CASE("Gradient of pooling") {
  model::Window ceil = square(3, 2);
  ceil.ceil = true;
  for (const model::Window& window : {square(2, 2), square(3, 2, 1), square(3, 1, 1), ceil}) {
    CHECK(error_of([&](GraphBuilder& net, int at) { return net.max_pool("l", at, window); }) < kTolerance);
    CHECK(error_of([&](GraphBuilder& net, int at) { return net.avg_pool("l", at, window); }) < kTolerance);
  }
  CHECK(error_of([](GraphBuilder& net, int at) { return net.max_pool("l", at, square(2, 2)); }, {2, 6, 6}) <
        kTolerance);
  CHECK(error_of([](GraphBuilder& net, int at) { return net.global_avg_pool("l", at); }) < kTolerance);
}

TEST_CASE("Gradient of joins, with outputs read several times") {
  const auto residual = [](GraphBuilder& net, int at) {
    const int a = net.conv("a", at, 4, square(3, 1, 1), false);
    return net.add("sum", {net.relu("relu", a), at, a});
  };
  const auto branches = [](GraphBuilder& net, int at) {
    const int a = net.conv("a", at, 2, square(1), true);
    const int b = net.max_pool("b", at, square(3, 1, 1));
    return net.concat("join", {a, b, at});
  };
  const auto shortcut = [](GraphBuilder& net, int at) {
    return net.add("sum", {net.conv("a", at, 6, square(3, 2, 1), false), net.subsample("s", at, 6, 2)});
  };
  CHECK(error_of(residual) < kTolerance);
  CHECK(error_of(branches) < kTolerance);
  CHECK(error_of(shortcut) < kTolerance);
  CHECK(error_of([](GraphBuilder& net, int at) { return net.add("twice", {at, at}); }) < kTolerance);
}

TEST_CASE("Gradient with an auxiliary head") {
  const auto heads = [](GraphBuilder& net, int at) {
    net.softmax("aux", net.fc("aux/fc", at, 5));
    return net.relu("relu", at);
  };
  CHECK(error_of(heads) < kTolerance);
}

// Tests random directions, with a step so small that hardly any ReLU or maximum changes.
double worst_slope_error(const Graph& graph) {
  Subject<double> subject(graph, 2, 2);
  subject.loss_and_gradients();
  const Vector<double> gradients = subject.network.gradients();
  double worst = 0;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const std::vector<double> noise = random_values<double>(gradients.size(), 10 + k);
    const Vector<double> random = Eigen::Map<const Vector<double>>(noise.data(), gradients.size()).normalized();
    const Vector<double> direction = (random + gradients.normalized()).normalized();  // no slope near 0
    const double exact = gradients.dot(direction);
    worst = std::max(worst, std::abs(subject.slope(direction, 1e-6) - exact) / std::abs(exact));
  }
  return worst;
}

TEST_CASE("Gradients of whole networks along random directions") {
  CHECK(worst_slope_error(model::zoo_graph("lenet_crossbow")) < 1e-6);
  CHECK(worst_slope_error(model::zoo_graph("resnet32_crossbow")) < 1e-6);
}

}  // namespace
}  // namespace lockstep::host
