#include <algorithm>
#include <chrono>
#include <cmath>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {
namespace {

constexpr int kMostRepeats = 10000;
// What is held back must fit into a stream's queue, which holds about a thousand kernels: where it is full, handing in
// waits for the stream.
constexpr int kMostHeldRepeats = 256;

double host_seconds(device::Backend& backend, const std::function<void()>& work, int repeats) {
  backend.synchronise();
  backend.agreed(0);  // all processes begin together
  const double began_s = backend.now_s();
  for (int i = 0; i < repeats; ++i) work();
  backend.synchronise();
  return backend.agreed(backend.now_s() - began_s);
}

double device_seconds(device::Backend& backend, const std::function<void()>& work, int repeats) {
  backend.synchronise();
  backend.agreed(0);
  return backend.agreed(backend.device_seconds(work, repeats));
}

// `seconds_of` times so many repeats of the work. Their number follows the fastest seen until it is settled: the first
// runs are slow.
Prepared repeated(device::Backend& backend, std::function<double(int repeats)> seconds_of, double shortest_s,
                  int most_repeats) {
  auto repeats = std::make_shared<int>(1);
  const auto run = [seconds_of = std::move(seconds_of), repeats, shortest_s, most_repeats] {
    double seconds = seconds_of(*repeats);
    while (seconds < shortest_s && *repeats < most_repeats) {
      const double wanted = 1.2 * shortest_s / std::max(seconds, 1e-9) * *repeats;
      *repeats = std::min(most_repeats, std::max(*repeats + 1, static_cast<int>(std::ceil(wanted))));
      seconds = seconds_of(*repeats);
    }
    return seconds / *repeats;
  };
  return {{run, [&backend] { return backend.clock_ratio(); }, [&backend] { return backend.now_s(); }, 0}, {}};
}

}  // namespace

std::string Probe::id() const {
  Sample sample;
  sample.probe = probe;
  sample.key = key;
  return sample.id();
}

Prepared timed_work(device::Backend& backend, std::function<void()> work, double shortest_s) {
  const auto seconds_of = [&backend, work = std::move(work)](int repeats) {
    return host_seconds(backend, work, repeats);
  };
  return repeated(backend, seconds_of, shortest_s, kMostRepeats);
}

Prepared device_timed_work(device::Backend& backend, std::function<void()> work) {
  if (!backend.has_device_clock()) return timed_work(backend, std::move(work));
  auto has_run = std::make_shared<bool>(false);
  const auto seconds_of = [&backend, work = std::move(work), has_run](int repeats) {
    if (!*has_run) host_seconds(backend, work, 1);
    *has_run = true;
    return device_seconds(backend, work, repeats);
  };
  return repeated(backend, seconds_of, kShortestSample_s, kMostHeldRepeats);
}

}  // namespace lockstep::calib
