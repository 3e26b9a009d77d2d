#include "engine/sync/backup_workers.hpp"

#include "engine/base/text.hpp"
#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

constexpr int kWorkers = 4;
constexpr int kBackups = 1;

class BackupTrainable final : public TrainableOf<sync::BackupWorkers> {
 public:
  BackupTrainable(const sync::Processes& processes, sync::BackupWorkers sync, int workers, int backups)
      : TrainableOf(processes, std::move(sync)), workers_(workers), backups_(backups) {}
  int learners() const override { return sync_.own_workers(); }
  Place place() const override { return {sync_.first_worker(), workers_ + backups_}; }
  int counted() const override { return workers_; }
  int gpu_of(int) const override { return 0; }
  const sync::DeviceVector& model() const override { return sync_.parameters(); }
  void add_facts(Json& epoch) const override { epoch["simulated_s"] = sync_.time_s(); }

 private:
  int workers_;
  int backups_;
};

class BackupAlgorithm final : public TrainedAlgorithm {
 public:
  Algorithm algorithm() const override { return Algorithm::backup_workers; }
  std::string summary() const override { return "the first N of N + b gradients count, by drawn delays"; }
  std::vector<Flag> flags() const override {
    return update_flags({{"--moving-average", ""},
                         {"--backups", "workers more than are waited for (1)"},
                         {"--delay", "lognormal, gamma, pareto (lognormal)"},
                         {"--delay-scale", "in seconds (1)"},
                         {"--delay-shape", "shape of the distribution (0.1)"},
                         {"--delay-shift", "seconds added (0)"},
                         {"--interrupt", "late workers abandon their gradient", true}});
  }
  Usual usual() const override { return {kWorkers, 16, 0.005}; }
  void check(const Request& r, int processes) const override {
    const int extra = backups(r);
    delay(r);
    if (r.gpus != 1) refuse("--gpus", "backup workers share one set of parameters", "1 (--learners N --backups b)");
    const int workers = r.learners.value_or(kWorkers) + extra;
    if (workers < processes)
      refuse("--algorithm " + name_of(algorithm()),
             std::to_string(workers) + " workers are too few for " + std::to_string(processes) + " processes",
             "a worker or more in each (--learners N --backups b are of all processes)");
  }
  void add_to_json(const Settings& s, Json& json) const override {
    const sync::DelayDistribution drawn = delay(s.request);
    json["backups"] = backups(s.request);
    json["delay"] = {{"kind", word_of(s.request, "--delay").value_or("lognormal")},
                     {"scale_s", drawn.scale_s},
                     {"shape", drawn.shape},
                     {"shift_s", drawn.shift_s},
                     {"interrupt", is_given(s.request, "--interrupt")}};
  }
  int learners_of_process(const Settings& s) const override {
    return (s.learners + backups(s.request) + s.processes - 1) / s.processes;
  }
  std::int64_t global_batch(const Settings& s) const override {  // s.learners counts all processes
    return std::int64_t{s.request.gpus} * s.learners * s.batch;
  }
  std::unique_ptr<Trainable> make(const TrainableInputs& m) const override {
    const Settings& s = m.settings;
    const sync::BackupOptions options{
        m.workers(),       backups(s.request), delay(s.request), s.request.seed, is_given(s.request, "--interrupt"),
        m.processes.rank()};
    return std::make_unique<BackupTrainable>(
        m.processes, sync::BackupWorkers(m.ops, m.layout, m.initial, options, update_options(s)), m.workers(),
        backups(s.request));
  }

 private:
  static int backups(const Request& r) {
    return static_cast<int>(whole_of(r, "--backups", 0, 1024).value_or(kBackups));
  }
  static sync::DelayDistribution delay(const Request& r) {
    using Kind = sync::DelayDistribution::Kind;
    sync::DelayDistribution delay;
    const std::string kind = word_of(r, "--delay").value_or("lognormal");
    if (kind != "lognormal" && kind != "gamma" && kind != "pareto")
      refuse("--delay", in_quotes(kind) + " is unknown", "lognormal, gamma, pareto");
    delay.kind = kind == "gamma" ? Kind::kGamma : kind == "pareto" ? Kind::kPareto : Kind::kLognormal;
    delay.scale_s = positive_of(r, "--delay-scale").value_or(delay.scale_s);
    delay.shape = positive_of(r, "--delay-shape").value_or(delay.shape);
    delay.shift_s = at_least_0_of(r, "--delay-shift").value_or(delay.shift_s);
    return delay;
  }
};

}  // namespace

const TrainedAlgorithm& backup_workers_algorithm() {
  static const BackupAlgorithm algorithm;
  return algorithm;
}

}  // namespace lockstep::train
