// Events come in the order of time, then of pushes, whichever lane or bucket holds them.
#include "sim/replay/delay_queue.hpp"

#include <algorithm>
#include <random>

#include "engine/base/index.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

TEST_CASE("a queue with delays returns events in the order of time, then of pushes") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    // Few distinct times, so that many events are due at once; times near 0 and far from it have other exponents.
    const double unit_s = seed % 2 == 0 ? 1e-6 : 0.375;
    DelayQueue<int> queue;
    std::vector<std::pair<double, int>> waiting;
    double now_s = 0;
    int pushed = 0;
    CHECK(queue.first_s() == std::numeric_limits<double>::infinity());
    while (pushed < 3000 || !waiting.empty()) {
      for (int n = draw(4); n > 0 && pushed < 3000; --n, ++pushed) {
        const double delay_s = unit_s * draw(7);
        if (draw(2) == 0) {
          queue.push_after(now_s, delay_s, pushed);
        } else {
          queue.push_at(now_s + delay_s, pushed);
        }
        waiting.emplace_back(now_s + delay_s, pushed);
      }
      for (int n = draw(4); n > 0 && !waiting.empty(); --n) {
        const auto first = std::min_element(waiting.begin(), waiting.end());
        REQUIRE(queue.first_s() == first->first);
        REQUIRE(queue.pop() == first->second);
        now_s = first->first;
        waiting.erase(first);
      }
    }
    CHECK(queue.first_s() == std::numeric_limits<double>::infinity());
  }
}

TEST_CASE("a queue with delays accepts an event that is earlier than all others in its lane") {
  DelayQueue<int> queue;
  queue.push_after(2, 1, 1);
  queue.push_after(1, 1, 2);
  CHECK(queue.first_s() == 2);
  CHECK(queue.pop() == 2);
  CHECK(queue.pop() == 1);
}
