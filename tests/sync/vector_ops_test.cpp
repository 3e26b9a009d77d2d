#include <stdexcept>

#include "engine/sync/host_vector_ops.hpp"
#include "engine/sync/moving_average.hpp"
#include "tests/catch.hpp"

namespace lockstep::sync {
namespace {

using Floats = std::vector<float>;

DeviceVector device(VectorOps& ops, const Floats& values) {
  DeviceVector x(ops, static_cast<std::int64_t>(values.size()));
  ops.upload(x.size(), values.data(), x.data());
  return x;
}

}  // namespace

TEST_CASE("Copy, scale, axpy, dot, norms, average and sum of small vectors") {
  HostVectorOps ops;
  DeviceVector x = device(ops, {3, 4, -2});
  DeviceVector y = device(ops, {1, 1, 2});
  CHECK(ops.dot(3, x.data(), y.data()) == 3);
  CHECK(ops.norms(make_layout({{0, 2, true}, {2, 1, false}}), x.data()) == std::vector<double>{5, 2});
  ops.axpy(3, 2, y.data(), x.data());
  CHECK(x.to_host() == Floats{5, 6, 2});
  ops.scale(3, 0.5, x.data());
  CHECK(x.to_host() == Floats{2.5F, 3, 1});
  DeviceVector mean(ops, 3);
  CHECK(mean.to_host() == Floats{0, 0, 0});
  ops.average(3, {x.data(), y.data()}, mean.data());
  CHECK(mean.to_host() == Floats{1.75F, 2, 1.5F});
  ops.sum_all(3, {x.data(), y.data()});
  CHECK(x.to_host() == Floats{3.5F, 4, 3});
  CHECK(y.to_host() == x.to_host());
}

// One pass over blocks must be what the list of simple operations makes, bit by bit, in blocks that end unevenly too.
TEST_CASE("The mean of all buffers is the same in every output and the one of copies, a sum and a scaling") {
  HostVectorOps ops;
  for (const std::int64_t n : {1, 5, 2047, 2048, 2049, 10000}) {
    for (const int buffers : {1, 2, 3}) {
      std::vector<DeviceVector> inputs, blocks, steps;
      for (int j = 0; j < buffers; ++j) {
        Floats values(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = 0.1F * static_cast<float>((7 * i + 3 * static_cast<std::size_t>(j)) % 101) - 4;
        inputs.push_back(device(ops, values));
        blocks.emplace_back(ops, n);
        steps.emplace_back(ops, n);
      }
      std::vector<const float*> from;
      std::vector<float*> by_blocks, by_steps;
      for (int j = 0; j < buffers; ++j) {
        const auto at = static_cast<std::size_t>(j);
        from.push_back(inputs[at].data());
        by_blocks.push_back(blocks[at].data());
        by_steps.push_back(steps[at].data());
      }
      ops.average_all(n, from, by_blocks);
      ops.VectorOps::average_all(n, from, by_steps);
      for (int j = 0; j < buffers; ++j) {
        CHECK(blocks[static_cast<std::size_t>(j)].to_host() == steps.front().to_host());
        CHECK(steps[static_cast<std::size_t>(j)].to_host() == steps.front().to_host());
      }
    }
  }
  // (3 + 4 + 2) / 3 by hand.
  DeviceVector a = device(ops, {3}), b = device(ops, {4}), c = device(ops, {2});
  DeviceVector x(ops, 1), y(ops, 1), z(ops, 1);
  ops.average_all(1, {a.data(), b.data(), c.data()}, {x.data(), y.data(), z.data()});
  CHECK(z.to_host() == Floats{3});
  CHECK_THROWS(ops.average_all(1, {a.data(), b.data()}, {x.data()}));
}

TEST_CASE("Dot products of a million floats do not lose the small ones") {
  HostVectorOps ops;
  const std::int64_t n = 1 << 20;
  const DeviceVector x = device(ops, Floats(n, 0.1F));
  CHECK(ops.dot(n, x.data(), x.data()) == Approx(static_cast<double>(0.1F) * 0.1F * n).epsilon(1e-10));
}

// Weights have g + 0.5 w = 1 + 1 = 2, v = 0.5 * 4 - 0.25 * 2 = 1.5, w = 3.5. The bias has g = 1, v = 2 - 0.25 = 1.75, w
// = 3.75.
TEST_CASE("Momentum update by hand, biases do not decay") {
  HostVectorOps ops;
  const Layout layout = make_layout({{0, 1, true}, {1, 1, false}});
  const DeviceVector g = device(ops, {1, 1});
  DeviceVector v = device(ops, {4, 4});
  DeviceVector w = device(ops, {2, 2});
  ops.momentum_update(layout, {0.25, 0.5, 0.5}, g.data(), v.data(), w.data());
  CHECK(v.to_host() == Floats{1.5F, 1.75F});
  CHECK(w.to_host() == Floats{3.5F, 3.75F});
  ops.sgd_update(layout, 0.5, 1, g.data(), w.data());  // 3.5 - 0.5 (1 + 3.5); 3.75 - 0.5
  CHECK(w.to_host() == Floats{1.25F, 3.25F});
}

TEST_CASE("Layouts must cover the buffer without gap, overlap or empty segment") {
  CHECK_THROWS_AS(make_layout({}), std::invalid_argument);
  CHECK_THROWS_AS(make_layout({{1, 2, true}}), std::invalid_argument);
  CHECK_THROWS_AS(make_layout({{0, 2, true}, {3, 1, true}}), std::invalid_argument);
  CHECK_THROWS_AS(make_layout({{0, 2, true}, {1, 2, true}}), std::invalid_argument);
  CHECK_THROWS_WITH(make_layout({{0, 0, true}}), "layout: a segment is empty");
  CHECK(plain_layout(7).count == 7);
}

// 0.75 * 4 + 0.25 * 8 = 5; 0.75 * 5 + 0.25 * 8 = 5.75
TEST_CASE("Moving average by hand") {
  HostVectorOps ops;
  MovingAverage average(ops, device(ops, {4}), 0.75);
  const DeviceVector w = device(ops, {8});
  average.add(w);
  CHECK(average.value().to_host() == Floats{5});
  average.add(w);
  CHECK(average.value().to_host() == Floats{5.75F});
}

}  // namespace lockstep::sync
