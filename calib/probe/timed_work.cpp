#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {
namespace {

constexpr int kMostRepeats = 10000;
// A held stream's queue has room for about a thousand kernels. If it is full, enqueueing waits for the
// stream.
constexpr int kMostHeldRepeats = 256;
constexpr int kMostTries = 6;

double host_seconds(device::Backend& backend, const std::function<void()>& work, int repeats) {
  backend.synchronise();
  backend.agreed(0);  // makes all processes start together
  const double began_s = backend.now_s();
  for (int i = 0; i < repeats; ++i) work();
  backend.synchronise();
  return backend.agreed(backend.now_s() - began_s);
}

// Empty if a device started before everything was enqueued.
std::optional<double> device_seconds(device::Backend& backend, const std::function<void()>& work, int repeats) {
  backend.synchronise();
  backend.agreed(0);
  const std::optional<double> seconds = backend.device_seconds(work, repeats);
  if (!seconds) return std::nullopt;
  return backend.agreed(*seconds);
}

// Repeats work until it fills a window. The number of repetitions grows with the fastest time seen, because first runs
// are slow.
class Repeated {
 public:
  using SecondsOf = std::function<std::optional<double>(int repeats)>;
  Repeated(SecondsOf seconds_of, const Window& window, int most_repeats)
      : seconds_of_(std::move(seconds_of)),
        shortest_s_(window.shortest_s),
        repeats_(window.least_repeats),
        most_repeats_(most_repeats) {}

  /// Returns the seconds of one repetition.
  double run() {
    double seconds = all_s();
    while (seconds < shortest_s_ && repeats_ < most_repeats_) {
      const double wanted = 1.2 * shortest_s_ / std::max(seconds, 1e-9) * repeats_;
      repeats_ = std::min(most_repeats_, std::max(repeats_ + 1, static_cast<int>(std::ceil(wanted))));
      seconds = all_s();
    }
    return seconds / repeats_;
  }

 private:
  // If there is no valid time, tries again with the same number, because the host may have been busy; then with fewer.
  double all_s() {
    for (int tries = 0; tries < kMostTries; ++tries) {
      const std::optional<double> seconds = seconds_of_(repeats_);
      if (seconds) return *seconds;
      if (tries > 0) most_repeats_ = repeats_ = std::max(1, repeats_ / 4);
    }
    throw std::runtime_error("the device did not wait until all of it was handed in, " + std::to_string(kMostTries) +
                             " times: its queue does not hold so much, or the host is too slow");
  }

  SecondsOf seconds_of_;
  double shortest_s_;
  int repeats_, most_repeats_;
};

Prepared repeated(device::Backend& backend, Repeated::SecondsOf seconds_of, const Window& window, int most_repeats) {
  auto work = std::make_shared<Repeated>(std::move(seconds_of), window, most_repeats);
  const auto run = [work] { return work->run(); };
  return {{run, [&backend] { return backend.clock_ratio(); }, [&backend] { return backend.now_s(); }, 0}, {}};
}

}  // namespace

std::string Probe::id() const {
  Sample sample;
  sample.probe = probe;
  sample.key = key;
  return sample.id();
}

Window iteration_window(device::Backend& backend) {
  return backend.has_device_clock() ? Window{0.05, 5} : Window{};
}

Prepared timed_work(device::Backend& backend, std::function<void()> work, const Window& window) {
  const auto seconds_of = [&backend, work = std::move(work)](int repeats) {
    return host_seconds(backend, work, repeats);
  };
  return repeated(backend, seconds_of, window, kMostRepeats);
}

Prepared device_timed_work(device::Backend& backend, std::function<void()> work) {
  if (!backend.has_device_clock()) return timed_work(backend, std::move(work));
  auto has_run = std::make_shared<bool>(false);
  const auto seconds_of = [&backend, work = std::move(work), has_run](int repeats) {
    if (!*has_run) host_seconds(backend, work, 1);
    *has_run = true;
    return device_seconds(backend, work, repeats);
  };
  return repeated(backend, seconds_of, Window{}, kMostHeldRepeats);
}

}  // namespace lockstep::calib
