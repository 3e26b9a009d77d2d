// Loops divided among threads: each task runs once, whether helpers are awake, asleep or too late.
#include "engine/host/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/catch.hpp"

namespace lockstep::host {

TEST_CASE("Every task of a loop runs once, and all of them before the loop ends") {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    std::vector<int> runs(40), of_worker(static_cast<std::size_t>(threads));
    int tasks = 0;
    bool once = true;
    for (int round = 0; round < 600; ++round) {
      const int count = round % 40;
      pool.parallel_for(count, [&](int index, int worker) {
        ++runs[static_cast<std::size_t>(index)];
        ++of_worker[static_cast<std::size_t>(worker)];  // only one thread has a given worker's number at a time
      });
      for (int i = 0; i < count; ++i) once = once && runs[static_cast<std::size_t>(i)] == 1;
      std::fill(runs.begin(), runs.end(), 0);
      tasks += count;
      // Longer than helpers look for work: they sleep, and the next loop wakes them.
      if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(once);
    int sum = 0;
    for (const int count : of_worker) sum += count;
    CHECK(sum == tasks);
  }
}

TEST_CASE("A pool goes while its helpers are awake, and needs a thread") {
  for (int i = 0; i < 20; ++i) {
    ThreadPool pool(3);
    if (i % 2 == 0) pool.parallel_for(2, [](int, int) {});
  }
  CHECK_THROWS_AS(ThreadPool(0), std::invalid_argument);
}

}  // namespace lockstep::host
