#pragma once
// A training run: data, learners, algorithm and learning rate, evaluations, checkpoints, the record.
//
// Epoch E ends with the iteration after which at least E times the number of training images have been used. It ends
// with an evaluation. With --evaluations-per-epoch K there is an evaluation after every K-th part of the images, at the
// first iteration that completes it. The learning rate of an iteration follows from its number, in a run that keeps the
// batch of the first iteration.
//
// On the host, the same settings and seed give bit-identical models, for any number of threads and any number of
// kills and resumes. That also holds with --auto-tune-from, which repeats the decisions of a recorded run. It does
// not hold with --auto-tune, which acts on measured speed, nor for asynchronous processes (async-easgd, async-sgd
// --own-pace).
//
// All processes of mpirun run this, each with its own learners. They train one model; process 0 writes its record and
// the checkpoint of all of them.
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

/// Observes a run. Called on the thread that calls run().
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void resumed(std::int64_t /*epochs*/, std::int64_t /*iterations*/) {}
  /// Called after an iteration; `share`, in [0, 1], is the fraction of the current epoch that is done.
  virtual void iteration(std::int64_t /*epoch*/, double /*share*/, double /*loss*/) {}
  /// Called after an epoch, with its entry in the record.
  virtual void epoch(const Json& /*epoch*/) {}
  virtual void tuned(int /*gpu*/, int /*learners*/) {}
  /// Reports a line about the run's data.
  virtual void remark(const std::string& /*line*/) {}
};

class Trainer {
 public:
  /// Loads data and model, and creates device and learners. Throws InputError, or std::runtime_error for the device.
  /// `processes`, if given, must outlive this object and have settings.processes processes.
  Trainer(const Settings& settings, const std::vector<std::string>& argv, sync::Processes* processes = nullptr);

  /// Trains to the end and returns the record, which it also writes to --output after every epoch. A run with a
  /// checkpoint stops at a signal (engine/base/interrupt.hpp). It then writes the checkpoint and returns only
  /// {"status": "interrupted", "epochs", "iterations"}.
  Json run(Observer& observer);

  /// The parameters of the model that is evaluated.
  std::vector<float> parameters() const { return evaluated().to_host(); }

 private:
  using Clock = std::chrono::steady_clock;

  void restore(Observer& observer);
  void check_same_run(const Json& saved) const;
  void visit_state(RunVisitor& state);
  void save();
  void train_epoch(Observer& observer);
  void one_iteration();
  /// In own_pace.cpp: trains an epoch, or its rest, with asynchronous processes, in stretches between evaluations.
  void train_at_own_pace(Observer& observer);
  void one_stretch(Observer& observer);
  void finish_epoch(Observer& observer);
  /// Reports the number of unreadable images if it has grown since the last report.
  void remark_on_images(Observer& observer);
  Json data_facts() const;
  /// The algorithm's model, or its moving average.
  const sync::DeviceVector& evaluated() const { return average_ ? average_->value() : trainable_->model(); }
  double test_accuracy();
  void evaluate();
  /// Returns the entries of `evaluations_` after iteration `iterations`.
  Json evaluations_since(std::int64_t iterations) const;
  /// Returns the number of images, since the start, at which the next evaluation is due: after the next K-th part of an
  /// epoch; for K = 1 at the epoch's end.
  std::int64_t images_at_next_evaluation() const;
  bool has_finite_model();
  void decide_status();
  void tune(Observer& observer);
  bool has_room(int gpu);
  std::int64_t epoch_end() const;
  Json record(const std::string& model_digest);
  Json memory() const;
  double elapsed_s() const;

  void start_pipeline();
  /// Returns process 0's answer in all processes.
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
  std::unique_ptr<sync::MovingAverage> average_;  ///< null unless requested
  Learners learners_;
  Evaluator evaluator_;
  data::BatchOrder order_;
  InputPipeline pipeline_;
  sync::LearningRate schedule_;
  Tuning tuning_;
  Json tuned_ = Json::array();  ///< decisions so far

  // The state of the run; the checkpoint holds all of it.
  std::int64_t position_ = 0;    ///< in the sequence of images
  std::int64_t counted_ = 0;     ///< images whose gradients counted
  std::int64_t iterations_ = 0;  ///< without dropped ones
  double train_s_ = 0;
  double epoch_s_ = 0;     ///< of the current epoch, as the fields below
  double epoch_loss_ = 0;  ///< sum
  std::int64_t epoch_losses_ = 0;
  std::int64_t epoch_counted_ = 0;
  std::int64_t resumed_ = 0;
  Json epochs_ = Json::array();
  Json evaluations_ = Json::array();  ///< empty unless there are several per epoch

  std::size_t remarked_images_ = 0;  ///< unreadable images reported so far

  std::string status_ = "running";
  double last_loss_ = 0;
  double learning_rate_ = 0;
  Clock::time_point begin_;
  Clock::time_point last_save_;
};

}  // namespace lockstep::train
