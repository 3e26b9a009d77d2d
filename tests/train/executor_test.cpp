#include "engine/device/executor.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/catch.hpp"

using lockstep::device::Executor;

TEST_CASE("All work handed to an executor is done once when it has been waited for, with any number of threads") {
  for (const int threads : {1, 2, 4}) {
    Executor executor(threads);
    for (const int pieces : {0, 1, 2, 3, 100}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(pieces));
      for (std::atomic<int>& one : done) executor.submit([&one] { ++one; });
      executor.wait();
      for (const std::atomic<int>& one : done) CHECK(one == 1);
    }
  }
}

TEST_CASE("Two pieces of work that wait for each other run side by side on two threads") {
  Executor executor(2);
  std::atomic<int> arrived{0};
  const auto meet = [&arrived] {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  };
  executor.submit(meet);
  executor.submit(meet);
  executor.wait();
  CHECK(arrived == 2);
}

TEST_CASE("One thread does the work in the order in which it was handed in") {
  Executor executor(1);
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) executor.submit([&order, i] { order.push_back(i); });
  executor.wait();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("An exception of any piece reaches the one who waits, once, and the other pieces are done") {
  for (const int threads : {1, 2}) {
    Executor executor(threads);
    std::atomic<int> done{0};
    executor.submit([&done] { ++done; });
    executor.submit([] { throw std::runtime_error("of the work"); });
    executor.submit([&done] { ++done; });
    CHECK_THROWS_WITH(executor.wait(), "of the work");
    CHECK(done == 2);
    CHECK_NOTHROW(executor.wait());
  }
}

TEST_CASE("Work that nobody has waited for is done when the executor goes") {
  std::atomic<int> done{0};
  {
    Executor executor(2);
    for (int i = 0; i < 3; ++i) executor.submit([&done] { ++done; });
  }
  CHECK(done == 3);
}
