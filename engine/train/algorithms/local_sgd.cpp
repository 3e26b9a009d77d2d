#include "engine/sync/local_sgd.hpp"

#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

class LocalSgdTrainable final : public TrainableOfReplicas<sync::LocalSgd> {
 public:
  using TrainableOfReplicas::TrainableOfReplicas;
  const sync::DeviceVector& model() const override { return sync_.average(); }
};

class LocalSgdAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::local_sgd; }
  std::string summary() const override { return "replicas train alone and are averaged every few iterations"; }
  std::vector<Flag> flags() const override { return update_flags({{"--tau", "iterations per synchronisation (1)"}}); }
  Usual usual() const override { return {1, 32, 0.005}; }
  void check(const Request& r, int /*processes*/) const override {
    require_one_replica_per_gpu(r, algorithm());
    tau_of(r, false);
  }
  void add_to_json(const Settings& s, Json& json) const override { json["tau"] = tau_of(s.request, false); }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    const sync::LocalSgdOptions options{m.workers(), tau_of(m.settings.request, false)};
    return std::make_unique<LocalSgdTrainable>(
        m.processes, sync::LocalSgd(m.ops, m.layout, m.initial, options, update_options(m.settings)));
  }
};

}  // namespace

const TrainedAlgorithm& local_sgd_algorithm() {
  static const LocalSgdAlgorithm algorithm;
  return algorithm;
}

}  // namespace lockstep::train
