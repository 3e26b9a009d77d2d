#include "engine/sync/s_sgd.hpp"

#include "engine/train/noise_record.hpp"
#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

class SSgdTrainable final : public TrainableOfReplicas<sync::SSgd> {
 public:
  using TrainableOfReplicas::TrainableOfReplicas;
  const sync::DeviceVector& model() const override { return sync_.parameters(0); }
  void start_noise_meter(sync::Processes& processes, int images) { sync_.start_noise_meter(processes, images); }
  void add_measurements(Json& entry) override {
    sync::NoiseMeter* const meter = sync_.noise_meter();
    if (meter == nullptr) return;
    entry["noise_scale"] = noise_json(meter->mean());
    meter->reset();
  }
};

class SSgdAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::s_sgd; }
  std::string summary() const override { return "all replicas apply the mean of their gradients"; }
  std::vector<Flag> flags() const override {
    return update_flags({{"--moving-average", ""},
                         {"--bucket-bytes",
                          "over processes, gradients are sent while others are computed, as soon as so many bytes "
                          "are complete; 0: each layer's at once (all, after the pass)"},
                         {"--noise-scale",
                          "measures the gradient noise scale, the critical batch, from the gradients of two or more "
                          "workers and their mean",
                          true}});
  }
  Usual usual() const override { return {1, 32, 0.005}; }
  void check(const Request& r, int processes) const override {
    require_one_replica_per_gpu(r, algorithm());
    if (is_given(r, "--noise-scale") && r.gpus * processes < 2)
      refuse("--noise-scale", "compares the gradients of workers with their mean, and there is one worker",
             "--gpus 2 or more, each with its share of --batch (with --device host they are logical devices)");
    bucket_bytes(r);
  }
  void add_to_json(const Settings& s, Json& json) const override {
    if (const auto bytes = bucket_bytes(s.request)) json["bucket_bytes"] = *bytes;  // does not change the result
    if (is_given(s.request, "--noise-scale")) json["noise_scale"] = true;
  }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    auto trainable = std::make_unique<SSgdTrainable>(
        m.processes, sync::SSgd(m.ops, m.layout, m.initial, m.workers(), update_options(m.settings),
                                bucket_bytes(m.settings.request)));
    if (is_given(m.settings.request, "--noise-scale")) trainable->start_noise_meter(m.processes, m.settings.batch);
    return trainable;
  }

 private:
  static std::optional<std::int64_t> bucket_bytes(const Request& r) {
    return whole_of(r, "--bucket-bytes", 0, std::int64_t{1} << 40);
  }
};

}  // namespace

const TrainedAlgorithm& s_sgd_algorithm() {
  static const SSgdAlgorithm algorithm;
  return algorithm;
}

}  // namespace lockstep::train
