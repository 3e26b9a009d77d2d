#include <algorithm>
#include <chrono>
#include <cmath>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {
namespace {

constexpr int kMostRepeats = 10000;

double seconds_of(device::Backend& backend, const std::function<void()>& work, int repeats) {
  backend.synchronise();
  backend.agreed(0);  // all processes begin together
  const double began_s = backend.now_s();
  for (int i = 0; i < repeats; ++i) work();
  backend.synchronise();
  return backend.agreed(backend.now_s() - began_s);
}

}  // namespace

std::string Probe::id() const {
  Sample sample;
  sample.probe = probe;
  sample.key = key;
  return sample.id();
}

Prepared timed_work(device::Backend& backend, std::function<void()> work, double shortest_s) {
  // The first runs are slow; the number of repeats follows the fastest seen until it is settled.
  auto repeats = std::make_shared<int>(1);
  const auto run = [&backend, work = std::move(work), repeats, shortest_s] {
    double seconds = seconds_of(backend, work, *repeats);
    while (seconds < shortest_s && *repeats < kMostRepeats) {
      const double wanted = 1.2 * shortest_s / std::max(seconds, 1e-9) * *repeats;
      *repeats = std::min(kMostRepeats, std::max(*repeats + 1, static_cast<int>(std::ceil(wanted))));
      seconds = seconds_of(backend, work, *repeats);
    }
    return seconds / *repeats;
  };
  return {{run, [&backend] { return backend.clock_ratio(); }, [&backend] { return backend.now_s(); }, 0}, {}};
}

}  // namespace lockstep::calib
