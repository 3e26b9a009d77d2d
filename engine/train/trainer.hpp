#pragma once
// A training run: data, learners, algorithm and learning rate, evaluations, checkpoints, the record.
//
// An epoch ends with the iteration after which as many images have counted as the training set holds (times the number
// of the epoch). It ends with an evaluation; with --evaluations-per-epoch K there is one after every K-th part of the
// images, at the first iteration that completes it. The learning rate of an iteration is that of its number in a run
// with the first iteration's batch.
//
// On the host the same settings and seed give the same models bit by bit, whatever the number of threads and however
// often the run was killed and resumed; with --auto-tune, which acts on measured speed, they do not, and with
// --auto-tune-from, which decides as the run of a record did, they do. What processes train at their own pace (async-easgd,
// async-sgd --own-pace) is never quite the same.
//
// Several processes (mpirun) run this alike, each with its own learners: what they train is one model, its record and
// the checkpoint of all of them are written by process 0.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sync/moving_average.hpp"
#include "engine/train/evaluator.hpp"
#include "engine/train/images.hpp"
#include "engine/train/learners.hpp"
#include "engine/train/pipeline.hpp"
#include "engine/train/tuning.hpp"
#include "engine/train/weights.hpp"

namespace lockstep::train {

/// Who watches a run. Called on the thread that calls run().
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void resumed(std::int64_t /*epochs*/, std::int64_t /*iterations*/) {}
  /// After an iteration; `share` of the running epoch is done, in [0, 1].
  virtual void iteration(std::int64_t /*epoch*/, double /*share*/, double /*loss*/) {}
  /// After an epoch, with its entry in the record.
  virtual void epoch(const Json& /*epoch*/) {}
  virtual void tuned(int /*gpu*/, int /*learners*/) {}
  /// A line on the run's data.
  virtual void remark(const std::string& /*line*/) {}
};

class Trainer {
 public:
  /// Loads data and model, makes device and learners. Throws InputError, or std::runtime_error for the device.
  /// `processes`, where given, must outlive it and be settings.processes many.
  Trainer(const Settings& settings, const std::vector<std::string>& argv, sync::Processes* processes = nullptr);

  /// Trains to the end and returns the record, which it also writes to --output after every epoch. A run with a
  /// checkpoint stops at a signal (engine/base/interrupt.hpp): the checkpoint is written, and of the record there is
  /// only {"status": "interrupted", "epochs", "iterations"}.
  Json run(Observer& observer);

  /// Of the model that is evaluated.
  std::vector<float> parameters() const { return evaluated().to_host(); }

 private:
  using Clock = std::chrono::steady_clock;

  void restore(Observer& observer);
  void check_same_run(const Json& saved) const;
  void visit_state(RunVisitor& state);
  void save();
  void train_epoch(Observer& observer);
  void one_iteration();
  /// own_pace.cpp: an epoch, or the rest of one, of processes that do not keep step, in stretches between evaluations.
  void train_at_own_pace(Observer& observer);
  void one_stretch(Observer& observer);
  void finish_epoch(Observer& observer);
  /// Says how many images could not be read by now, where there are more than it said before.
  void remark_on_images(Observer& observer);
  Json data_facts() const;
  /// The algorithm's model, or its moving average.
  const sync::DeviceVector& evaluated() const { return average_ ? average_->value() : trainable_->model(); }
  double test_accuracy();
  void evaluate();
  /// Entries of `evaluations_` after so many iterations.
  Json evaluations_since(std::int64_t iterations) const;
  std::int64_t next_evaluation() const;
  bool has_finite_model();
  void decide_status();
  void tune(Observer& observer);
  bool has_room(int gpu);
  std::int64_t epoch_end() const;
  Json record(const std::string& model_digest);
  Json memory() const;
  double elapsed_s() const;

  void start_pipeline();
  /// Process 0's answer.
  bool all_agree(bool own);

  Settings settings_;
  sync::Processes alone_;
  sync::Processes& processes_;
  std::vector<std::string> argv_;
  std::map<std::string, std::string> inputs_;
  model::Graph graph_;
  std::optional<Weights> init_;  ///< --init
  Images images_;
  std::unique_ptr<device::Backend> backend_;
  std::unique_ptr<Trainable> trainable_;
  std::unique_ptr<sync::MovingAverage> average_;  ///< where asked for
  Learners learners_;
  Evaluator evaluator_;
  data::BatchOrder order_;
  InputPipeline pipeline_;
  sync::LearningRate schedule_;
  Tuning tuning_;
  Json tuned_ = Json::array();  ///< the decisions so far

  // State of the run, all of it in the checkpoint.
  std::int64_t position_ = 0;    ///< in the sequence of images
  std::int64_t counted_ = 0;     ///< images whose gradients counted
  std::int64_t iterations_ = 0;  ///< that were not dropped
  double train_s_ = 0;
  double epoch_s_ = 0;     ///< of the running epoch, and so on
  double epoch_loss_ = 0;  ///< sum
  std::int64_t epoch_losses_ = 0;
  std::int64_t epoch_counted_ = 0;
  std::int64_t resumed_ = 0;
  Json epochs_ = Json::array();
  Json evaluations_ = Json::array();  ///< only where there are several per epoch

  std::size_t remarked_images_ = 0;  ///< that could not be read

  std::string status_ = "running";
  double last_loss_ = 0;
  double learning_rate_ = 0;
  Clock::time_point begin_;
  Clock::time_point last_save_;
};

}  // namespace lockstep::train
