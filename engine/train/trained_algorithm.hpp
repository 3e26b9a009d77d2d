#pragma once
// A training algorithm in `train`. One file of algorithms/ declares it: the flags that it reads, the values that it
// refuses, the options that it adds to the record, and its construction. The command line, --help, the checks and the
// record follow from that. all_trained_algorithms() lists the files.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sync/update.hpp"
#include "engine/train/algorithm.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

/// A flag that the algorithm reads. Values of an algorithm's own flags are in Request::of_algorithm. Flags that all
/// runs share have their own fields there, and are only named here.
struct Flag {
  std::string name;  ///< "--tau"
  std::string help;  ///< with the default value in brackets; empty: a flag of all runs
  bool is_switch = false;
};

/// Defaults of an algorithm.
struct Usual {
  int learners = 1;  ///< per GPU
  int batch = 16;
  /// A rate at which LeNet learns from the first iteration on, with MNIST and with synthetic images.
  double learning_rate = 0.005;
};

/// The arguments of TrainedAlgorithm::make().
struct TrainableInputs {
  const Settings& settings;
  sync::Processes& processes;
  sync::VectorOps& ops;
  const sync::Layout& layout;
  const std::vector<float>& initial;
  std::int64_t images;  ///< size of the training set, for options given in epochs

  int workers() const { return settings.request.gpus * settings.learners; }
};

class TrainedAlgorithm {
 public:
  virtual ~TrainedAlgorithm() = default;
  virtual Algorithm algorithm() const = 0;
  /// One line for --help.
  virtual std::string summary() const = 0;
  virtual std::vector<Flag> flags() const = 0;
  virtual Usual usual() const { return {}; }
  /// Checks values, and which flags may be combined. Throws InputError.
  virtual void check(const Request& /*request*/, int /*processes*/) const {}
  /// Adds the algorithm's options to the record; `settings` are resolved.
  virtual void add_to_json(const Settings& /*settings*/, Json& /*json*/) const {}
  /// The number of learners per process, on all its GPUs, that use a batch in every iteration; the maximum over
  /// processes.
  virtual int learners_of_process(const Settings& s) const { return s.request.gpus * s.learners; }
  /// The number of images per iteration whose gradients are used.
  virtual std::int64_t global_batch(const Settings& s) const {
    return std::int64_t{s.processes} * s.request.gpus * s.learners * s.batch;
  }
  /// The number of replicas among which an optimizer's state is divided.
  virtual int shards(const Settings& /*settings*/) const { return 1; }
  virtual std::unique_ptr<Trainable> make(const TrainableInputs& inputs) const = 0;

  bool reads(const std::string& flag) const;
};

/// Lists all algorithms in the order of --help.
const std::vector<const TrainedAlgorithm*>& all_trained_algorithms();
/// Throws std::logic_error for an algorithm that `train` does not support; resolve() refuses it earlier.
const TrainedAlgorithm& trained_algorithm(Algorithm algorithm);

/// The run's update rule, momentum, decay and LARS.
sync::UpdateOptions update_options(const Settings& settings);
/// The bytes of optimizer state per replica; with sharding, its shard. 0 if the algorithm has its own update rules.
std::int64_t optimizer_bytes(const Settings& settings, std::int64_t parameters);
/// The flags of update rules that a command line may have, followed by `others`.
std::vector<Flag> update_flags(std::vector<Flag> others = {});

// ---- values of flags; each invalid one is refused with one line ----

bool is_given(const Request& request, const std::string& flag);
std::optional<std::string> word_of(const Request& request, const std::string& flag);
std::optional<double> number_of(const Request& request, const std::string& flag);
/// These two throw unless the number is above 0, or at least 0.
std::optional<double> positive_of(const Request& request, const std::string& flag);
std::optional<double> at_least_0_of(const Request& request, const std::string& flag);
/// The number must be at least 0 and below 1.
std::optional<double> share_of(const Request& request, const std::string& flag);
std::optional<std::int64_t> whole_of(const Request& request, const std::string& flag, std::int64_t least,
                                     std::int64_t most);
/// Iterations, by default 1; sync::kNever if `may_be_never` and the flag says so.
int tau_of(const Request& request, bool may_be_never);
/// --alpha, from 0 to 1.
std::optional<double> pull_of(const Request& request);
Flag alpha_flag();
Json alpha_json(const Request& request);
[[noreturn]] void refuse(const std::string& flag, const std::string& wrong, const std::string& allowed);

/// Refuses more than one replica per GPU, because more learners would only be a larger batch.
void require_one_replica_per_gpu(const Request& request, Algorithm algorithm);

// ---- shared by several of algorithms/ ----

/// A Trainable that wraps an algorithm of engine/sync.
template <typename Sync>
class TrainableOf : public Trainable {
 public:
  TrainableOf(const sync::Processes& processes, Sync sync) : Trainable(processes), sync_(std::move(sync)) {}
  void step(double learning_rate, const sync::GradientFunction& gradient) override {
    sync_.step(learning_rate, gradient);
  }
  void visit_state(sync::StateVisitor& state) override { sync_.visit_state(state); }

 protected:
  Sync sync_;
};

/// A TrainableOf that has one replica on each GPU.
template <typename Sync>
class TrainableOfReplicas : public TrainableOf<Sync> {
 public:
  using TrainableOf<Sync>::TrainableOf;
  int learners() const override { return this->sync_.replicas(); }
  int gpu_of(int learner) const override { return learner; }
};

/// Adds to an epoch's record the staleness of the workers' gradients, and the iterations of each process.
void add_meetings(const sync::Centre& centre, Json& epoch);

/// A Trainable whose processes visit a centre, each at its own pace.
template <typename Sync>
class AsynchronousTrainable : public Trainable {
 public:
  /// `arguments` are those of Sync.
  template <typename... Arguments>
  explicit AsynchronousTrainable(sync::Processes& processes, Arguments&&... arguments)
      : Trainable(processes), sync_(processes, std::forward<Arguments>(arguments)...) {}
  void step(double learning_rate, const sync::GradientFunction& gradient) override {
    sync_.step(learning_rate, gradient);
  }
  int learners() const override { return 1; }
  int gpu_of(int /*learner*/) const override { return 0; }
  int counted() const override { return 1; }  // each iteration is one worker's
  const sync::DeviceVector& model() const override { return sync_.parameters(); }
  void visit_state(sync::StateVisitor& state) override { sync_.visit_state(state); }
  void add_facts(Json& epoch) const override { add_meetings(sync_.centre(), epoch); }
  sync::Centre* centre() override { return &sync_.centre(); }
  void begin_stretch(std::int64_t iterations) override { sync_.begin(iterations); }

 private:
  Sync sync_;
};

/// Refuses options that an asynchronous run does not support: one process, several learners per process, GPUs, fp16.
void check_asynchronous(const Request& request, int processes, const std::string& what);

}  // namespace lockstep::train
