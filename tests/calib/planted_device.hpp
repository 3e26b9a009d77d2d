#pragma once
// A device whose costs are declared: every operation advances a made-up clock by latency + amount / rate, times the
// noise of the sample it is part of. It computes nothing. Outliers, a drift and a throttle can be planted.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "engine/base/random.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::tests {

struct Cost {
  double latency_s;
  double per_unit_s;
  double of(double amount) const { return latency_s + amount * per_unit_s; }
};

struct PlantedCosts {
  Cost launch{2e-6, 0};
  Cost graph{5e-6, 0.7e-6};  // over kernels
  Cost pinned_to_device{7e-6, 1 / 55e9}, pinned_to_host{7.5e-6, 1 / 53e9};
  Cost pinned_to_all{11e-6, 1 / 31e9};  // over the bytes of each device
  // Copies in both directions at once; the cost is over the bytes of one direction.
  Cost both_ways_host{10e-6, 1 / 41e9}, both_ways_peer{8e-6, 1 / 280e9};
  Cost to_device{8e-6, 1 / 25e9}, to_host{9e-6, 1 / 26e9}, within{3e-6, 1 / 1.5e12}, to_peer{6e-6, 1 / 300e9};
  // Copies from and to the third device on, which is farther away.
  Cost to_far_peer{14e-6, 1 / 20e9}, both_ways_far_peer{19e-6, 1 / 15e9};
  // NCCL's two protocols; the second is used from 256 KiB on.
  Cost short_sum{12e-6, 1 / 20e9}, long_sum{22.5e-6, 1 / 200e9};
  double protocol_bytes = 262144;
  Cost average{15e-6, 1 / 100e9};
  std::map<device::Collective, Cost> exchange{{device::Collective::reduce, {10e-6, 1 / 150e9}},
                                              {device::Collective::broadcast, {9e-6, 1 / 160e9}},
                                              {device::Collective::reduce_scatter, {11e-6, 1 / 310e9}},
                                              {device::Collective::all_gather, {12e-6, 1 / 320e9}},
                                              {device::Collective::all_to_all, {14e-6, 1 / 250e9}}};
  Cost momentum{4e-6, 20 / 3e12}, lars{9e-6, 28 / 3e12}, correction{5e-6, 24 / 3e12}, average_model{6e-6, 20 / 3e12};
  Cost gradient{700e-6, 30e-6};  // over images
  Cost slowdown{1.15, 2e-9};     // factor on all work overlapped with sums of this many bytes

  double sum_s(double bytes) const { return (bytes < protocol_bytes ? short_sum : long_sum).of(bytes); }
  /// Over images; each layer and part has its own.
  Cost layer(int layer, device::LayerPart part) const {
    const double scale = (1 + 0.37 * layer) * (1 + 0.5 * static_cast<int>(part));
    return {3e-6 * scale, 0.8e-6 * scale};
  }
};

struct Disturbances {
  double noise = 0.01;     ///< standard deviation of a sample, relative
  double correlation = 0;  ///< of the noise of one sample and the next
  int outlier_every = 0;   ///< one sample out of this many takes five times as long; 0: none
  // These name a replica (from 0, in the order of construction); -1: none.
  int drifting_replica = -1;   ///< its first 120 passes get slower by 0.4 % each, the later ones are as planted
  int throttled_replica = -1;  ///< its passes 30 to 59 run at half the clock
  // These replicas are disturbed as long as they live; later measurements with other replicas are not.
  int always_drifting_replica = -1;   ///< every pass 0.2 % slower than the one before
  int always_throttled_replica = -1;  ///< half the clock
  int interrupted_replica = -1;       ///< every sixth pass takes five times as long
};

class PlantedDevice final : public device::Backend, private sync::VectorOps {
 public:
  PlantedDevice(int devices, const Disturbances& disturbances) : devices_(devices), disturbances_(disturbances) {}

  PlantedCosts costs;
  /// What the host needs for each call, while the device goes on with others; the device then has a clock that does not
  /// count it. 0: it has none.
  double launch_s = 0;
  /// What a step has in it that begins on an idle device, and one that follows another does not: its input's copy.
  double idle_start_s = 0;
  /// Calls that the devices can be held back for.
  int most_held = 1 << 20;
  /// By device, how many bytes average_all() has gone through before it came back to a vector for the first time.
  std::vector<std::int64_t> cold_bytes;
  std::string kind = "host";

  std::string name() const override { return kind; }
  std::string description() const override { return "planted device"; }
  int devices() const override { return devices_; }
  sync::VectorOps& ops() override { return *this; }
  std::unique_ptr<device::Replica> make_replica(const model::Graph& graph,
                                                const device::ReplicaOptions& options) override {
    return std::make_unique<PlantedReplica>(*this, graph, options, replicas_++);
  }
  /// Work between two of these is one sample.
  void synchronise() override {
    is_idle_ = true;
    ++samples_;
    const double rho = disturbances_.correlation;
    deviation_ = rho * deviation_ + std::sqrt(1 - rho * rho) * random_normal(17, 1, samples_);
    sample_factor_ = 1 + disturbances_.noise * deviation_;
    if (disturbances_.outlier_every > 0 && samples_ % disturbances_.outlier_every == 0) sample_factor_ *= 5;
  }
  void exchange(device::Collective collective, device::Precision element, std::int64_t n,
                const std::vector<const void*>&, const std::vector<void*>&) override {
    const double bytes = double(device::element_bytes(element)) * double(n);
    spend(collective == device::Collective::all_reduce ? costs.sum_s(bytes) : costs.exchange.at(collective).of(bytes));
  }
  std::shared_ptr<float> allocate_pinned(std::int64_t n) override {
    auto* x = static_cast<float*>(std::calloc(static_cast<std::size_t>(n), sizeof(float)));
    pinned_.insert(x);
    return {x, [this](float* gone) {
              pinned_.erase(gone);
              std::free(gone);
            }};
  }
  void copy_at_once(const std::vector<device::Transfer>& transfers) override {
    const device::Transfer& a = transfers.at(0);
    const bool are_all_up = std::all_of(transfers.begin(), transfers.end(), [&](const device::Transfer& copy) {
      return copy.from_device == device::kHost && pinned_.count(copy.from) > 0 && copy.count == a.count;
    });
    if (transfers.size() > 1 && are_all_up) {
      if (static_cast<int>(transfers.size()) != devices_) std::abort();
      return spend(costs.pinned_to_all.of(4.0 * double(a.count)));
    }
    if (transfers.size() == 1) {
      if (a.from_device != device::kHost && a.to_device != device::kHost) {
        const bool is_far = std::max(a.from_device, a.to_device) >= 2;
        return spend((is_far ? costs.to_far_peer : costs.to_peer).of(4.0 * double(a.count)));
      }
      if (pinned_.count(a.from_device == device::kHost ? a.from : a.to) == 0) std::abort();
      const Cost& one_way = a.from_device == device::kHost ? costs.pinned_to_device : costs.pinned_to_host;
      return spend(one_way.of(4.0 * double(a.count)));
    }
    const device::Transfer& b = transfers.at(1);
    if (a.from_device != b.to_device || a.to_device != b.from_device || a.count != b.count) std::abort();
    const bool has_host = a.from_device == device::kHost || a.to_device == device::kHost;
    const bool is_far = std::max(a.from_device, a.to_device) >= 2;
    const Cost& between = is_far ? costs.both_ways_far_peer : costs.both_ways_peer;
    spend((has_host ? costs.both_ways_host : between).of(4.0 * double(a.count)));
  }
  std::vector<std::string> device_ids() override {
    std::vector<std::string> ids;
    for (int d = 0; d < devices_; ++d) ids.push_back("GPU-" + std::to_string(d));
    return ids;
  }
  std::function<void()> recorded(int, std::function<void()> work) override {
    return [this, work] {
      recorded_kernels_ = 0;
      is_recording_ = true;
      work();
      is_recording_ = false;
      spend(costs.graph.of(recorded_kernels_));
    };
  }
  bool can_repeat_sums() override { return devices_ > 1; }
  std::unique_ptr<device::Repeater> repeat_sums(std::int64_t n) override {
    if (devices_ < 2) return nullptr;
    const auto round = [this, n] {
      beside_ = costs.slowdown.of(4.0 * double(n));
      std::this_thread::yield();
    };
    return std::make_unique<device::Repeater>(round, [this] { beside_ = 1; });
  }
  bool has_exchange(device::Precision) override { return true; }
  double now_s() override { return clock_s_ + launched_s_; }
  bool has_device_clock() override { return launch_s > 0; }
  std::optional<double> device_seconds(const std::function<void()>& work, int repeats) override {
    if (repeats > most_held) return std::nullopt;
    is_held_ = true;
    work();
    const double began_s = clock_s_;
    for (int i = 0; i < repeats; ++i) work();
    is_held_ = false;
    return clock_s_ - began_s;
  }
  double clock_ratio() override { return is_throttled_ ? 0.5 : 1; }

 private:
  class PlantedReplica final : public device::Replica {
   public:
    PlantedReplica(PlantedDevice& device, const model::Graph& graph, const device::ReplicaOptions& options, int number)
        : device_(device), graph_(graph), batch_(options.batch), number_(number) {
      gradient_.resize(static_cast<std::size_t>(graph.parameter_count()));
    }
    ~PlantedReplica() override {
      if (number_ == device_.disturbances_.always_throttled_replica) device_.is_throttled_ = false;
    }
    const float* gradient(const float*, const device::HostBatch&, std::uint64_t) override {
      const Disturbances& d = device_.disturbances_;
      double factor = 1;
      if (number_ == d.drifting_replica && passes_ < 120) factor = 1 + 0.004 * passes_;
      if (number_ == d.throttled_replica) device_.is_throttled_ = passes_ >= 30 && passes_ < 60;
      if (number_ == d.always_drifting_replica) factor = std::pow(1.002, passes_);
      if (number_ == d.always_throttled_replica) device_.is_throttled_ = true;
      if (number_ == d.interrupted_replica && passes_ % 6 == 5) factor = 5;
      if (device_.is_throttled_) factor = 2;
      const double start_s = std::exchange(device_.is_idle_, false) ? device_.idle_start_s : 0;
      device_.spend_waiting(factor * device_.costs.gradient.of(batch_) + start_s);
      ++passes_;
      return gradient_.data();
    }
    std::vector<device::LayerTime> time_layers(const float*, const device::HostBatch&, std::uint64_t) override {
      std::vector<device::LayerTime> times;
      const int layers = static_cast<int>(graph_.layers.size());
      for (int i = 1; i < layers; ++i) times.push_back({i, device::LayerPart::forward, 0});
      for (int i = layers - 1; i > 0; --i) times.push_back({i, device::LayerPart::backward, 0});
      for (device::LayerTime& time : times) {
        const double noise = 1 + device_.disturbances_.noise * random_normal(23, number_, draws_++);
        time.seconds = noise * device_.costs.layer(time.layer, time.part).of(batch_);
        device_.clock_s_ += time.seconds;
      }
      return times;
    }
    double loss() override { return 0; }
    int correct(const float*, const device::HostBatch&, int) override { return 0; }
    std::vector<float> running_statistics() override { return {}; }
    void set_running_statistics(const std::vector<float>&) override {}
    std::int64_t memory_bytes() const override { return 0; }
    std::int64_t activation_bytes() const override { return 0; }

   private:
    PlantedDevice& device_;
    model::Graph graph_;
    int batch_;
    int number_;
    int passes_ = 0;
    std::uint64_t draws_ = 0;
    std::vector<float> gradient_;
  };

  void spend(double seconds) {
    clock_s_ += seconds * sample_factor_ * beside_;
    launched_s_ += launch_s * sample_factor_;
  }
  /// For what returns when the device is done: a device that is held back never would.
  void spend_waiting(double seconds) {
    if (is_held_) std::abort();
    spend(seconds);
  }
  int device_of(const float* x) const { return buffers_.at(x); }

  float* allocate(std::int64_t n, int device) override {
    auto* x = static_cast<float*>(std::calloc(static_cast<std::size_t>(n), sizeof(float)));
    buffers_[x] = device;
    return x;
  }
  void release(float* x) override {
    buffers_.erase(x);
    std::free(x);
  }
  void upload(std::int64_t n, const float*, float*) override { spend_waiting(costs.to_device.of(4.0 * double(n))); }
  void download(std::int64_t n, const float*, float*) override { spend_waiting(costs.to_host.of(4.0 * double(n))); }
  void zero(std::int64_t, float*) override {}
  void copy(std::int64_t n, const float* x, float* y) override {
    const bool is_far = std::max(device_of(x), device_of(y)) >= 2;
    const Cost& between = is_far ? costs.to_far_peer : costs.to_peer;
    spend((device_of(x) == device_of(y) ? costs.within : between).of(4.0 * double(n)));
  }
  void scale(std::int64_t, double, float*) override {
    if (is_recording_)
      ++recorded_kernels_;
    else
      spend(costs.launch.latency_s);
  }
  void axpy(std::int64_t, double, const float*, float*) override {}
  double dot(std::int64_t, const float*, const float*) override { return 0; }
  std::vector<double> norms(const sync::Layout&, const float*) override { return {}; }
  void average(std::int64_t n, const std::vector<const float*>&, float*) override {
    spend(costs.average.of(4.0 * double(n)));
  }
  void average_all(std::int64_t n, const std::vector<const float*>& inputs,
                   const std::vector<float*>& outputs) override {
    cold_bytes.resize(static_cast<std::size_t>(devices_));
    is_back_ = is_back_ || averaged_.count(inputs.front()) > 0;
    for (std::size_t j = 0; j < inputs.size() && !is_back_; ++j)
      for (const float* x : {inputs[j], static_cast<const float*>(outputs[j])}) {
        averaged_.insert(x);
        cold_bytes[static_cast<std::size_t>(device_of(x))] += 4 * n;
      }
    spend(costs.average.of(4.0 * double(n)));
  }
  void sum_all(std::int64_t n, const std::vector<float*>&) override { spend(costs.sum_s(4.0 * double(n))); }
  void sgd_update(const sync::Layout&, double, double, const float*, float*) override {}
  void momentum_update(const sync::Layout& layout, const sync::StepSize&, const float*, float*, float*) override {
    spend(costs.momentum.of(double(layout.count)));
  }
  void nesterov_update(const sync::Layout& layout, const sync::StepSize&, const float*, float*, float*) override {
    spend(costs.momentum.of(double(layout.count)));
  }
  void adam_update(const sync::Layout& layout, const sync::AdamStep&, const float*, float*, float*, float*) override {
    spend(costs.momentum.of(double(layout.count)));
  }
  void lars_update(const sync::Layout& layout, const sync::StepSize&, const sync::LarsOptions&, const float*, float*,
                   float*) override {
    spend(costs.lars.of(double(layout.count)));
  }
  void corrected_update(const sync::Layout& layout, double, double, double, const float*, const float*, float*,
                        float*) override {
    spend(costs.correction.of(double(layout.count)));
  }
  void elastic_pull(std::int64_t, double, const float*, float*, float*) override {}
  void average_model_update(std::int64_t n, double, const float*, float*, float*) override {
    spend(costs.average_model.of(double(n)));
  }

  int devices_;
  Disturbances disturbances_;
  std::map<const float*, int> buffers_;
  std::set<const float*> pinned_;
  double clock_s_ = 0, launched_s_ = 0;
  bool is_held_ = false, is_idle_ = true;
  bool is_back_ = false;
  std::set<const float*> averaged_;
  std::atomic<double> beside_{1};
  bool is_recording_ = false;
  int recorded_kernels_ = 0;
  double sample_factor_ = 1;
  double deviation_ = 0;
  std::uint64_t samples_ = 0;
  int replicas_ = 0;
  bool is_throttled_ = false;
};

}  // namespace lockstep::tests
