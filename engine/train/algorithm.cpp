#include "engine/train/algorithm.hpp"

#include <map>
#include <stdexcept>

#include "engine/sync/ea_sgd.hpp"
#include "engine/sync/s_sgd.hpp"
#include "engine/sync/stale_gradients.hpp"

namespace lockstep::train {
namespace {

using sync::DeviceVector;
using sync::GradientFunction;

constexpr double kRestartDrop = 0.1;  ///< of the rate, by which SMA takes a step of the schedule for one

sync::UpdateOptions update_options(const Settings& s) {
  sync::UpdateOptions options{s.momentum, s.request.weight_decay, std::nullopt};
  if (s.request.lars) options.lars = sync::LarsOptions{*s.request.lars, 0};
  return options;
}

/// The parts that algorithms on one set of parameters share.
template <typename Sync>
class OnOneModel : public Trainable {
 public:
  OnOneModel(const sync::Processes& processes, Sync sync) : Trainable(processes), sync_(std::move(sync)) {}
  void visit_state(sync::StateVisitor& state) override { sync_.visit_state(state); }

 protected:
  Sync sync_;
};

class SSgdTrainable final : public OnOneModel<sync::SSgd> {
 public:
  using OnOneModel::OnOneModel;
  void step(double learning_rate, const GradientFunction& gradient) override { sync_.step(learning_rate, gradient); }
  int learners() const override { return sync_.replicas(); }
  int gpu_of(int learner) const override { return learner; }
  const DeviceVector& model() const override { return sync_.parameters(0); }
};

class SmaTrainable final : public OnOneModel<sync::Sma> {
 public:
  using OnOneModel::OnOneModel;
  void step(double learning_rate, const GradientFunction& gradient) override { sync_.step(learning_rate, gradient); }
  int learners() const override { return sync_.learners(); }
  int gpu_of(int learner) const override { return sync_.gpu_of(learner); }
  const DeviceVector& model() const override { return sync_.average(); }
  void add_facts(Json& epoch) const override {
    epoch["learners"] = sync_.all_learners();
    epoch["restarts"] = sync_.restarts();
  }
  void add_learner(int gpu) override { sync_.add_learner(gpu); }
  void remove_learner(int gpu) override { sync_.remove_learner(gpu); }
};

class EaSgdTrainable final : public OnOneModel<sync::EaSgd> {
 public:
  EaSgdTrainable(const sync::Processes& processes, sync::EaSgd sync, int workers, int gpus)
      : OnOneModel(processes, std::move(sync)), workers_(workers), gpus_(gpus) {}
  void step(double learning_rate, const GradientFunction& gradient) override { sync_.step(learning_rate, gradient); }
  int learners() const override { return workers_; }
  int gpu_of(int learner) const override { return learner * gpus_ / workers_; }
  const DeviceVector& model() const override { return sync_.center(); }

 private:
  int workers_;
  int gpus_;
};

class BackupTrainable final : public OnOneModel<sync::BackupWorkers> {
 public:
  BackupTrainable(const sync::Processes& processes, sync::BackupWorkers sync, int workers, int backups)
      : OnOneModel(processes, std::move(sync)), workers_(workers), backups_(backups) {}
  void step(double learning_rate, const GradientFunction& gradient) override { sync_.step(learning_rate, gradient); }
  int learners() const override { return sync_.own_workers(); }
  Place place() const override { return {sync_.first_worker(), workers_ + backups_}; }
  int counted() const override { return workers_; }
  int gpu_of(int) const override { return 0; }
  const DeviceVector& model() const override { return sync_.parameters(); }
  void add_facts(Json& epoch) const override { epoch["simulated_s"] = sync_.time_s(); }

 private:
  int workers_;
  int backups_;
};

class StaleTrainable final : public OnOneModel<sync::StaleGradients> {
 public:
  using OnOneModel::OnOneModel;
  void step(double learning_rate, const GradientFunction& gradient) override { sync_.step(learning_rate, gradient); }
  int learners() const override { return sync_.replicas(); }
  int gpu_of(int learner) const override { return learner; }
  const DeviceVector& model() const override { return sync_.parameters(); }
};

}  // namespace

void Trainable::add_learner(int) {
  throw std::logic_error("this algorithm has a fixed number of learners");
}
void Trainable::remove_learner(int) {
  throw std::logic_error("this algorithm has a fixed number of learners");
}

namespace {

/// What a training algorithm is made of.
struct Making {
  const Settings& settings;
  const sync::Processes& processes;
  sync::VectorOps& ops;
  const sync::Layout& layout;
  const std::vector<float>& initial;
  std::int64_t images;

  int workers() const { return settings.request.gpus * settings.learners; }
};

using Made = std::unique_ptr<Trainable>;

Made make_s_sgd(const Making& m) {
  return std::make_unique<SSgdTrainable>(
      m.processes, sync::SSgd(m.ops, m.layout, m.initial, m.workers(), update_options(m.settings)));
}

Made make_sma(const Making& m) {
  const Settings& s = m.settings;
  const Request& r = s.request;
  const int learners = r.auto_tune ? 1 : s.learners;
  const double restart_drop = r.schedule == "steps" ? kRestartDrop : 1;  // see sma.hpp
  const sync::SmaOptions options{r.gpus,         learners, s.averaging,  r.alpha,           s.momentum,
                                 r.weight_decay, s.tau,    restart_drop, m.processes.rank()};
  return std::make_unique<SmaTrainable>(m.processes, sync::Sma(m.ops, m.layout, m.initial, options));
}

Made make_ea_sgd(const Making& m) {
  const Request& r = m.settings.request;
  const sync::EaSgdOptions options{m.workers(), r.alpha, r.weight_decay, m.settings.tau, r.gpus};
  return std::make_unique<EaSgdTrainable>(m.processes, sync::EaSgd(m.ops, m.layout, m.initial, options), m.workers(),
                                          r.gpus);
}

Made make_backup_workers(const Making& m) {
  const Settings& s = m.settings;
  const sync::BackupOptions options{m.workers(),    s.backups,           s.delay,
                                    s.request.seed, s.request.interrupt, m.processes.rank()};
  return std::make_unique<BackupTrainable>(
      m.processes, sync::BackupWorkers(m.ops, m.layout, m.initial, options, update_options(s)), m.workers(), s.backups);
}

Made make_stale(const Making& m) {
  const Settings& s = m.settings;
  const std::int64_t ramp = iterations_of(s, s.staleness_ramp_epochs, m.images);
  const sync::StalenessOptions options{s.staleness, s.request.staleness_drawn, s.request.seed, ramp, m.workers()};
  return std::make_unique<StaleTrainable>(m.processes,
                                          sync::StaleGradients(m.ops, m.layout, m.initial, options, update_options(s)));
}

}  // namespace

std::unique_ptr<Trainable> make_trainable(const Settings& s, const sync::Processes& processes, sync::VectorOps& ops,
                                          const sync::Layout& layout, const std::vector<float>& initial,
                                          std::int64_t images) {
  static const std::map<Algorithm, Made (*)(const Making&)> makers{{Algorithm::s_sgd, make_s_sgd},
                                                                   {Algorithm::sma, make_sma},
                                                                   {Algorithm::ea_sgd, make_ea_sgd},
                                                                   {Algorithm::backup_workers, make_backup_workers},
                                                                   {Algorithm::async_sgd, make_stale}};
  const auto maker = makers.find(s.algorithm);
  if (maker == makers.end()) throw std::logic_error(name_of(s.algorithm) + " is not trained");  // resolve() refuses it
  return maker->second({s, processes, ops, layout, initial, images});
}

}  // namespace lockstep::train
