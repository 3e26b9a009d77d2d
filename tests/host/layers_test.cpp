// Compares forward passes of single layers with a naive convolution, and with numbers worked by hand.
#include <cmath>

#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::host {
namespace {

using model::GraphBuilder;
using model::Shape;
using model::Window;

std::vector<double> run(const model::Graph& graph, int batch, const std::vector<double>& images,
                        bool training = false) {
  Network<double> network(graph, batch);
  network.initialise(1);
  network.forward(images.data(), training);
  return {network.output().data(), network.output().data() + network.output().size()};
}

int draw(int lowest, int highest, std::uint64_t stream, std::uint64_t index) {
  return lowest + static_cast<int>(random_bits(5, stream, index) % (highest - lowest + 1));
}

/// Computes one output of a convolution by its definition.
double naive(const model::Layer& layer, const double* image, const double* weight, double bias, int k, int p, int q) {
  const Window& w = layer.window;
  const int group_in = layer.in.channels / w.groups;
  const int group = k / (layer.out.channels / w.groups);
  double sum = bias;
  for (int c = 0; c < group_in; ++c) {
    for (int r = 0; r < w.kernel_h; ++r) {
      for (int s = 0; s < w.kernel_w; ++s) {
        const int y = p * w.stride_h - w.pad_top + r;
        const int x = q * w.stride_w - w.pad_left + s;
        if (y < 0 || y >= layer.in.height || x < 0 || x >= layer.in.width) continue;
        sum += weight[((k * group_in + c) * w.kernel_h + r) * w.kernel_w + s] *
               image[((group * group_in + c) * layer.in.height + y) * layer.in.width + x];
      }
    }
  }
  return sum;
}

double convolution_error(std::uint64_t trial) {
  Window w;
  w.kernel_h = draw(1, 5, trial, 0);
  w.kernel_w = draw(1, 5, trial, 1);
  w.stride_h = draw(1, 3, trial, 2);
  w.stride_w = draw(1, 3, trial, 3);
  w.pad_top = draw(0, 4, trial, 4);
  w.pad_bottom = draw(0, 4, trial, 5);
  w.pad_left = draw(0, 4, trial, 6);
  w.pad_right = draw(0, 4, trial, 7);
  w.groups = draw(1, 3, trial, 8);
  const int batch = draw(1, 20, trial, 9);
  const Shape in{w.groups * draw(1, 3, trial, 10), draw(5, 12, trial, 11), draw(5, 12, trial, 12)};
  GraphBuilder net("c", "c", in);
  net.conv("conv", 0, w.groups * draw(1, 4, trial, 13), w, true);
  Subject<double> subject(net.finish(), batch, 2);
  subject.network.parameters().setRandom();
  subject.network.forward(subject.images.data(), false);
  const model::Layer& layer = subject.network.graph().layers[1];
  const double* result = subject.network.output().data();
  const double* weight = subject.network.parameters().data();
  const double* bias = weight + subject.network.offset(1, 1);
  double worst = 0;
  for (int image = 0; image < batch; ++image) {
    const double* pixels = subject.images.data() + image * in.elements();
    for (int k = 0; k < layer.out.channels; ++k) {
      for (int p = 0; p < layer.out.height; ++p) {
        for (int q = 0; q < layer.out.width; ++q) {
          worst = std::max(worst, std::abs(*result++ - naive(layer, pixels, weight, bias[k], k, p, q)));
        }
      }
    }
  }
  return worst;
}

TEST_CASE("Convolution agrees with its definition on random shapes") {
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    INFO("trial " << trial);
    CHECK(convolution_error(trial) < 1e-12);
  }
}

std::vector<double> pool(Shape in, Window window, bool maximum, const std::vector<double>& image) {
  GraphBuilder net("p", "p", in);
  if (maximum)
    net.max_pool("pool", 0, window);
  else
    net.avg_pool("pool", 0, window);
  return run(net.finish(), 1, image);
}

TEST_CASE("Pooling rounds up by clipping the last window") {
  Window window = square(2, 2);
  window.ceil = true;
  const std::vector<double> image{1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(pool({1, 3, 3}, window, true, image) == std::vector<double>{5, 6, 8, 9});
  CHECK(pool({1, 3, 3}, window, false, image) == std::vector<double>{3, 4.5, 7.5, 9});
  window.ceil = false;
  CHECK(pool({1, 3, 3}, window, true, image) == std::vector<double>{5});
}

TEST_CASE("Padding takes no part in pooling") {
  const std::vector<double> image{-1, -2, -3, -4};
  CHECK(pool({1, 2, 2}, square(2, 2, 1), true, image) == image);
  CHECK(pool({1, 2, 2}, square(2, 2, 1), false, image) == image);
  CHECK(pool({1, 2, 2}, square(3, 1, 1), false, image) == std::vector<double>{-2.5, -2.5, -2.5, -2.5});
}

TEST_CASE("Pooling in halves keeps channels apart") {
  CHECK(pool({2, 2, 4}, square(2, 2), true, {1, 5, 2, 2, 3, 4, 2, 9, -1, -2, -3, -4, -5, -6, -7, -8}) ==
        std::vector<double>{5, 9, -1, -3});
}

TEST_CASE("Batch norm: statistics of the batch, running statistics, evaluation") {
  GraphBuilder builder("bn", "bn", {1, 1, 2});
  builder.batch_norm("bn", 0);
  Network<double> network(builder.finish(), 2);
  network.initialise(1);
  network.parameters() << 2, 10;
  const std::vector<double> images{1, 3, 5, 7};  // mean 4, variance 5, unbiased 20 / 3
  network.forward(images.data(), true);
  for (int i = 0; i < 4; ++i) CHECK(network.output()[i] == Approx(10 + 2 * (images[i] - 4) / std::sqrt(5 + 1e-5)));
  CHECK(network.running_statistics()[0] == Approx(0.4));
  CHECK(network.running_statistics()[1] == Approx(0.9 + 0.1 * 20 / 3));
  network.running_statistics() << 1, 4;
  network.forward(images.data(), false);
  for (int i = 0; i < 4; ++i) CHECK(network.output()[i] == Approx(10 + 2 * (images[i] - 1) / std::sqrt(4 + 1e-5)));
  CHECK(network.running_statistics()[0] == 1);
}

TEST_CASE("Local response: neighbours at most two channels away") {
  GraphBuilder net("lrn", "lrn", {4, 1, 1});
  net.lrn("lrn", 0);
  const std::vector<double> y = run(net.finish(), 1, {100, 200, 300, 400});
  CHECK(y[0] == Approx(100 / std::pow(2 + 1e-4 * (1e4 + 4e4 + 9e4), 0.75)));
  CHECK(y[3] == Approx(400 / std::pow(2 + 1e-4 * (4e4 + 9e4 + 16e4), 0.75)));
}

TEST_CASE("Softmax cross-entropy by hand, the auxiliary head at 0.3") {
  GraphBuilder net("s", "s", {2, 1, 1});
  net.softmax("aux", 0);
  net.softmax("loss", 0);
  Network<double> network(net.finish(), 2);
  const std::vector<double> images{0, std::log(3.0), 1000, 0};
  const std::vector<int> labels{0, 1};
  network.forward(images.data(), true);
  CHECK(network.loss(labels.data()) == Approx(1.3 * (std::log(4.0) + 1000) / 2));
  CHECK(network.correct(images.data(), labels.data()) == 0);
  const std::vector<int> right{1, 0};
  CHECK(network.correct(images.data(), right.data()) == 2);
}

TEST_CASE("Add, concat and subsample put values where they belong") {
  GraphBuilder sum("a", "a", {1, 1, 2});
  sum.add("add", {sum.relu("relu", 0), 0});
  CHECK(run(sum.finish(), 2, {1, -2, -3, 4}) == std::vector<double>{2, -2, -3, 8});
  GraphBuilder join("c", "c", {1, 1, 2});
  join.concat("join", {0, join.relu("relu", 0)});
  CHECK(run(join.finish(), 2, {1, -2, -3, 4}) == std::vector<double>{1, -2, 1, 0, -3, 4, 0, 4});
  GraphBuilder skip("s", "s", {1, 3, 3});
  skip.subsample("skip", 0, 2, 2);
  CHECK(run(skip.finish(), 1, {1, 2, 3, 4, 5, 6, 7, 8, 9}) == std::vector<double>{1, 3, 7, 9, 0, 0, 0, 0});
}

TEST_CASE("Dropout keeps half, doubled, afresh each step, and nothing changes in evaluation") {
  GraphBuilder builder("d", "d", {1, 100, 100});
  builder.dropout("drop", 0);
  Network<double> network(builder.finish(), 2);
  network.initialise(3);
  const std::vector<double> ones(20000, 1.0);
  network.forward(ones.data(), true);
  const Vector<double> first = network.output();
  CHECK(((first.array() == 0) || (first.array() == 2)).all());
  CHECK(first.mean() == Approx(1).margin(0.03));  // 4 standard deviations
  CHECK(first.head(10000) != first.tail(10000));
  network.forward(ones.data(), true);
  CHECK(network.output() != first);
  network.set_step(0);
  network.forward(ones.data(), true);
  CHECK(network.output() == first);
  network.forward(ones.data(), false);
  CHECK((network.output().array() == 1).all());
}

}  // namespace
}  // namespace lockstep::host
