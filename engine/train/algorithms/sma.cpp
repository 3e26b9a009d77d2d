#include "engine/sync/sma.hpp"

#include "engine/base/text.hpp"
#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

constexpr double kRestartDrop = 0.1;  ///< restart if the rate falls by more than this fraction: a step of the schedule

class SmaTrainable final : public TrainableOf<sync::Sma> {
 public:
  using TrainableOf::TrainableOf;
  int learners() const override { return sync_.learners(); }
  int gpu_of(int learner) const override { return sync_.gpu_of(learner); }
  const sync::DeviceVector& model() const override { return sync_.average(); }
  void add_facts(Json& epoch) const override {
    epoch["learners"] = sync_.all_learners();
    epoch["restarts"] = sync_.restarts();
  }
  void add_learner(int gpu) override { sync_.add_learner(gpu); }
  void remove_learner(int gpu) override { sync_.remove_learner(gpu); }
};

class SmaAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::sma; }
  std::string summary() const override {
    return "learners are pulled to an average model that has momentum (Crossbow)";
  }
  std::vector<Flag> flags() const override {
    return {{"--momentum", ""},
            {"--tau", "iterations per synchronisation, or never (1)"},
            alpha_flag(),
            {"--averaging", "on several GPUs: one or reference (one)"},
            {"--auto-tune", "learners per GPU by the observed throughput", true},
            {"--auto-tune-from", "learners per GPU as the auto-tuner chose them in the run of this record"}};
  }
  /// The default suits one SMA learner, whose rate must be a third of plain SGD's. With curvature h, alpha 1 and
  /// momentum mu, Alg. 1 oscillates from a rate of 2 mu / (1 + 2 mu) / h on. After a warm-up (--warmup-epochs), a rate
  /// several times as high is better.
  Usual usual() const override { return {1, 16, 0.01}; }
  void check(const Request& r, int processes) const override {
    if (is_tuned(r) && r.learners)
      refuse("--learners", "the auto-tuner chooses it, beginning with one", "without --auto-tune");
    if (is_given(r, "--auto-tune") && is_given(r, "--auto-tune-from"))
      refuse("--auto-tune-from", "repeats what the auto-tuner chose", "without --auto-tune");
    const std::optional<double> pull = pull_of(r);
    averaging(r);
    tau_of(r, true);
    // Alg. 1 with one learner is a leapfrog: without momentum it diverges (see engine/sync/sma.hpp).
    if (processes * r.gpus * r.learners.value_or(1) == 1 && r.momentum.value_or(1) == 0 && !pull)
      refuse("--momentum 0", "one SMA learner diverges without momentum", "a momentum, --alpha below 1, more learners");
  }
  void add_to_json(const Settings& s, Json& json) const override {
    const int tau = tau_of(s.request, true);
    json["tau"] = tau == sync::kNever ? Json("never") : Json(tau);
    json["alpha"] = alpha_json(s.request);
    json["averaging"] = word_of(s.request, "--averaging").value_or("one");
    json["auto_tune"] = is_tuned(s.request);
    if (is_given(s.request, "--auto-tune-from")) json["auto_tune_from"] = s.tuned_like();
  }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    const Settings& s = m.settings;
    const Request& r = s.request;
    const int learners = is_tuned(r) ? 1 : s.learners;
    const double restart_drop = r.schedule == "steps" ? kRestartDrop : 1;  // see sma.hpp
    const sync::SmaOptions options{r.gpus,         learners,        averaging(r), pull_of(r),        s.momentum,
                                   r.weight_decay, tau_of(r, true), restart_drop, m.processes.rank()};
    return std::make_unique<SmaTrainable>(m.processes, sync::Sma(m.ops, m.layout, m.initial, options));
  }

 private:
  static bool is_tuned(const Request& r) { return is_given(r, "--auto-tune") || is_given(r, "--auto-tune-from"); }
  static sync::Averaging averaging(const Request& r) {
    const std::string word = word_of(r, "--averaging").value_or("one");
    if (word != "one" && word != "reference") refuse("--averaging", in_quotes(word) + " is unknown", "one, reference");
    return word == "one" ? sync::Averaging::kOneAverage : sync::Averaging::kReferencePerGpu;
  }
};

}  // namespace

const TrainedAlgorithm& sma_algorithm() {
  static const SmaAlgorithm algorithm;
  return algorithm;
}

}  // namespace lockstep::train
