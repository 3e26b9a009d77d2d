#pragma once
// The algorithms of engine/sync behind one face, for the trainer.
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
  /// The learners of this process are numbers [first, first + learners()) of `all`.
  struct Place {
    int first;
    int all;
  };

  explicit Trainable(const sync::Processes& processes) : rank_(processes.rank()), processes_(processes.count()) {}
  virtual ~Trainable() = default;

  virtual void step(double learning_rate, const sync::GradientFunction& gradient) = 0;
  /// Learners of this process that get a batch in every iteration, and the GPU that each lies on.
  virtual int learners() const = 0;
  virtual int gpu_of(int learner) const = 0;
  /// Where they stand among those of all processes.
  virtual Place place() const { return {rank_ * learners(), processes_ * learners()}; }
  /// Gradients of an iteration that count, of all processes; fewer than there are learners with backup workers.
  virtual int counted() const { return place().all; }
  /// What is evaluated: the average model, the centre, or the parameters. On device 0.
  virtual const sync::DeviceVector& model() const = 0;
  virtual void visit_state(sync::StateVisitor& state) = 0;
  /// Of an epoch's record: what only this algorithm knows.
  virtual void add_facts(Json& /*epoch*/) const {}
  /// Adds to an evaluation's entry what was measured since the last one; to the epoch's, if there is one per epoch.
  virtual void add_measurements(Json& /*entry*/) {}

  /// Of an algorithm whose processes do not keep step: where they meet. step() is then an iteration of this process's
  /// only learner, between begin_stretch(), which begins a stretch at the centre, and Centre::end(). Null: they do.
  virtual sync::Centre* centre() { return nullptr; }
  virtual void begin_stretch(std::int64_t /*iterations*/) {}

  /// Learners one more or one less on `gpu`; throws std::logic_error for algorithms with a fixed number.
  virtual void add_learner(int gpu);
  virtual void remove_learner(int gpu);

 private:
  int rank_;
  int processes_;
};

/// `images`: of the training set, for what is given in epochs. `ops` must be over the same `processes`.
std::unique_ptr<Trainable> make_trainable(const Settings& settings, sync::Processes& processes, sync::VectorOps& ops,
                                          const sync::Layout& layout, const std::vector<float>& initial,
                                          std::int64_t images);

}  // namespace lockstep::train
