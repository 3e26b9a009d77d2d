#include "engine/sync/ea_sgd.hpp"

#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

class EaSgdTrainable final : public TrainableOf<sync::EaSgd> {
 public:
  EaSgdTrainable(const sync::Processes& processes, sync::EaSgd sync, int workers, int gpus)
      : TrainableOf(processes, std::move(sync)), workers_(workers), gpus_(gpus) {}
  int learners() const override { return workers_; }
  int gpu_of(int learner) const override { return learner * gpus_ / workers_; }
  const sync::DeviceVector& model() const override { return sync_.center(); }

 private:
  int workers_;
  int gpus_;
};

class EaSgdAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::ea_sgd; }
  std::string summary() const override { return "workers and a centre pull at each other"; }
  std::vector<Flag> flags() const override { return {{"--tau", "iterations per synchronisation (1)"}, alpha_flag()}; }
  Usual usual() const override { return {4, 16, 0.01}; }
  void check(const Request& r, int /*processes*/) const override {
    pull_of(r);
    tau_of(r, false);
  }
  void add_to_json(const Settings& s, Json& json) const override {
    json["tau"] = tau_of(s.request, false);
    json["alpha"] = alpha_json(s.request);
  }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    const Request& r = m.settings.request;
    const sync::EaSgdOptions options{m.workers(), pull_of(r), r.weight_decay, tau_of(r, false), r.gpus};
    return std::make_unique<EaSgdTrainable>(m.processes, sync::EaSgd(m.ops, m.layout, m.initial, options), m.workers(),
                                            r.gpus);
  }
};

}  // namespace

const TrainedAlgorithm& ea_sgd_algorithm() {
  static const EaSgdAlgorithm algorithm;
  return algorithm;
}

}  // namespace lockstep::train
