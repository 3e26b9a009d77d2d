#include "engine/data/batch_order.hpp"

#include <algorithm>
#include <thread>

#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::data {
namespace {

std::vector<Sample> joined(const BatchOrder& order, std::int64_t iterations, int learners, std::int64_t batch_size) {
  std::vector<Sample> all;
  for (std::int64_t t = 0; t < iterations; ++t) {
    for (int j = 0; j < learners; ++j) {
      const std::vector<Sample> part = order.batch(t, j, learners, batch_size);
      REQUIRE(part.size() == static_cast<std::size_t>(batch_size));
      all.insert(all.end(), part.begin(), part.end());
    }
  }
  return all;
}

TEST_CASE("Every epoch is a permutation of its own, decided by seed and epoch") {
  for (const std::int64_t count : {1, 2, 3, 10, 1000}) {
    const BatchOrder order(count, 5);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::uint32_t> sorted = order.permutation(epoch);
      std::sort(sorted.begin(), sorted.end());
      REQUIRE(sorted.size() == static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == i);
    }
  }
  const BatchOrder order(1000, 5);
  CHECK(order.permutation(0) != order.permutation(1));
  CHECK(order.permutation(7) == BatchOrder(1000, 5).permutation(7));
  CHECK(order.permutation(7) != BatchOrder(1000, 6).permutation(7));
}

TEST_CASE("All permutations are about equally likely") {
  int counts[3][3] = {};  // [element][position]
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::vector<std::uint32_t> order = BatchOrder(3, seed).permutation(0);
    for (std::size_t i = 0; i < 3; ++i) ++counts[order[i]][i];
  }
  for (const auto& row : counts) {
    for (const int count : row) CHECK(std::abs(count - 1000) < 130);  // 5 standard deviations of 26
  }
}

TEST_CASE("Learners' batches are disjoint and cover an epoch") {
  const BatchOrder order(96, 1);
  std::vector<bool> seen(96);
  for (const Sample& sample : joined(order, order.iterations_per_epoch(4, 8), 4, 8)) {
    CHECK(sample.epoch == 0);
    REQUIRE(!seen[static_cast<std::size_t>(sample.index)]);
    seen[static_cast<std::size_t>(sample.index)] = true;
  }
  CHECK(std::count(seen.begin(), seen.end(), true) == 96);
}

TEST_CASE("The sequence does not depend on the number of learners") {
  const BatchOrder order(50, 9);  // 240 samples: the epoch's end falls inside batches
  const std::vector<Sample> one = joined(order, 10, 1, 24);
  CHECK(joined(order, 10, 2, 12) == one);
  CHECK(joined(order, 10, 8, 3) == one);
  CHECK(joined(order, 20, 4, 3) == one);
  CHECK(order.samples(0, 240) == one);
}

TEST_CASE("A batch goes on into the next epoch") {
  const BatchOrder order(5, 2);
  const std::vector<Sample> samples = order.samples(3, 4);
  const std::vector<std::uint32_t> first = order.permutation(0);
  const std::vector<std::uint32_t> second = order.permutation(1);
  CHECK(samples == std::vector<Sample>{{first[3], 0}, {first[4], 0}, {second[0], 1}, {second[1], 1}});
  CHECK(order.samples(0, 26).back().epoch == 5);
  CHECK(order.samples(3, 4) == samples);  // epoch 0 again, after later ones
  CHECK(order.iterations_per_epoch(2, 2) == 2);
  CHECK(order.iterations_per_epoch(1, 5) == 1);
}

TEST_CASE("Threads may ask at the same time") {
  const BatchOrder order(100, 4);
  std::vector<std::vector<Sample>> parts(4);
  std::vector<std::thread> threads;
  for (int j = 0; j < 4; ++j) {
    threads.emplace_back([&order, &parts, j] {
      for (std::int64_t t = 0; t < 100; ++t) parts[static_cast<std::size_t>(j)] = order.batch(t, j, 4, 16);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int j = 0; j < 4; ++j) CHECK(parts[static_cast<std::size_t>(j)] == BatchOrder(100, 4).batch(99, j, 4, 16));
}

TEST_CASE("An order of nothing and learners outside their number are refused") {
  CHECK(error_of([] { BatchOrder(0, 1); }) == "batch order: 0 images; expected 1 to 4294967296");
  CHECK(error_of([] { BatchOrder(9, 1).batch(0, 2, 2, 1); }) == "batch order: learner 2 of 2");
  CHECK(error_of([] { BatchOrder(9, 1).samples(-1, 2); }) == "batch order: negative position or size");
  CHECK(error_of([] { BatchOrder(9, 1).iterations_per_epoch(0, 2); }) ==
        "batch order: expected at least 1 learner and batch size 1");
}

}  // namespace
}  // namespace lockstep::data
