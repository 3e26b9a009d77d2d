#include "engine/sync/async_sgd.hpp"

#include "engine/sync/stale_gradients.hpp"
#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

class StaleTrainable final : public TrainableOfReplicas<sync::StaleGradients> {
 public:
  using TrainableOfReplicas::TrainableOfReplicas;
  const sync::DeviceVector& model() const override { return sync_.parameters(); }
};

class AsyncSgdAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::async_sgd; }
  std::string summary() const override {
    return "gradients are as old as is given, or as processes at their own pace make them";
  }
  std::vector<Flag> flags() const override {
    return update_flags({{"--moving-average", ""},
                         {"--own-pace", "processes, one worker each, with the parameters in the first", true},
                         {"--staleness", "age of the gradient, in iterations (0)"},
                         {"--staleness-drawn", "uniform with that mean", true},
                         {"--staleness-ramp-epochs", "grows over so many epochs (0)"}});
  }
  Usual usual() const override { return {1, 32, 0.005}; }
  void check(const Request& r, int processes) const override {
    require_one_replica_per_gpu(r, algorithm());
    if (has_own_pace(r)) check_own_pace(r, processes);
    staleness(r);
    ramp_epochs(r);
  }
  void add_to_json(const Settings& s, Json& json) const override {
    if (has_own_pace(s.request)) {
      json["own_pace"] = true;
      return;
    }
    json["staleness"] = staleness(s.request);
    json["staleness_drawn"] = is_given(s.request, "--staleness-drawn");
    json["staleness_ramp_epochs"] = ramp_epochs(s.request);
  }
  std::int64_t global_batch(const Settings& s) const override {
    return has_own_pace(s.request) ? s.batch : TrainedAlgorithm::global_batch(s);
  }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    const Settings& s = m.settings;
    if (has_own_pace(s.request))
      return std::make_unique<AsynchronousTrainable<sync::AsyncSgd>>(m.processes, m.layout, m.initial,
                                                                     update_options(s));
    const std::int64_t ramp = iterations_of(s, ramp_epochs(s.request), m.images);
    const sync::StalenessOptions options{staleness(s.request), is_given(s.request, "--staleness-drawn"), s.request.seed,
                                         ramp, m.workers()};
    return std::make_unique<StaleTrainable>(
        m.processes, sync::StaleGradients(m.ops, m.layout, m.initial, options, update_options(s)));
  }

 private:
  static bool has_own_pace(const Request& r) { return is_given(r, "--own-pace"); }
  static void check_own_pace(const Request& r, int processes) {
    for (const char* flag : {"--staleness", "--staleness-drawn", "--staleness-ramp-epochs"})
      if (is_given(r, flag)) refuse(flag, "is what comes of --own-pace", "one of the two");
    if (r.moving_average) refuse("--moving-average", "has no meaning with --own-pace", "without it");
    check_asynchronous(r, processes, "--own-pace");
  }
  static int staleness(const Request& r) { return static_cast<int>(whole_of(r, "--staleness", 0, 10000).value_or(0)); }
  static double ramp_epochs(const Request& r) { return at_least_0_of(r, "--staleness-ramp-epochs").value_or(0); }
};

}  // namespace

const TrainedAlgorithm& async_sgd_algorithm() {
  static const AsyncSgdAlgorithm algorithm;
  return algorithm;
}

}  // namespace lockstep::train
