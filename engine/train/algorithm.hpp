#pragma once
// One interface for the algorithms of engine/sync, which the trainer uses.
#include <memory>
#include <vector>

#include "engine/sync/centre.hpp"
#include "engine/sync/learner.hpp"
#include "engine/sync/processes.hpp"
#include "engine/sync/state.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

class Trainable {
 public:
  /// The learners of this process have the numbers [first, first + learners()) among `all`.
  struct Place {
    int first;
    int all;
  };

  explicit Trainable(const sync::Processes& processes) : rank_(processes.rank()), processes_(processes.count()) {}
  virtual ~Trainable() = default;

  virtual void step(double learning_rate, const sync::GradientFunction& gradient) = 0;
  /// The number of learners of this process that get a batch in every iteration, and the GPU of each.
  virtual int learners() const = 0;
  virtual int gpu_of(int learner) const = 0;
  /// Returns the position of this process's learners among those of all processes.
  virtual Place place() const { return {rank_ * learners(), processes_ * learners()}; }
  /// The number of gradients per iteration that are used, over all processes. With backup workers it is below the
  /// number of learners.
  virtual int counted() const { return place().all; }
  /// The model to evaluate: the average model, the centre, or the parameters. It is on device 0.
  virtual const sync::DeviceVector& model() const = 0;
  virtual void visit_state(sync::StateVisitor& state) = 0;
  /// Adds facts that only this algorithm knows to an epoch's record.
  virtual void add_facts(Json& /*epoch*/) const {}
  /// Adds the measurements since the last evaluation to its entry; with one evaluation per epoch, to the epoch's entry.
  virtual void add_measurements(Json& /*entry*/) {}

  /// The centre of an asynchronous algorithm; null for a synchronous one. With a centre, begin_stretch() starts a
  /// stretch and Centre::end() ends it. In between, step() is an iteration of this process's only learner.
  virtual sync::Centre* centre() { return nullptr; }
  virtual void begin_stretch(std::int64_t /*iterations*/) {}

  /// Adds or removes a learner on `gpu`; throws std::logic_error for algorithms with a fixed number.
  virtual void add_learner(int gpu);
  virtual void remove_learner(int gpu);

 private:
  int rank_;
  int processes_;
};

/// `images` is the size of the training set, which converts options given in epochs. `ops` must use the same
/// `processes`.
std::unique_ptr<Trainable> make_trainable(const Settings& settings, sync::Processes& processes, sync::VectorOps& ops,
                                          const sync::Layout& layout, const std::vector<float>& initial,
                                          std::int64_t images);

}  // namespace lockstep::train
