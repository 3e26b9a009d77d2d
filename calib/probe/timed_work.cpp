#include <algorithm>
#include <chrono>
#include <cmath>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {
namespace {

constexpr int kMostRepeats = 10000;

double seconds_of(device::Backend& backend, const std::function<void()>& work, int repeats) {
  backend.synchronise();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) work();
  backend.synchronise();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

std::string Probe::id() const {
  Sample sample;
  sample.probe = probe;
  sample.key = key;
  return sample.id();
}

std::function<double()> timed_work(device::Backend& backend, std::function<void()> work) {
  // The first runs are slow; the number of repeats follows the fastest seen until it is settled.
  auto repeats = std::make_shared<int>(1);
  return [&backend, work = std::move(work), repeats] {
    double seconds = seconds_of(backend, work, *repeats);
    while (seconds < kShortestSample_s && *repeats < kMostRepeats) {
      const double wanted = 1.2 * kShortestSample_s / std::max(seconds, 1e-9) * *repeats;
      *repeats = std::min(kMostRepeats, std::max(*repeats + 1, static_cast<int>(std::ceil(wanted))));
      seconds = seconds_of(backend, work, *repeats);
    }
    return seconds / *repeats;
  };
}

}  // namespace lockstep::calib
