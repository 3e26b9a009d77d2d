#include "engine/train/options.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"

namespace lockstep::train {
namespace {

constexpr int kWorkers = 4;  // of EA-SGD and of backup workers, unless given
constexpr int kBackups = 1;

[[noreturn]] void refuse(const std::string& flag, const std::string& wrong, const std::string& allowed) {
  throw InputError(flag + ": " + wrong + "; allowed: " + allowed);
}

template <typename Value>
Value choose(const std::string& flag, const std::string& text, const std::vector<std::string>& names,
             const std::vector<Value>& values) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) refuse(flag, in_quotes(text) + " is unknown", joined(names));
  return values[static_cast<std::size_t>(found - names.begin())];
}

void within(const std::string& flag, double value, double low, double high, const std::string& allowed) {
  if (!(value >= low && value <= high)) refuse(flag, short_number(value) + " is out of range", allowed);
}

void positive(const std::string& flag, const std::optional<double>& value) {
  if (value && !(*value > 0 && std::isfinite(*value)))
    refuse(flag, short_number(*value) + " is out of range", "above 0");
}

void at_least_0(const std::string& flag, const std::optional<double>& value) {
  if (value && !(*value >= 0 && std::isfinite(*value)))
    refuse(flag, short_number(*value) + " is out of range", "0 or more");
}

void at_least_1(const std::string& flag, const std::optional<std::int64_t>& value, std::int64_t most) {
  if (value && (*value < 1 || *value > most))
    refuse(flag, std::to_string(*value) + " is out of range", "1 to " + std::to_string(most));
}

std::string names_of(const std::vector<Algorithm>& algorithms) {
  std::vector<std::string> names;
  for (const Algorithm algorithm : algorithms) names.push_back(name_of(algorithm));
  return joined(names);
}

Algorithm algorithm_of(const std::string& name) {
  const std::optional<Algorithm> found = find_choice<Algorithm>(name);
  const std::vector<Algorithm>& trained = trained_algorithms();
  if (!found) refuse("--algorithm", in_quotes(name) + " is unknown", names_of(trained));
  if (std::find(trained.begin(), trained.end(), *found) == trained.end())
    refuse("--algorithm", in_quotes(name) + " is predicted by simulate, and not trained", names_of(trained));
  return *found;
}

/// A flag that only some algorithms read.
void only_with(const std::string& flag, bool given, Algorithm algorithm, const std::vector<Algorithm>& readers) {
  if (!given || std::find(readers.begin(), readers.end(), algorithm) != readers.end()) return;
  refuse(flag, "has no meaning with --algorithm " + name_of(algorithm), "with " + names_of(readers));
}

void check_flags_of_algorithms(const Request& r, Algorithm algorithm) {
  using A = Algorithm;
  only_with("--tau", r.tau.has_value(), algorithm, {A::sma, A::ea_sgd});
  only_with("--alpha", r.alpha.has_value(), algorithm, {A::sma, A::ea_sgd});
  only_with("--averaging", r.averaging.has_value(), algorithm, {A::sma});
  only_with("--auto-tune", r.auto_tune, algorithm, {A::sma});
  only_with("--momentum", r.momentum.has_value(), algorithm, {A::s_sgd, A::sma, A::backup_workers, A::async_sgd});
  only_with("--moving-average", r.moving_average.has_value(), algorithm, {A::s_sgd, A::backup_workers, A::async_sgd});
  only_with("--lars", r.lars.has_value(), algorithm, {A::s_sgd, A::backup_workers, A::async_sgd});
  only_with("--backups", r.backups.has_value(), algorithm, {A::backup_workers});
  only_with("--delay", r.delay.has_value(), algorithm, {A::backup_workers});
  only_with("--delay-scale", r.delay_scale_s.has_value(), algorithm, {A::backup_workers});
  only_with("--delay-shape", r.delay_shape.has_value(), algorithm, {A::backup_workers});
  only_with("--delay-shift", r.delay_shift_s.has_value(), algorithm, {A::backup_workers});
  only_with("--interrupt", r.interrupt, algorithm, {A::backup_workers});
  only_with("--staleness", r.staleness.has_value(), algorithm, {A::async_sgd});
  only_with("--staleness-drawn", r.staleness_drawn, algorithm, {A::async_sgd});
  only_with("--staleness-ramp-epochs", r.staleness_ramp_epochs.has_value(), algorithm, {A::async_sgd});
}

void check_counts(const Request& r, Algorithm algorithm) {
  at_least_1("--gpus", r.gpus, 1024);
  at_least_1("--learners", r.learners, 1024);
  at_least_1("--batch", r.batch, 65536);
  at_least_1("--epochs", r.epochs, 1'000'000);
  at_least_1("--evaluations-per-epoch", r.evaluations_per_epoch, 1000);
  at_least_1("--train-images", r.train_images, std::int64_t{1} << 32);
  at_least_1("--test-images", r.test_images, std::int64_t{1} << 32);
  if (r.threads < 0 || r.threads > 1024)
    refuse("--threads", std::to_string(r.threads) + " is out of range", "0 (one per core) to 1024");
  if (r.backups && (*r.backups < 0 || *r.backups > 1024))
    refuse("--backups", std::to_string(*r.backups) + " is out of range", "0 to 1024");
  if (r.staleness && (*r.staleness < 0 || *r.staleness > 10000))
    refuse("--staleness", std::to_string(*r.staleness) + " is out of range", "0 to 10000");
  const bool one_replica_per_gpu = algorithm == Algorithm::s_sgd || algorithm == Algorithm::async_sgd;
  if (one_replica_per_gpu && r.learners.value_or(1) != 1)
    refuse("--learners", name_of(algorithm) + " has one replica per GPU", "1 (a larger --batch has the same effect)");
  if (r.auto_tune && r.learners)
    refuse("--learners", "the auto-tuner chooses it, beginning with one", "without --auto-tune");
  if (algorithm == Algorithm::backup_workers && r.gpus != 1)
    refuse("--gpus", "backup workers share one set of parameters", "1 (--learners N --backups b)");
}

void check_numbers(const Request& r) {
  positive("--learning-rate", r.learning_rate);
  positive("--max-minutes", r.max_minutes);
  positive("--checkpoint-minutes", r.checkpoint_minutes);
  positive("--step-factor", r.step_factor);
  positive("--lars", r.lars);
  positive("--delay-scale", r.delay_scale_s);
  positive("--delay-shape", r.delay_shape);
  at_least_0("--delay-shift", r.delay_shift_s);
  at_least_0("--weight-decay", r.weight_decay);
  at_least_0("--warmup-epochs", r.warmup_epochs);
  at_least_0("--staleness-ramp-epochs", r.staleness_ramp_epochs);
  if (r.alpha) within("--alpha", *r.alpha, 0, 1, "0 to 1");
  if (r.momentum && !(*r.momentum >= 0 && *r.momentum < 1))
    refuse("--momentum", short_number(*r.momentum) + " is out of range", "0 to below 1");
  if (r.moving_average && !(*r.moving_average > 0 && *r.moving_average < 1))
    refuse("--moving-average", short_number(*r.moving_average) + " is out of range", "above 0, below 1");
  if (r.target && !(*r.target > 0 && *r.target <= 1))
    refuse("--target", short_number(*r.target) + " is out of range", "a test accuracy above 0, up to 1");
}

void check_schedule(const Request& r) {
  choose<int>("--schedule", r.schedule, {"constant", "steps", "linear"}, {0, 1, 2});
  const bool steps = r.schedule == "steps";
  if (steps && r.step_epochs.empty()) refuse("--schedule steps", "without --step-epochs", "--step-epochs 30,60");
  if (!steps && (!r.step_epochs.empty() || r.step_factor))
    refuse(r.step_factor ? "--step-factor" : "--step-epochs", "has no meaning with --schedule " + r.schedule,
           "with --schedule steps");
  for (std::size_t i = 0; i < r.step_epochs.size(); ++i) {
    if (r.step_epochs[i] < 1 || (i > 0 && r.step_epochs[i] <= r.step_epochs[i - 1]))
      refuse("--step-epochs", "the epochs do not rise", "rising numbers from 1 on");
  }
  if (r.linear_from && r.schedule != "linear")
    refuse("--linear-from", "has no meaning with --schedule " + r.schedule, "with --schedule linear");
  if (r.linear_from && !(*r.linear_from >= 0 && *r.linear_from < r.epochs))
    refuse("--linear-from", short_number(*r.linear_from) + " is out of range", "0 to below --epochs");
}

void check_files(const Request& r) {
  if (r.resume && r.checkpoint.empty()) refuse("--resume", "without a checkpoint", "with --checkpoint FILE");
  if (r.overwrite && r.checkpoint.empty()) refuse("--overwrite", "without a checkpoint", "with --checkpoint FILE");
  if (r.overwrite && r.resume) refuse("--overwrite", "beside --resume", "one of the two");
  if (r.stop != "target" && !r.target) refuse("--stop", "without a target", "with --target ACCURACY");
}

/// What does not suffice for several processes.
void check_processes(const Request& r, Algorithm algorithm, int processes) {
  if (processes == 1) return;
  const int workers = r.learners.value_or(kWorkers) + r.backups.value_or(kBackups);
  if (algorithm == Algorithm::backup_workers && workers < processes)
    refuse("--algorithm " + name_of(algorithm),
           std::to_string(workers) + " workers are too few for " + std::to_string(processes) + " processes",
           "a worker or more in each (--learners N --backups b are of all processes)");
}

int tau_of(const Request& r, Algorithm algorithm) {
  if (!r.tau) return 1;
  const std::string allowed = algorithm == Algorithm::sma ? "1 to 1000000, or never" : "1 to 1000000";
  if (*r.tau == "never" && algorithm == Algorithm::sma) return sync::kNever;
  const bool digits = !r.tau->empty() && r.tau->size() <= 7 &&
                      std::all_of(r.tau->begin(), r.tau->end(), [](char c) { return c >= '0' && c <= '9'; });
  const int tau = digits ? std::stoi(*r.tau) : 0;
  if (tau < 1 || tau > 1'000'000) refuse("--tau", in_quotes(*r.tau) + " is no number of iterations", allowed);
  return tau;
}

sync::DelayDistribution delay_of(const Request& r) {
  using Kind = sync::DelayDistribution::Kind;
  sync::DelayDistribution delay;
  delay.kind = choose<Kind>("--delay", r.delay.value_or("lognormal"), {"lognormal", "gamma", "pareto"},
                            {Kind::kLognormal, Kind::kGamma, Kind::kPareto});
  delay.scale_s = r.delay_scale_s.value_or(delay.scale_s);
  delay.shape = r.delay_shape.value_or(delay.shape);
  delay.shift_s = r.delay_shift_s.value_or(delay.shift_s);
  return delay;
}

/// Rates at which LeNet learns from the first iteration on, with MNIST as with synthetic images. One SMA learner bears
/// a third of the rate that plain SGD does: on a loss of curvature h, Alg. 1 with alpha 1 and momentum mu oscillates
/// from a rate of 2 mu / (1 + 2 mu) / h on. After a warm-up (--warmup-epochs), several times more is better.
double default_learning_rate(Algorithm algorithm) {
  return algorithm == Algorithm::sma || algorithm == Algorithm::ea_sgd ? 0.01 : 0.005;
}

}  // namespace

Settings resolve(const Request& r, int processes) {
  using A = Algorithm;
  Settings s{};
  s.request = r;
  s.processes = processes;
  s.algorithm = algorithm_of(r.algorithm);
  using P = device::Precision;
  choose<int>("--device", r.device, {"host", "cuda"}, {0, 1});
  s.precision = r.precision.empty() ? device::usual_precision(r.device)
                                    : choose<P>("--precision", r.precision, {"fp32", "tf32", "fp16", "bf16"},
                                                {P::fp32, P::tf32, P::fp16, P::bf16});
  s.wire = choose<P>("--wire", r.wire.empty() ? "fp32" : r.wire, {"fp32", "fp16", "bf16"}, {P::fp32, P::fp16, P::bf16});
  if (s.wire != P::fp32 && r.device != "cuda")
    refuse("--wire " + r.wire, "the host's devices exchange floats", "fp32, or --device cuda");
  if (s.wire != P::fp32 && (s.algorithm == A::sma || s.algorithm == A::ea_sgd))
    refuse("--wire " + r.wire, "models are exchanged, not gradients", "fp32, or s-sgd, backup-workers, async-sgd");
  s.stop = choose<Stop>("--stop", r.stop, {"target", "median", "never"}, {Stop::target, Stop::median, Stop::never});
  if (r.device == "host" && s.precision == P::tf32)
    refuse("--precision tf32", "the host has no TF32", "fp32, fp16, bf16 (emulated), or --device cuda");
  check_flags_of_algorithms(r, s.algorithm);
  check_counts(r, s.algorithm);
  check_processes(r, s.algorithm, processes);
  check_numbers(r);
  check_schedule(r);
  check_files(r);
  s.learners = r.learners.value_or(s.algorithm == A::ea_sgd || s.algorithm == A::backup_workers ? kWorkers : 1);
  s.batch = r.batch.value_or(s.algorithm == A::s_sgd || s.algorithm == A::async_sgd ? 32 : 16);
  s.learning_rate = r.learning_rate.value_or(default_learning_rate(s.algorithm));
  s.momentum = s.algorithm == A::ea_sgd ? 0 : r.momentum.value_or(0.9);
  s.tau = tau_of(r, s.algorithm);
  s.averaging = choose<sync::Averaging>("--averaging", r.averaging.value_or("one"), {"one", "reference"},
                                        {sync::Averaging::kOneAverage, sync::Averaging::kReferencePerGpu});
  s.backups = s.algorithm == A::backup_workers ? r.backups.value_or(kBackups) : 0;
  s.delay = delay_of(r);
  s.staleness = r.staleness.value_or(0);
  s.staleness_ramp_epochs = r.staleness_ramp_epochs.value_or(0);
  // Alg. 1 with one learner is a leapfrog: without momentum it diverges (see engine/sync/sma.hpp).
  if (s.algorithm == A::sma && processes * r.gpus * s.learners == 1 && s.momentum == 0 && !r.alpha)
    refuse("--momentum 0", "one SMA learner diverges without momentum", "a momentum, --alpha below 1, more learners");
  return s;
}

std::int64_t iterations_of(const Settings& settings, double epochs, std::int64_t images) {
  return static_cast<std::int64_t>(
      std::ceil(epochs * static_cast<double>(images) / static_cast<double>(settings.global_batch())));
}

sync::LearningRate schedule_of(const Settings& settings, std::int64_t images) {
  const Request& r = settings.request;
  sync::LearningRate schedule;
  schedule.base = settings.learning_rate;
  if (r.schedule == "steps") {
    schedule.kind = sync::LearningRate::Kind::kSteps;
    schedule.factor = r.step_factor.value_or(schedule.factor);
    for (const int epoch : r.step_epochs) schedule.boundaries.push_back(iterations_of(settings, epoch, images));
  } else if (r.schedule == "linear") {
    schedule.kind = sync::LearningRate::Kind::kPolynomial;
    schedule.begin = iterations_of(settings, r.linear_from.value_or(0), images);
    schedule.finish = iterations_of(settings, r.epochs, images);
  }
  schedule.warmup = iterations_of(settings, r.warmup_epochs, images);
  sync::check(schedule);
  return schedule;
}

namespace {

void add_algorithm(const Settings& s, Json& json) {
  const Request& r = s.request;
  json["algorithm"] = name_of(s.algorithm);
  if (s.processes > 1) json["processes"] = s.processes;  // so that records from before there were several still count
  json["gpus"] = r.gpus;
  json["learners"] = s.learners;
  json["batch"] = s.batch;
  json["learning_rate"] = s.learning_rate;
  if (s.algorithm != Algorithm::ea_sgd) json["momentum"] = s.momentum;
  json["weight_decay"] = r.weight_decay;
  if (s.algorithm == Algorithm::sma || s.algorithm == Algorithm::ea_sgd) {
    json["tau"] = s.tau == sync::kNever ? Json("never") : Json(s.tau);
    json["alpha"] = r.alpha ? Json(*r.alpha) : Json("from the number of learners");
  }
  if (s.algorithm == Algorithm::sma) {
    json["averaging"] = r.averaging.value_or("one");
    json["auto_tune"] = r.auto_tune;
  }
  if (s.algorithm == Algorithm::backup_workers) {
    json["backups"] = s.backups;
    json["delay"] = {{"kind", r.delay.value_or("lognormal")},
                     {"scale_s", s.delay.scale_s},
                     {"shape", s.delay.shape},
                     {"shift_s", s.delay.shift_s},
                     {"interrupt", r.interrupt}};
  }
  if (s.algorithm == Algorithm::async_sgd) {
    json["staleness"] = s.staleness;
    json["staleness_drawn"] = r.staleness_drawn;
    json["staleness_ramp_epochs"] = s.staleness_ramp_epochs;
  }
  json["lars"] = r.lars ? Json(*r.lars) : Json(nullptr);
}

void add_schedule(const Request& r, Json& json, bool only_lasting) {
  json["schedule"] = r.schedule;
  if (r.schedule == "steps") {
    json["step_epochs"] = r.step_epochs;
    json["step_factor"] = r.step_factor.value_or(0.1);
  }
  if (r.schedule == "linear") json["linear_from"] = r.linear_from.value_or(0);
  if (r.schedule == "linear" || !only_lasting) json["epochs"] = r.epochs;
  json["warmup_epochs"] = r.warmup_epochs;
}

}  // namespace

Json to_json(const Settings& s, bool only_lasting) {
  const Request& r = s.request;
  Json json = Json::object();
  json["model"] = r.model;
  json["data"] = r.data;
  json["train_images"] = r.train_images ? Json(*r.train_images) : Json("all");
  json["augment"] = r.augment;
  json["seed"] = r.seed;
  json["device"] = r.device;
  json["precision"] = device::to_string(s.precision);
  if (s.wire != device::Precision::fp32) json["wire"] = device::to_string(s.wire);  // earlier records still count
  add_algorithm(s, json);
  if (r.moving_average) json["moving_average"] = *r.moving_average;  // as with processes: earlier records still count
  add_schedule(r, json, only_lasting);
  json["test_images"] = r.test_images ? Json(*r.test_images) : Json("all");
  if (only_lasting) return json;
  json["threads"] = r.threads;
  json["target"] = r.target ? Json(*r.target) : Json(nullptr);
  json["stop"] = r.stop;
  json["evaluations_per_epoch"] = r.evaluations_per_epoch;
  json["max_minutes"] = r.max_minutes ? Json(*r.max_minutes) : Json(nullptr);
  json["checkpoint"] = r.checkpoint;
  return json;
}

bool is_same_setting(const std::string& key, const Json& a, const Json& b) {
  if (a == b || key != "algorithm" || !a.is_string() || !b.is_string()) return a == b;
  const std::optional<Algorithm> named = find_choice<Algorithm>(a.get<std::string>());
  return named && named == find_choice<Algorithm>(b.get<std::string>());
}

}  // namespace lockstep::train
