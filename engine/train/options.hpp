#pragma once
// The options of `train`, and the settings that follow. A Request is the command line as given. resolve() fills in the
// algorithm's defaults, and refuses impossible options with one line, `--flag: what is wrong; what is allowed`.
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

  /// Flags that only some algorithms read, as "--tau" -> "4" (trained_algorithm.hpp); a switch has the value "".
  std::map<std::string, std::string> of_algorithm;

  std::string init;     ///< initial weights, safetensors
  std::string weights;  ///< written at the end, safetensors

  std::string checkpoint;
  double checkpoint_minutes = 10;
  bool resume = false;
  bool overwrite = false;  ///< replaces an existing checkpoint
  std::string output;
  bool quiet = false;
  bool memory_plan = false;
};

/// The condition that ends training before its last epoch.
enum class Stop {
  target,  ///< test accuracy reaches the target
  median,  ///< the median of the last 5 test accuracies reaches the target
  never
};

struct Settings {
  Request request;
  Algorithm algorithm;
  device::Precision precision;
  device::Precision wire;  ///< of gradients between GPUs
  Stop stop;
  int learners;  ///< per GPU; for backup workers N of all processes, without the backups
  int batch;     ///< per learner
  double learning_rate;
  double momentum;
  sync::UpdateRule rule;
  int processes = 1;  ///< of mpirun, each with `request.gpus` GPUs

  /// The number of learners per process, on all its GPUs, that use a batch in every iteration; the maximum over
  /// processes.
  int learners_of_process() const;
  /// The number of images per iteration whose gradients are used.
  std::int64_t global_batch() const;
  /// Whether the number of learners is adapted to the observed throughput.
  bool tunes_learners() const { return request.of_algorithm.count("--auto-tune") > 0 || !tuned_like().empty(); }
  /// The record whose tuning decisions are repeated; empty: none.
  std::string tuned_like() const {
    const auto found = request.of_algorithm.find("--auto-tune-from");
    return found == request.of_algorithm.end() ? std::string() : found->second;
  }
};

/// Resolves a request for a run of `processes` processes. Throws InputError.
Settings resolve(const Request& request, int processes = 1);
/// Returns the learning rate of every iteration, for `images` training images.
sync::LearningRate learning_rate_schedule(const Settings& settings, std::int64_t images);
/// Converts epochs to iterations, rounded up.
std::int64_t iterations_of(const Settings& settings, double epochs, std::int64_t images);

/// The resolved settings by flag. `only_lasting` omits those that may change between parts of a run (`--epochs`,
/// `--target`, files, threads). Two runs with the same lasting settings compute the same numbers.
Json to_json(const Settings& settings, bool only_lasting);
/// Whether two values of a key of to_json() mean the same; an algorithm may have several names.
bool is_same_setting(const std::string& key, const Json& a, const Json& b);

}  // namespace lockstep::train
