#include "engine/train/options.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/text.hpp"
#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

constexpr double kAdamRate = 0.001;  // Kingma & Ba 2015, Alg. 1; steps are about this large for any gradient

template <typename Value>
Value choose(const std::string& flag, const std::string& text, const std::vector<std::string>& names,
             const std::vector<Value>& values) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) refuse(flag, in_quotes(text) + " is unknown", joined(names));
  return values[static_cast<std::size_t>(found - names.begin())];
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

std::string names_of(const std::vector<const TrainedAlgorithm*>& algorithms) {
  std::vector<std::string> names;
  for (const TrainedAlgorithm* algorithm : algorithms) names.push_back(name_of(algorithm->algorithm()));
  return joined(names);
}

Algorithm algorithm_of(const std::string& name) {
  const std::optional<Algorithm> found = find_choice<Algorithm>(name);
  const auto& trained = all_trained_algorithms();
  if (!found) refuse("--algorithm", in_quotes(name) + " is unknown", names_of(trained));
  const auto is_found = [&](const TrainedAlgorithm* t) { return t->algorithm() == *found; };
  if (std::none_of(trained.begin(), trained.end(), is_found))
    refuse("--algorithm", in_quotes(name) + " is predicted by simulate, and not trained", names_of(trained));
  return *found;
}

/// The noise scale compares gradients that workers compute at the same weights.
std::string why_no_noise_scale(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::sharded:
    case Algorithm::backup_workers:
    case Algorithm::parameter_server:
      return "its gradients are those of s-sgd, whose noise scale holds for it";
    case Algorithm::async_sgd:
      return "its gradients are of older weights than those that they update";
    default:
      return "the weights of its learners differ, and the noise scale compares gradients at the same weights";
  }
}

/// Refuses the flag if the algorithm does not read it.
void only_where_read(const std::string& flag, const TrainedAlgorithm& algorithm) {
  if (algorithm.reads(flag)) return;
  std::vector<const TrainedAlgorithm*> readers;
  for (const TrainedAlgorithm* other : all_trained_algorithms())
    if (other->reads(flag)) readers.push_back(other);
  const std::string why = flag == "--noise-scale" ? ": " + why_no_noise_scale(algorithm.algorithm()) : "";
  refuse(flag, "has no meaning with --algorithm " + name_of(algorithm.algorithm()) + why, "with " + names_of(readers));
}

/// Refuses flags that the update rule does not use.
void check_optimizer(const Request& r, sync::UpdateRule rule) {
  const bool is_adam = sync::is_adam(rule);
  for (const char* flag : {"--beta1", "--beta2", "--epsilon"})
    if (is_given(r, flag) && !is_adam)
      refuse(flag, "has no meaning with --optimizer " + name_of(rule), "with --optimizer adam or adamw");
  share_of(r, "--beta1");
  share_of(r, "--beta2");
  positive_of(r, "--epsilon");
  if (r.momentum && is_adam)
    refuse("--momentum", "has no meaning with --optimizer " + name_of(rule), "--beta1, or another --optimizer");
  if (r.lars && rule != sync::UpdateRule::momentum)
    refuse("--lars", "adapts the rates of momentum, not of " + name_of(rule), "with --optimizer momentum");
}

void check_flags_of_algorithms(const Request& r, const TrainedAlgorithm& algorithm) {
  for (const auto& given : r.of_algorithm) only_where_read(given.first, algorithm);
  if (r.optimizer != Request{}.optimizer) only_where_read("--optimizer", algorithm);
  if (r.momentum) only_where_read("--momentum", algorithm);
  if (r.moving_average) only_where_read("--moving-average", algorithm);
  if (r.lars) only_where_read("--lars", algorithm);
}

void check_counts(const Request& r) {
  at_least_1("--gpus", r.gpus, 1024);
  at_least_1("--learners", r.learners, 1024);
  at_least_1("--batch", r.batch, 65536);
  at_least_1("--epochs", r.epochs, 1'000'000);
  at_least_1("--evaluations-per-epoch", r.evaluations_per_epoch, 1000);
  at_least_1("--train-images", r.train_images, std::int64_t{1} << 32);
  at_least_1("--test-images", r.test_images, std::int64_t{1} << 32);
  if (r.threads < 0 || r.threads > 1024)
    refuse("--threads", std::to_string(r.threads) + " is out of range", "0 (one per core) to 1024");
}

void check_numbers(const Request& r) {
  positive("--learning-rate", r.learning_rate);
  positive("--max-minutes", r.max_minutes);
  positive("--checkpoint-minutes", r.checkpoint_minutes);
  positive("--step-factor", r.step_factor);
  positive("--lars", r.lars);
  at_least_0("--weight-decay", r.weight_decay);
  at_least_0("--warmup-epochs", r.warmup_epochs);
  if (r.momentum && !(*r.momentum >= 0 && *r.momentum < 1))
    refuse("--momentum", short_number(*r.momentum) + " is out of range", "0 to below 1");
  if (r.moving_average && !(*r.moving_average > 0 && *r.moving_average < 1))
    refuse("--moving-average", short_number(*r.moving_average) + " is out of range", "above 0, below 1");
  if (r.target && !(*r.target > 0 && *r.target <= 1))
    refuse("--target", short_number(*r.target) + " is out of range", "a test accuracy above 0, up to 1");
}

/// Whether the schedule lowers the rate to 0 until the last epoch.
bool anneals(const Request& r) {
  return r.schedule == "linear" || r.schedule == "cosine";
}

void check_schedule(const Request& r) {
  choose<int>("--schedule", r.schedule, {"constant", "steps", "linear", "cosine"}, {0, 1, 2, 3});
  const bool steps = r.schedule == "steps";
  if (steps && r.step_epochs.empty()) refuse("--schedule steps", "without --step-epochs", "--step-epochs 30,60");
  if (!steps && (!r.step_epochs.empty() || r.step_factor))
    refuse(r.step_factor ? "--step-factor" : "--step-epochs", "has no meaning with --schedule " + r.schedule,
           "with --schedule steps");
  for (std::size_t i = 0; i < r.step_epochs.size(); ++i) {
    if (r.step_epochs[i] < 1 || (i > 0 && r.step_epochs[i] <= r.step_epochs[i - 1]))
      refuse("--step-epochs", "the epochs do not rise", "rising numbers from 1 on");
  }
  if (r.linear_from && !anneals(r))
    refuse("--linear-from", "has no meaning with --schedule " + r.schedule, "with --schedule linear or cosine");
  if (r.linear_from && !(*r.linear_from >= 0 && *r.linear_from < r.epochs))
    refuse("--linear-from", short_number(*r.linear_from) + " is out of range", "0 to below --epochs");
}

void check_files(const Request& r) {
  if (r.resume && r.checkpoint.empty()) refuse("--resume", "without a checkpoint", "with --checkpoint FILE");
  if (r.overwrite && r.checkpoint.empty()) refuse("--overwrite", "without a checkpoint", "with --checkpoint FILE");
  if (r.overwrite && r.resume) refuse("--overwrite", "beside --resume", "one of the two");
  if (r.stop != "target" && !r.target) refuse("--stop", "without a target", "with --target ACCURACY");
}

}  // namespace

Settings resolve(const Request& r, int processes) {
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
  choose<int>("--bad-images", r.bad_images, {"refuse", "skip"}, {0, 1});
  if (s.wire != P::fp32 && r.device != "cuda")
    refuse("--wire " + r.wire, "the host's devices exchange floats", "fp32, or --device cuda");
  const std::set<Algorithm> send_gradients{Algorithm::s_sgd, Algorithm::backup_workers, Algorithm::async_sgd};
  if (s.wire != P::fp32 && send_gradients.count(s.algorithm) == 0)
    refuse("--wire " + r.wire, "models are exchanged, not gradients", "fp32, or s-sgd, backup-workers, async-sgd");
  s.stop = choose<Stop>("--stop", r.stop, {"target", "median", "never"}, {Stop::target, Stop::median, Stop::never});
  if (r.device == "host" && s.precision == P::tf32)
    refuse("--precision tf32", "the host has no TF32", "fp32, fp16, bf16 (emulated), or --device cuda");
  const TrainedAlgorithm& trained = trained_algorithm(s.algorithm);
  check_flags_of_algorithms(r, trained);
  s.rule = choice_named<sync::UpdateRule>(r.optimizer, "--optimizer");
  check_optimizer(r, s.rule);
  check_counts(r);
  check_numbers(r);
  check_schedule(r);
  check_files(r);
  trained.check(r, processes);
  const Usual usual = trained.usual();
  s.learners = r.learners.value_or(usual.learners);
  s.batch = r.batch.value_or(usual.batch);
  s.learning_rate = r.learning_rate.value_or(sync::is_adam(s.rule) ? kAdamRate : usual.learning_rate);
  const bool has_momentum = trained.reads("--momentum") && !sync::is_adam(s.rule);
  s.momentum = has_momentum ? r.momentum.value_or(0.9) : 0;
  return s;
}

int Settings::learners_of_process() const {
  return trained_algorithm(algorithm).learners_of_process(*this);
}

std::int64_t Settings::global_batch() const {
  return trained_algorithm(algorithm).global_batch(*this);
}

std::int64_t iterations_of(const Settings& settings, double epochs, std::int64_t images) {
  return static_cast<std::int64_t>(
      std::ceil(epochs * static_cast<double>(images) / static_cast<double>(settings.global_batch())));
}

sync::LearningRate learning_rate_schedule(const Settings& settings, std::int64_t images) {
  const Request& r = settings.request;
  sync::LearningRate schedule;
  schedule.base = settings.learning_rate;
  if (r.schedule == "steps") {
    schedule.kind = sync::LearningRate::Kind::kSteps;
    schedule.factor = r.step_factor.value_or(schedule.factor);
    for (const int epoch : r.step_epochs) schedule.boundaries.push_back(iterations_of(settings, epoch, images));
  } else if (anneals(r)) {
    using Kind = sync::LearningRate::Kind;
    schedule.kind = r.schedule == "cosine" ? Kind::kCosine : Kind::kPolynomial;
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
  if (s.processes > 1) json["processes"] = s.processes;  // older records lack this key
  json["gpus"] = r.gpus;
  json["learners"] = s.learners;
  json["batch"] = s.batch;
  json["learning_rate"] = s.learning_rate;
  const TrainedAlgorithm& trained = trained_algorithm(s.algorithm);
  if (trained.reads("--momentum") && !sync::is_adam(s.rule)) json["momentum"] = s.momentum;
  if (s.rule != sync::UpdateRule::momentum) json["optimizer"] = name_of(s.rule);  // older records lack the default
  if (sync::is_adam(s.rule)) {
    const sync::AdamOptions adam = update_options(s).adam;
    json["beta1"] = adam.beta1;
    json["beta2"] = adam.beta2;
    json["epsilon"] = adam.epsilon;
  }
  json["weight_decay"] = r.weight_decay;
  trained.add_to_json(s, json);
  json["lars"] = r.lars ? Json(*r.lars) : Json(nullptr);
}

void add_schedule(const Request& r, Json& json, bool only_lasting) {
  json["schedule"] = r.schedule;
  if (r.schedule == "steps") {
    json["step_epochs"] = r.step_epochs;
    json["step_factor"] = r.step_factor.value_or(0.1);
  }
  if (anneals(r)) json["linear_from"] = r.linear_from.value_or(0);
  if (anneals(r) || !only_lasting) json["epochs"] = r.epochs;
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
  if (r.bad_images != "refuse") json["bad_images"] = r.bad_images;  // older records lack the default
  json["seed"] = r.seed;
  json["device"] = r.device;
  json["precision"] = device::to_string(s.precision);
  if (s.wire != device::Precision::fp32) json["wire"] = device::to_string(s.wire);  // older records lack the default
  add_algorithm(s, json);
  if (r.moving_average) json["moving_average"] = *r.moving_average;  // older records lack this key
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
