#pragma once
// A training algorithm as `train` knows it: one file of algorithms/ declares what it is, the flags that it reads, what of
// them is refused, what the record keeps of them, and how it is made. The command line, --help, the checks and the record
// follow from that; all_trained_algorithms() names the files.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sync/update.hpp"
#include "engine/train/algorithm.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

/// Something that the algorithm reads of the command line. The values of flags of algorithms are in
/// Request::of_algorithm; flags that all runs share have fields of their own, and are only named here.
struct Flag {
  std::string name;  ///< "--tau"
  std::string help;  ///< with the usual value in brackets; empty: of all runs
  bool is_switch = false;
};

/// Where nobody says so.
struct Usual {
  int learners = 1;  ///< per GPU
  int batch = 16;
  /// Rates at which LeNet learns from the first iteration on, with MNIST as with synthetic images.
  double learning_rate = 0.005;
};

/// What TrainedAlgorithm::make() needs.
struct TrainableInputs {
  const Settings& settings;
  sync::Processes& processes;
  sync::VectorOps& ops;
  const sync::Layout& layout;
  const std::vector<float>& initial;
  std::int64_t images;  ///< of the training set, for what is given in epochs

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
  /// Of values, beside which flags are given at all. Throws InputError.
  virtual void check(const Request& /*request*/, int /*processes*/) const {}
  /// The record's options, of `settings` that were resolved.
  virtual void add_to_json(const Settings& /*settings*/, Json& /*json*/) const {}
  /// Learners of all GPUs of a process that take a batch in every iteration; the most that any process has.
  virtual int learners_of_process(const Settings& s) const { return s.request.gpus * s.learners; }
  /// Images of an iteration whose gradients count.
  virtual std::int64_t global_batch(const Settings& s) const {
    return std::int64_t{s.processes} * s.request.gpus * s.learners * s.batch;
  }
  /// Replicas that an optimizer's state is shared out among.
  virtual int shards(const Settings& /*settings*/) const { return 1; }
  virtual std::unique_ptr<Trainable> make(const TrainableInputs& inputs) const = 0;

  bool reads(const std::string& flag) const;
};

/// In the order in which they are listed.
const std::vector<const TrainedAlgorithm*>& all_trained_algorithms();
/// Throws std::logic_error for one that is not trained: resolve() refuses it before.
const TrainedAlgorithm& trained_algorithm(Algorithm algorithm);

/// Rule, momentum, decay and LARS of the run.
sync::UpdateOptions update_options(const Settings& settings);
/// Bytes of a replica's state of updates, its share where they are shared out; 0 where the algorithm has rules of its own.
std::int64_t optimizer_bytes(const Settings& settings, std::int64_t parameters);
/// What of them is read of the command line; the others follow.
std::vector<Flag> update_flags(std::vector<Flag> others = {});

// ---- values of flags, each refused in one line where it is none ----

bool is_given(const Request& request, const std::string& flag);
std::optional<std::string> word_of(const Request& request, const std::string& flag);
std::optional<double> number_of(const Request& request, const std::string& flag);
/// Above 0, and 0 or more.
std::optional<double> positive_of(const Request& request, const std::string& flag);
std::optional<double> at_least_0_of(const Request& request, const std::string& flag);
/// 0 or more, below 1.
std::optional<double> share_of(const Request& request, const std::string& flag);
std::optional<std::int64_t> whole_of(const Request& request, const std::string& flag, std::int64_t least,
                                     std::int64_t most);
/// Iterations, 1 unless given; sync::kNever where `may_be_never`.
int tau_of(const Request& request, bool may_be_never);
/// --alpha, from 0 to 1.
std::optional<double> pull_of(const Request& request);
Flag alpha_flag();
Json alpha_json(const Request& request);
[[noreturn]] void refuse(const std::string& flag, const std::string& wrong, const std::string& allowed);

/// One replica per GPU: more learners would be a larger batch.
void require_one_replica(const Request& request, Algorithm algorithm);

// ---- what several of algorithms/ share ----

/// A Trainable that is an algorithm of engine/sync.
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

/// The same with a replica on each GPU.
template <typename Sync>
class TrainableOfReplicas : public TrainableOf<Sync> {
 public:
  using TrainableOf<Sync>::TrainableOf;
  int learners() const override { return this->sync_.replicas(); }
  int gpu_of(int learner) const override { return learner; }
};

/// Adds to an epoch's record the staleness of the workers' gradients, and the iterations of each process.
void add_meetings(const sync::Centre& centre, Json& epoch);

/// A Trainable whose processes come to a centre, each at its own pace.
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
  int counted() const override { return 1; }  // the images of an iteration of one of them
  const sync::DeviceVector& model() const override { return sync_.parameters(); }
  void visit_state(sync::StateVisitor& state) override { sync_.visit_state(state); }
  void add_facts(Json& epoch) const override { add_meetings(sync_.centre(), epoch); }
  sync::Centre* centre() override { return &sync_.centre(); }
  void begin_stretch(std::int64_t iterations) override { sync_.begin(iterations); }

 private:
  Sync sync_;
};

/// What a run of processes that do not keep step cannot be: of one process, of several learners each, on GPUs, in fp16.
void check_asynchronous(const Request& request, int processes, const std::string& what);

}  // namespace lockstep::train
