#pragma once
// What the user asks of `train`, and what follows from it. A Request is the command line as given; resolve() fills in
// the defaults of the algorithm and refuses what cannot be, in one line `--flag: what is wrong; what is allowed`.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/device/backend.hpp"
#include "engine/sync/algorithm.hpp"
#include "engine/sync/learning_rate.hpp"
#include "engine/sync/update.hpp"

namespace lockstep::train {

struct Request {
  std::string model = "lenet";
  std::string data = "mnist";
  std::string data_dir;
  std::string algorithm = "s-sgd";
  std::string device = "host";
  std::string precision;  ///< empty: device::usual_precision()
  std::string wire;       ///< empty: fp32
  int gpus = 1;
  std::optional<int> learners;
  std::optional<int> batch;
  int threads = 0;
  std::optional<std::int64_t> train_images, test_images;
  bool augment = false;
  std::string bad_images = "refuse";  ///< or "skip": data::BadImages
  bool is_self_checked = true;
  std::optional<double> moving_average;
  std::uint64_t seed = 1;

  std::optional<double> target;
  std::string stop = "target";
  int epochs = 30;
  int evaluations_per_epoch = 1;
  std::optional<double> max_minutes;

  std::optional<double> learning_rate, momentum;
  std::string optimizer = "momentum";  ///< sync::UpdateRule
  double weight_decay = 0;
  std::string schedule = "constant";
  std::vector<int> step_epochs;
  std::optional<double> step_factor;
  std::optional<double> linear_from;
  double warmup_epochs = 0;
  std::optional<double> lars;

  /// Flags that only some algorithms read, as "--tau" -> "4" (trained_algorithm.hpp); of switches "".
  std::map<std::string, std::string> of_algorithm;

  std::string init;     ///< weights to begin with, safetensors
  std::string weights;  ///< written at the end, safetensors

  std::string checkpoint;
  double checkpoint_minutes = 10;
  bool resume = false;
  bool overwrite = false;  ///< of a checkpoint that is there
  std::string output;
  bool quiet = false;
  bool memory_plan = false;
};

/// When training ends before its last epoch.
enum class Stop {
  target,  ///< test accuracy reaches the target
  median,  ///< the median of the last 5 test accuracies reaches it
  never
};

struct Settings {
  Request request;
  Algorithm algorithm;
  device::Precision precision;
  device::Precision wire;  ///< of gradients between GPUs
  Stop stop;
  int learners;  ///< per GPU; of backup workers N of all processes, without the backups
  int batch;     ///< of a learner
  double learning_rate;
  double momentum;
  sync::UpdateRule rule;
  int processes = 1;  ///< of mpirun, each with `request.gpus` GPUs

  /// Learners of all GPUs of a process that take a batch in every iteration; the most that any process has.
  int learners_of_process() const;
  /// Images of an iteration whose gradients count.
  std::int64_t global_batch() const;
  /// Whether the number of learners follows the observed throughput.
  bool tunes_learners() const { return request.of_algorithm.count("--auto-tune") > 0 || !tuned_like().empty(); }
  /// The record whose decisions on that number are made again; empty: none.
  std::string tuned_like() const {
    const auto found = request.of_algorithm.find("--auto-tune-from");
    return found == request.of_algorithm.end() ? std::string() : found->second;
  }
};

/// For a run of `processes` processes. Throws InputError.
Settings resolve(const Request& request, int processes = 1);
/// Learning rate of every iteration, for `images` training images.
sync::LearningRate schedule_of(const Settings& settings, std::int64_t images);
/// Epochs as a number of iterations, rounded up.
std::int64_t iterations_of(const Settings& settings, double epochs, std::int64_t images);

/// As resolved, by flag. What may change from one part of a run to the next (`--epochs`, `--target`, files, threads)
/// is left out when `only_lasting`: two runs with the same lasting settings see the same numbers.
Json to_json(const Settings& settings, bool only_lasting);
/// Whether two values of a key of to_json() mean the same: an algorithm may be written by any of its names.
bool is_same_setting(const std::string& key, const Json& a, const Json& b);

}  // namespace lockstep::train
