#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>

#include "calib/probe/probes.hpp"
#include "calib/probe/sizes.hpp"
#include "calib/probe/training.hpp"

namespace lockstep::calib {
namespace {

constexpr double kShortestOverlap_s = 0.01;  // several sums and iterations, so that both ends hardly matter
constexpr int kMostIterations = 1000;
// First runs wait for the device, and so for a concurrent sum. So everything runs before the sums start.
constexpr int kFirstIterations = 3;

// A single device has no other to sum with, so the sum is emulated.
bool is_emulated(device::Backend& backend) {
  return count_devices(backend) == 1;
}

Json key_of(device::Backend& backend, const model::Graph& model, const std::string& precision, int batch,
            const std::string& beside, std::int64_t bytes) {
  return {{"model", model.name},
          {"precision", precision},
          {"devices", count_devices(backend)},
          {"batch", batch},
          {"library", is_emulated(backend) ? "emulated" : library_of(backend)},
          {"beside", beside},
          {"bytes", bytes}};
}

// All processes must succeed, or all fail: otherwise one would leave the others waiting in a sum.
void in_all_processes(device::Backend& backend, const std::function<void()>& step) {
  std::exception_ptr failure;
  try {
    step();
  } catch (...) {
    failure = std::current_exception();
  }
  const bool has_failed = backend.agreed(failure ? 1 : 0) > 0;
  if (failure) std::rethrow_exception(failure);
  if (has_failed) throw std::runtime_error("failed in another process");
}

// Measures iterations alternately without and with concurrent sums, so that drift affects both. Several processes start
// each measurement together, and the slowest one's time counts.
class Overlap {
 public:
  Overlap(device::Backend& backend, const TrainingOptions& options, std::int64_t bytes) : backend_(backend) {
    in_all_processes(backend, [&] {
      training_ = std::make_unique<Training>(backend, options);
      for (int i = 0; i < kFirstIterations; ++i) training_->iterate();
      training_->wait();
      const Window window = iteration_window(backend);
      const double shortest_s = std::max(kShortestOverlap_s, window.shortest_s);
      const double wanted = std::ceil(shortest_s / std::max(iteration_s(), 1e-9));
      iterations_ = static_cast<int>(std::clamp<double>(wanted, window.least_repeats, kMostIterations));
    });
    sums_ = backend.repeat_sums(floats_in(bytes));
    if (!sums_) throw std::runtime_error("this backend does not sum beside other work");
  }

  /// Returns the seconds of an iteration overlapped with sums; stores those of an undisturbed iteration just before.
  double run() {
    backend_.synchronise();
    backend_.agreed(0);
    alone_s_.push_back(backend_.agreed(iteration_s()));
    sums_->start();
    const double beside_s = iteration_s();
    sums_->stop();
    return beside_s;
  }
  /// One value per run.
  const std::vector<double>& alone_s() const { return alone_s_; }

 private:
  // Cannot start and end with an idle device, because the sums continue.
  double iteration_s() {
    const double began_s = backend_.now_s();
    for (int i = 0; i < iterations_; ++i) training_->iterate();
    training_->wait();
    return (backend_.now_s() - began_s) / iterations_;
  }

  device::Backend& backend_;
  std::unique_ptr<Training> training_;
  std::unique_ptr<device::Repeater> sums_;
  int iterations_ = 1;
  std::vector<double> alone_s_;
};

}  // namespace

Probe overlap_probe(device::Backend& backend, const model::Graph& model, const std::string& precision, int batch,
                    std::int64_t bytes) {
  return {
      "overlap", key_of(backend, model, precision, batch, "all-reduce", bytes), [=, &backend] {
        auto overlap = std::make_shared<Overlap>(backend, TrainingOptions{model, precision, 1, batch, false}, bytes);
        Prepared prepared;
        prepared.timed = {[overlap] { return overlap->run(); }, [&backend] { return backend.clock_ratio(); },
                          [&backend] { return backend.now_s(); }, 0};
        prepared.parts = [=, &backend](const Series& series) {
          Sample alone;
          alone.probe = "overlap";
          alone.key = key_of(backend, model, precision, batch, "nothing", bytes);
          for (const std::size_t run : series.runs) alone.seconds.push_back(overlap->alone_s().at(run));
          return std::vector<Sample>{alone};
        };
        return prepared;
      }};
}

std::vector<Probe> overlap_probes(device::Backend& backend, const model::Graph& model, const std::string& precision,
                                  const std::vector<int>& batches, std::int64_t most_bytes) {
  std::vector<Probe> probes;
  if (backend.agreed(backend.can_repeat_sums() ? 0 : 1) > 0) return probes;
  for (const int batch : batches)
    for (const std::int64_t divisor : {256, 16, 1}) {
      const std::int64_t bytes = most_bytes / divisor;
      if (bytes >= 4) probes.push_back(overlap_probe(backend, model, precision, batch, bytes));
    }
  return probes;
}

}  // namespace lockstep::calib
