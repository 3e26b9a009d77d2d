#include "engine/sync/sharded.hpp"

#include <algorithm>

#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

class ShardedTrainable final : public TrainableOfReplicas<sync::Sharded> {
 public:
  using TrainableOfReplicas::TrainableOfReplicas;
  const sync::DeviceVector& model() const override { return sync_.parameters(0); }
};

class ShardedAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::sharded; }
  std::string summary() const override {
    return "S-SGD whose replicas each keep and update a share of the parameters (ZeRO-1)";
  }
  std::vector<Flag> flags() const override {
    std::vector<Flag> flags = update_flags({{"--moving-average", ""}});
    const auto is_lars = [](const Flag& flag) { return flag.name == "--lars"; };
    flags.erase(std::remove_if(flags.begin(), flags.end(), is_lars), flags.end());
    return flags;
  }
  Usual usual() const override { return {1, 32, 0.005}; }
  void check(const Request& r, int /*processes*/) const override { require_one_replica_per_gpu(r, algorithm()); }
  int shards(const Settings& s) const override { return s.processes * s.request.gpus; }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    return std::make_unique<ShardedTrainable>(
        m.processes,
        sync::Sharded(m.ops, m.layout, m.initial, m.workers(), m.processes.rank(), update_options(m.settings)));
  }
};

}  // namespace

const TrainedAlgorithm& sharded_algorithm() {
  static const ShardedAlgorithm algorithm;
  return algorithm;
}

}  // namespace lockstep::train
