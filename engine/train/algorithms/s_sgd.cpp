#include "engine/sync/s_sgd.hpp"

#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

class SSgdTrainable final : public TrainableOfReplicas<sync::SSgd> {
 public:
  using TrainableOfReplicas::TrainableOfReplicas;
  const sync::DeviceVector& model() const override { return sync_.parameters(0); }
};

class SSgdAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::s_sgd; }
  std::string summary() const override { return "all replicas apply the mean of their gradients"; }
  std::vector<Flag> flags() const override {
    return update_flags({{"--moving-average", ""},
                         {"--bucket-bytes",
                          "over processes, gradients are sent while others are computed, as soon as so many bytes "
                          "are complete; 0: each layer's at once (all, after the pass)"}});
  }
  Usual usual() const override { return {1, 32, 0.005}; }
  void check(const Request& r, int /*processes*/) const override {
    require_one_replica(r, algorithm());
    bucket_bytes(r);
  }
  void add_to_json(const Settings& s, Json& json) const override {
    if (const auto bytes = bucket_bytes(s.request)) json["bucket_bytes"] = *bytes;  // what is trained is the same
  }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    return std::make_unique<SSgdTrainable>(
        m.processes, sync::SSgd(m.ops, m.layout, m.initial, m.workers(), update_options(m.settings),
                                bucket_bytes(m.settings.request)));
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
