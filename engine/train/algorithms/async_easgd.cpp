#include "engine/sync/async_easgd.hpp"

#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

class AsyncEasgdAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::async_easgd; }
  std::string summary() const override { return "processes and a centre pull at each other, each at its own pace"; }
  std::vector<Flag> flags() const override { return {{"--tau", "iterations per synchronisation (1)"}, alpha_flag()}; }
  Usual usual() const override { return {1, 16, 0.01}; }
  void check(const Request& r, int processes) const override {
    check_asynchronous(r, processes, "--algorithm async-easgd");
    pull_of(r);
    tau_of(r, false);
  }
  void add_to_json(const Settings& s, Json& json) const override {
    json["tau"] = tau_of(s.request, false);
    json["alpha"] = alpha_json(s.request);
  }
  std::int64_t global_batch(const Settings& s) const override { return s.batch; }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    const Request& r = m.settings.request;
    const sync::AsyncEasgdOptions options{pull_of(r), r.weight_decay, tau_of(r, false)};
    return std::make_unique<AsynchronousTrainable<sync::AsyncEasgd>>(m.processes, m.layout, m.initial, options);
  }
};

}  // namespace

const TrainedAlgorithm& async_easgd_algorithm() {
  static const AsyncEasgdAlgorithm algorithm;
  return algorithm;
}

}  // namespace lockstep::train
