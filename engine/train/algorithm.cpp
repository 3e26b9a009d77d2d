#include "engine/train/algorithm.hpp"

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

std::unique_ptr<Trainable> make_trainable(const Settings& s, const sync::Processes& processes, sync::VectorOps& ops,
                                          const sync::Layout& layout, const std::vector<float>& initial,
                                          std::int64_t images) {
  const Request& r = s.request;
  const int workers = r.gpus * s.learners;
  switch (s.algorithm) {
    case Algorithm::s_sgd:
      return std::make_unique<SSgdTrainable>(processes, sync::SSgd(ops, layout, initial, workers, update_options(s)));
    case Algorithm::sma: {
      const int learners = r.auto_tune ? 1 : s.learners;
      const double restart_drop = r.schedule == "steps" ? kRestartDrop : 1;  // see sma.hpp
      const sync::SmaOptions options{r.gpus,         learners, s.averaging,  r.alpha,         s.momentum,
                                     r.weight_decay, s.tau,    restart_drop, processes.rank()};
      return std::make_unique<SmaTrainable>(processes, sync::Sma(ops, layout, initial, options));
    }
    case Algorithm::ea_sgd: {
      const sync::EaSgdOptions options{workers, r.alpha, r.weight_decay, s.tau, r.gpus};
      return std::make_unique<EaSgdTrainable>(processes, sync::EaSgd(ops, layout, initial, options), workers, r.gpus);
    }
    case Algorithm::backup_workers: {
      const sync::BackupOptions options{workers, s.backups, s.delay, r.seed, r.interrupt, processes.rank()};
      return std::make_unique<BackupTrainable>(
          processes, sync::BackupWorkers(ops, layout, initial, options, update_options(s)), workers, s.backups);
    }
    case Algorithm::async_sgd: {
      const std::int64_t ramp = iterations_of(s, s.staleness_ramp_epochs, images);
      const sync::StalenessOptions options{s.staleness, r.staleness_drawn, r.seed, ramp, workers};
      return std::make_unique<StaleTrainable>(processes,
                                              sync::StaleGradients(ops, layout, initial, options, update_options(s)));
    }
    case Algorithm::parameter_server:
    case Algorithm::async_easgd:
    case Algorithm::local_sgd:
    case Algorithm::sharded:
    case Algorithm::theano_mpi:
      break;  // refused by resolve()
  }
  throw std::logic_error("no such algorithm");
}

}  // namespace lockstep::train
