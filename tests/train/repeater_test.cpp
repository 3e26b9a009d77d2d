// Work that repeats in parallel with timed work: it has started when start() returns, and ended when stop() returns.
#include "engine/device/repeater.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "engine/device/backend.hpp"
#include "tests/catch.hpp"

namespace lockstep::device {

TEST_CASE("A repeater has begun when start returns and leaves nothing under way when stop does") {
  int rounds = 0, settled = 0;
  Repeater repeater([&] { ++rounds; }, [&] { ++settled; });
  for (int time = 1; time <= 3; ++time) {
    repeater.start();
    CHECK(repeater.rounds() >= 1);
    repeater.stop();
    const int before = rounds;
    CHECK(settled == time);
    CHECK(rounds == before);
  }
  repeater.stop();
  CHECK(settled == 3);
}

TEST_CASE("Repeaters whose rounds meet stop after the same one, when all have been asked to") {
  // Two of them take rounds in step; each round counts who wants no more.
  std::mutex mutex;
  std::condition_variable met;
  int here = 0, enough = 0, of_last = 0, meetings = 0;
  const auto meet = [&](bool is_wanted) {
    std::unique_lock<std::mutex> lock(mutex);
    enough += !is_wanted;
    const int meeting = meetings;
    if (++here == 2) {
      of_last = enough;
      here = enough = 0;
      ++meetings;
      met.notify_all();
    }
    met.wait(lock, [&] { return meetings > meeting; });
    return of_last < 2;
  };
  Repeater first(meet), second(meet);
  std::thread other([&] { second.start(); });
  first.start();
  other.join();
  std::thread stops([&] { first.stop(); });
  const std::int64_t before = second.rounds();
  while (second.rounds() < before + 3) std::this_thread::yield();  // one alone does not stop
  second.stop();
  stops.join();
  CHECK(first.rounds() == second.rounds());
  CHECK(meetings == first.rounds() + 1);
}

TEST_CASE("What a repeater's round throws comes out where it is started or stopped") {
  Repeater at_once([] { throw std::runtime_error("no memory"); });
  CHECK_THROWS_WITH(at_once.start(), "no memory");
  std::atomic<bool> fails{false}, has_failed{false};
  Repeater later([&] {
    if (!fails) return;
    has_failed = true;
    throw std::runtime_error("later");
  });
  later.start();
  fails = true;
  while (!has_failed) std::this_thread::yield();
  CHECK_THROWS_WITH(later.stop(), "later");
}

TEST_CASE("The host copies in two directions at once, and sums beside other work where it has two devices") {
  const auto backend = make_host_backend(2, 2);
  sync::VectorOps& ops = backend->ops();
  const std::int64_t n = 1000;
  sync::DeviceVector a(ops, n, 0), b(ops, n, 1), into_a(ops, n, 0), into_b(ops, n, 1);
  const std::vector<float> ones(n, 1), twos(n, 2);
  ops.upload(n, ones.data(), a.data());
  ops.upload(n, twos.data(), b.data());
  backend->copy_at_once({{a.data(), 0, into_b.data(), 1, n}, {b.data(), 1, into_a.data(), 0, n}});
  CHECK(into_b.to_host() == ones);
  CHECK(into_a.to_host() == twos);
  CHECK_THROWS_AS(backend->copy_at_once({{a.data(), 0, into_b.data(), 2, n}}), std::invalid_argument);
  CHECK(backend->allocate_pinned(4) == nullptr);
  CHECK_FALSE(backend->recorded(0, [] {}));

  const auto sums = backend->repeat_sums(n);
  REQUIRE(sums);
  sums->start();
  ops.copy(n, a.data(), into_a.data());
  sums->stop();
  CHECK(into_a.to_host() == ones);
  CHECK(make_host_backend(1, 1)->repeat_sums(n) == nullptr);
}

}  // namespace lockstep::device
