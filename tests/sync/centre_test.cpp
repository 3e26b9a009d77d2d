// Workers that visit a centre at their own pace: their mean staleness, and the training result.
#include "engine/sync/centre.hpp"

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>

#include "engine/sync/async_easgd.hpp"
#include "engine/sync/async_sgd.hpp"
#include "tests/catch.hpp"
#include "tests/sync/quadratic.hpp"
#include "tests/sync/thread_processes.hpp"

namespace lockstep::sync {
namespace {

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

double mean_staleness(const Centre& centre) {
  double sum = 0;
  const std::vector<std::int64_t>& counts = centre.meetings_by_staleness();
  for (std::size_t age = 0; age < counts.size(); ++age)
    sum += static_cast<double>(age) * static_cast<double>(counts[age]);
  return sum / static_cast<double>(sum_of(counts));
}

}  // namespace

// One thread makes all checks, because Catch's are not thread-safe.
TEST_CASE("Whatever the workers' speeds, the mean staleness is one less than there are, but for a stretch's ends") {
  for (const int processes : {2, 3, 5})
    for (const bool is_uneven : {false, true}) {
      INFO(processes << " processes" << (is_uneven ? ", of which the last is slow" : ""));
      std::vector<std::int64_t> made, of_process;
      double mean = 0;
      std::int64_t counted = 0;
      std::atomic<int> alike{0};
      run_as_processes(processes, [&](Processes& process) {
        std::vector<float> x(1, 0);
        Centre centre(process, 1, [](float* brought, double) { brought[0] += 1; });
        for (int stretch = 0; stretch < 2; ++stretch) {
          centre.begin(200);
          while (centre.goes_on()) {
            const bool is_slow = is_uneven && process.rank() == processes - 1;
            std::this_thread::sleep_for(std::chrono::microseconds(is_slow ? 400 : 40));
            centre.exchange(x.data(), 0.1, 1);
          }
          const std::int64_t all = centre.end();
          if (all >= 200 && all < 200 + processes) ++alike;  // those under way count too
          if (process.rank() == 0) made.push_back(all);
        }
        if (process.rank() != 0) return;
        mean = mean_staleness(centre);
        counted = sum_of(centre.meetings_by_staleness());
        of_process = centre.iterations_of();
      });
      CHECK(alike == 2 * processes);
      CHECK(counted == sum_of(made));
      CHECK(sum_of(of_process) == counted);
      CHECK(mean <= processes - 1);
      CHECK(mean >=
            processes - 1 - processes * (processes - 1) / static_cast<double>(counted) - 1e-9);  // two stretches
      if (is_uneven) CHECK(of_process.back() < of_process.front());
    }
}

TEST_CASE("A stretch that process 0 stops ends for all, and a failure at the centre is process 0's") {
  std::vector<std::int64_t> made(3, -1);
  run_as_processes(3, [&](Processes& process) {
    float x = 0;
    Centre centre(process, 1, [](float*, double) {});
    centre.begin(1'000'000'000);
    while (centre.goes_on()) {
      centre.exchange(&x, 0, 1);
      if (process.rank() == 0 && centre.heard() >= 20) centre.stop();
    }
    made[static_cast<std::size_t>(process.rank())] = centre.end();
  });
  CHECK(made[0] >= 20);
  CHECK(made[1] == made[0]);
  CHECK(made[2] == made[0]);
}

TEST_CASE("A centre is for several processes") {
  Processes alone;
  CHECK_THROWS_WITH(Centre(alone, 1, {}), "centre: at least two processes");
  AsyncEasgdOptions options;
  CHECK_THROWS_WITH(AsyncEasgd(alone, plain_layout(1), {0}, options), "centre: at least two processes");
}

// alpha 0.25, z 0. Worker 0 comes with 4: e = 1, it leaves with 3, and z is 1. Worker 1 comes with 0: e = -0.25.
TEST_CASE("Two meetings of elastic averaging by hand") {
  std::vector<float> left(2), center;
  std::atomic<bool> has_met{false};
  run_as_processes(2, [&](Processes& process) {
    AsyncEasgdOptions options;
    options.alpha = 0.25;
    AsyncEasgd easgd(process, plain_layout(1), {0}, options);
    easgd.begin(2);
    const bool is_first = process.rank() == 0;
    while (!is_first && !has_met) std::this_thread::yield();
    float x = is_first ? 4 : 0;
    easgd.centre().exchange(&x, 0, 1);
    has_met = true;
    left[is_first ? 0 : 1] = x;
    easgd.centre().end();
    if (is_first) center = easgd.parameters().to_host();
  });
  CHECK(left == std::vector<float>{3, 0.25F});
  CHECK(center == std::vector<float>{0.75F});
}

TEST_CASE("Asynchronous SGD and elastic averaging come to the optimum of a quadratic, at whatever pace") {
  for (const bool is_elastic : {false, true}) {
    INFO((is_elastic ? "elastic" : "gradients"));
    std::vector<float> trained;
    std::atomic<int> here{0};
    run_as_processes(3, [&](Processes& process) {
      Quadratic quadratic(5, 1, 2);
      // A worker that starts when the others have finished brings a gradient of the initial parameters at the end.
      const GradientFunction unhurried = [&](int learner, const float* w, std::int64_t step) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        return quadratic.gradient()(learner, w, step);
      };
      const auto train = [&](auto& sync) {
        ++here;
        while (here < 3) std::this_thread::yield();
        sync.begin(1200);
        while (sync.centre().goes_on()) sync.step(0.05, unhurried);
        sync.centre().end();
        if (process.rank() == 0) trained = sync.parameters().to_host();
      };
      const std::vector<float> initial(5, -1);
      if (is_elastic) {
        AsyncEasgdOptions options;
        options.tau = 2;
        AsyncEasgd sync(process, plain_layout(5), initial, options);
        train(sync);
      } else {
        UpdateOptions options;
        options.momentum = 0;
        AsyncSgd sync(process, plain_layout(5), initial, options);
        train(sync);
      }
    });
    CHECK(mean_square(trained, 2) < 1e-3);
  }
}

}  // namespace lockstep::sync
