#include "engine/train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/interrupt.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/study.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/train/backends.hpp"
#include "engine/train/memory_report.hpp"
#include "engine/train/noise_record.hpp"
#include "engine/train/record.hpp"

namespace lockstep::train {
namespace {

// Reading a loss waits for the GPU, so it is read every 20th iteration. The host has always finished.
constexpr int kLossEveryOnDevice = 20;
constexpr double kRoom = 1.25;  // includes handles of libraries, graphs, fragmentation

std::optional<data::AugmentationRange> augmentation_of(const Request& request) {
  if (!request.augment) return std::nullopt;
  return data::AugmentationRange{};
}

std::unique_ptr<Trainable> initial_trainable(const Settings& settings, sync::Processes& processes,
                                             device::Backend& backend, const model::Graph& graph, std::int64_t images,
                                             const std::optional<Weights>& init) {
  const std::vector<float> initial = init ? init->parameters : device::initial_parameters(graph, settings.request.seed);
  return make_trainable(settings, processes, backend.ops(), device::layout_of(graph), initial, images);
}

std::optional<Weights> init_of(const Request& request, const model::Graph& graph,
                               std::map<std::string, std::string>& inputs) {
  if (request.init.empty()) return std::nullopt;
  Weights weights = read_safetensors(request.init, graph);
  inputs[request.init] = sha256_file(request.init);
  return weights;
}

Tuning tuning_of(const Settings& settings, sync::Processes& processes, std::map<std::string, std::string>& inputs) {
  const int gpus = settings.request.gpus;
  const std::string record = settings.tuned_like();
  if (record.empty()) return {gpus, processes};
  inputs[record] = sha256_file(record);
  return {gpus, processes, decisions_of_record(record, gpus)};
}

std::unique_ptr<sync::MovingAverage> average_of(const Request& request, device::Backend& backend,
                                                const Trainable& trainable) {
  if (!request.moving_average) return nullptr;
  return std::make_unique<sync::MovingAverage>(backend.ops(), trainable.model(), *request.moving_average);
}

}  // namespace

Trainer::Trainer(const Settings& settings, const std::vector<std::string>& argv, sync::Processes* processes)
    : settings_(settings),
      processes_(processes != nullptr ? *processes : alone_),
      argv_(argv),
      graph_(model::trainable_graph_of(settings.request.model, inputs_)),
      init_(init_of(settings.request, graph_, inputs_)),
      images_(load_images(settings.request, graph_)),
      backend_(make_backend(settings, processes_)),
      trainable_(initial_trainable(settings, processes_, *backend_, graph_, images_.train->count(), init_)),
      average_(average_of(settings.request, *backend_, *trainable_)),
      learners_(*backend_, graph_, settings_, *trainable_, processes_),
      evaluator_(*backend_, graph_, settings_, *images_.test, processes_),
      order_(images_.train->count(), settings.request.seed),
      pipeline_(*images_.train, order_, settings_.batch, augmentation_of(settings.request), settings.request.seed,
                usual_input_threads(*backend_, processes_.local_count()), usual_pixels(*backend_, *images_.train),
                pinned_memory_of(*backend_)),
      schedule_(learning_rate_schedule(settings, images_.train->count())),
      tuning_(tuning_of(settings, processes_, inputs_)) {
  sync::require(processes_.count() == settings_.processes, "trainer: settings of another number of processes");
  if (processes_.rank() != 0) settings_.request.output.clear();
  inputs_.insert(images_.inputs.begin(), images_.inputs.end());
  if (init_) learners_.set_running_statistics(init_->running_statistics);
}

void Trainer::start_pipeline() {
  const Trainable::Place place = trainable_->place();
  pipeline_.start(position_, trainable_->learners(), place.first, place.all);
}

bool Trainer::all_agree(bool own) {
  char answer = own ? 1 : 0;
  processes_.broadcast(sizeof(answer), &answer);
  return answer != 0;
}

Json Trainer::run(Observer& observer) {
  begin_ = last_save_ = Clock::now();
  const Request& r = settings_.request;
  if (!images_.about.empty()) observer.remark(images_.about);
  if (r.resume && all_agree(std::filesystem::exists(r.checkpoint))) restore(observer);
  decide_status();
  if (!r.checkpoint.empty()) save();
  start_pipeline();
  tuning_.observe_from(iterations_, train_s_);
  while (status_ == "running") {
    trainable_->centre() != nullptr ? train_at_own_pace(observer) : train_epoch(observer);
    if (counted_ >= epoch_end()) finish_epoch(observer);
    if (!r.checkpoint.empty()) save();
  }
  if (status_ == "interrupted") return {{"status", status_}, {"epochs", epochs_.size()}, {"iterations", iterations_}};
  const std::vector<float> model = parameters();
  if (!r.weights.empty() && status_ != "diverged") {  // all processes compute the mean, rank 0 writes it
    const Weights trained{model, learners_.mean_running_statistics()};
    if (processes_.rank() == 0) write_safetensors(r.weights, graph_, trained, "train, seed " + std::to_string(r.seed));
  }
  const std::string bytes(reinterpret_cast<const char*>(model.data()), model.size() * sizeof(float));
  Json result = record(sha256_hex(bytes));
  if (!r.output.empty()) write_file_atomically(r.output, result.dump(2) + "\n");
  return result;
}

std::int64_t Trainer::epoch_end() const {
  return (static_cast<std::int64_t>(epochs_.size()) + 1) * order_.count();
}

void Trainer::train_epoch(Observer& observer) {
  const std::int64_t begin = epoch_end() - order_.count();
  const double checkpoint_s = 60 * settings_.request.checkpoint_minutes;
  while (counted_ < epoch_end() && status_ == "running") {
    const Clock::time_point before = Clock::now();
    one_iteration();
    if (counted_ >= epoch_end()) backend_->synchronise();
    const double step_s = seconds_between(before, Clock::now());
    epoch_s_ += step_s;
    train_s_ += step_s;
    observer.iteration(static_cast<std::int64_t>(epochs_.size()) + 1,
                       static_cast<double>(counted_ - begin) / static_cast<double>(order_.count()), last_loss_);
    if (settings_.tunes_learners()) tune(observer);
    if (!std::isfinite(last_loss_) || learners_.is_stuck()) status_ = "diverged";
    const std::optional<double>& limit = settings_.request.max_minutes;
    if (status_ == "running" && counted_ < epoch_end() && counted_ >= images_at_next_evaluation()) {
      evaluate();
      decide_status();
    }
    if (status_ == "running" && limit && counted_ < epoch_end() && all_agree(elapsed_s() > 60 * *limit))
      status_ = "time is up";
    const bool keeps = !settings_.request.checkpoint.empty() && status_ == "running";
    if (keeps && all_agree(interruption() != 0)) status_ = "interrupted";
    const bool may_save = keeps && status_ == "running";
    if (may_save && all_agree(seconds_between(last_save_, Clock::now()) > checkpoint_s)) save();
  }
}

void Trainer::one_iteration() {
  const std::vector<data::Batch>& batches = pipeline_.take();
  learning_rate_ = sync::learning_rate(schedule_, counted_ / settings_.global_batch());
  const bool kept = learners_.step(*trainable_, learning_rate_, batches);
  position_ += std::int64_t{trainable_->place().all} * settings_.batch;
  if (!kept) return;
  if (average_) average_->add(trainable_->model());
  const std::int64_t images = std::int64_t{trainable_->counted()} * settings_.batch;
  counted_ += images;
  epoch_counted_ += images;
  ++iterations_;
  if (backend_->name() != "host" && iterations_ % kLossEveryOnDevice != 0) return;
  last_loss_ = learners_.loss();
  epoch_loss_ += last_loss_;
  ++epoch_losses_;
}

std::int64_t Trainer::images_at_next_evaluation() const {
  const std::int64_t per_epoch = settings_.request.evaluations_per_epoch;
  if (per_epoch == 1) return epoch_end();
  const std::int64_t last = evaluations_.empty() ? 0 : evaluations_.back().at("images").get<std::int64_t>();
  const std::int64_t parts = last * per_epoch / order_.count() + 1;
  return (parts * order_.count() + per_epoch - 1) / per_epoch;
}

double Trainer::test_accuracy() {
  return evaluator_.accuracy(evaluated(), learners_.mean_running_statistics());
}

void Trainer::evaluate() {
  Json entry = Json::object();
  entry["epoch"] = static_cast<double>(counted_) / static_cast<double>(order_.count());
  entry["iterations"] = iterations_;
  entry["images"] = counted_;
  entry["train_s"] = train_s_;
  entry["test_accuracy"] = test_accuracy();
  trainable_->add_measurements(entry);
  evaluations_.push_back(entry);
}

Json Trainer::evaluations_since(std::int64_t iterations) const {
  Json since = Json::array();
  for (const Json& entry : evaluations_)
    if (entry.at("iterations").get<std::int64_t>() > iterations) since.push_back(entry);
  return since;
}

void Trainer::finish_epoch(Observer& observer) {
  Json epoch = Json::object();
  epoch["epoch"] = epochs_.size() + 1;
  epoch["iterations"] = iterations_;
  epoch["images"] = counted_;
  epoch["learning_rate"] = learning_rate_;
  epoch["train_loss"] = epoch_losses_ > 0 ? Json(epoch_loss_ / static_cast<double>(epoch_losses_)) : Json(nullptr);
  if (settings_.request.evaluations_per_epoch > 1) {
    evaluate();
    epoch["test_accuracy"] = evaluations_.back().at("test_accuracy");
  } else {
    epoch["test_accuracy"] = test_accuracy();
  }
  epoch["epoch_s"] = epoch_s_;
  epoch["train_s"] = train_s_;
  const bool has_run = epoch_counted_ > 0;  // false if one iteration, with more images than an epoch, ended several
  epoch["samples_per_s"] = has_run ? Json(static_cast<double>(epoch_counted_) / epoch_s_) : Json(nullptr);
  if (settings_.precision == device::Precision::fp16) {
    epoch["loss_scale"] = learners_.loss_scale();
    epoch["dropped_iterations"] = learners_.dropped();
  }
  trainable_->add_facts(epoch);
  if (settings_.request.evaluations_per_epoch > 1)
    add_noise_scale(epoch, evaluations_since(epochs_.empty() ? 0 : epochs_.back().at("iterations").get<std::int64_t>()),
                    settings_.global_batch());
  else
    trainable_->add_measurements(epoch);
  epochs_.push_back(epoch);
  epoch_s_ = epoch_loss_ = 0;
  epoch_losses_ = epoch_counted_ = 0;
  observer.epoch(epoch);
  remark_on_images(observer);
  decide_status();
  if (!has_finite_model()) status_ = "diverged";
  if (!settings_.request.output.empty() && status_ == "running")
    write_file_atomically(settings_.request.output, record("").dump(2) + "\n");
}

void Trainer::remark_on_images(Observer& observer) {
  std::vector<std::string> lines = images_.train->passed_over();
  const std::vector<std::string> tested = images_.test->passed_over();
  lines.insert(lines.end(), tested.begin(), tested.end());
  if (lines.size() <= remarked_images_) return;
  remarked_images_ = lines.size();
  observer.remark(std::to_string(lines.size()) +
                  " images could not be read, others stood in for them; the first: " + lines.front());
}

/// Checks the parameters instead of the loss. The loss belongs to the model before the update, and is rarely read from
/// a GPU. The sum of squares cannot overflow, because it is a double.
bool Trainer::has_finite_model() {
  const sync::DeviceVector& model = trainable_->model();
  return all_agree(std::isfinite(backend_->ops().dot(model.size(), model.data(), model.data())));
}

void Trainer::decide_status() {
  const Request& r = settings_.request;
  const Json& entries = evaluations_.empty() ? epochs_ : evaluations_;
  if (r.target && settings_.stop == Stop::target && first_reached(entries, *r.target)) status_ = "target reached";
  if (r.target && settings_.stop == Stop::median && median_reached(epochs_, *r.target)) status_ = "target reached";
  if (status_ == "running" && static_cast<int>(epochs_.size()) >= r.epochs) status_ = "epochs done";
  if (status_ == "running" && r.max_minutes && all_agree(elapsed_s() > 60 * *r.max_minutes)) status_ = "time is up";
}

double Trainer::elapsed_s() const {
  return seconds_between(begin_, Clock::now());
}

// ---- learners by Alg. 2 ----

/// Whether there is memory for another replica and for the parameters that SMA keeps for it.
bool Trainer::has_room(int gpu) {
  const std::int64_t replica = learners_.memory_bytes() / trainable_->learners();
  const std::int64_t model = graph_.parameter_count() * static_cast<std::int64_t>(sizeof(float));
  return static_cast<double>(backend_->free_bytes(gpu)) > kRoom * static_cast<double>(replica + model);
}

void Trainer::tune(Observer& observer) {
  const std::vector<int> changed = tuning_.decide(iterations_, train_s_, [this](int gpu) { return has_room(gpu); });
  if (changed.empty()) return;
  for (const int gpu : changed) {
    const sync::TunerState& state = tuning_.state_of(gpu);
    state.change > 0 ? trainable_->add_learner(gpu) : trainable_->remove_learner(gpu);
    learners_.match_replicas_to(*trainable_);
    observer.tuned(gpu, state.learners);
    tuned_.push_back(to_json(TuningDecision{iterations_, gpu, state.learners}));
  }
  start_pipeline();
}

// ---- checkpoints ----

void Trainer::visit_state(RunVisitor& state) {
  state.integer("position", position_);
  state.integer("counted", counted_);
  state.integer("iterations", iterations_);
  state.real("learning_rate", learning_rate_);
  state.real("train_s", train_s_);
  state.real("epoch_s", epoch_s_);
  state.real("epoch_loss", epoch_loss_);
  state.integer("epoch_losses", epoch_losses_);
  state.integer("epoch_counted", epoch_counted_);
  state.integer("resumed", resumed_);
  tuning_.visit_state(state);
  trainable_->visit_state(state);
  if (average_) average_->visit_state(state);
  learners_.match_replicas_to(*trainable_);
  learners_.visit_state(state);
}

void Trainer::save() {
  if (status_ != "diverged" && !has_finite_model()) status_ = "diverged";
  if (status_ == "diverged") return;  // keeps the last good checkpoint
  backend_->synchronise();
  StateWriter writer;
  visit_state(writer);
  const std::string own = writer.packed();
  Checkpoint checkpoint;
  if (processes_.rank() == 0) checkpoint.add(own);
  for (int p = 1; p < processes_.count(); ++p) {
    const std::string state = processes_.send(p, 0, own);
    if (processes_.rank() == 0) checkpoint.add(state);
  }
  if (processes_.rank() == 0) {
    checkpoint.write(settings_.request.checkpoint, {{"settings", to_json(settings_, true)},
                                                    {"inputs", inputs_},
                                                    {"epochs", epochs_},
                                                    {"tuned", tuned_},
                                                    {"evaluations", evaluations_}});
  }
  last_save_ = Clock::now();
}

void Trainer::restore(Observer& observer) {
  const std::string& path = settings_.request.checkpoint;
  Json facts;
  std::string own;
  if (processes_.rank() == 0) {
    const Checkpoint checkpoint(path);
    facts = checkpoint.facts();
    check_same_run(facts);
    own = checkpoint.state(0);
    for (int p = 1; p < processes_.count(); ++p) {
      processes_.send(0, p, facts.dump());
      processes_.send(0, p, checkpoint.state(p));
    }
  } else {
    facts = Json::parse(processes_.send(0, processes_.rank(), {}));
    own = processes_.send(0, processes_.rank(), {});
  }
  epochs_ = facts.at("epochs");
  evaluations_ = facts.value("evaluations", Json::array());
  tuned_ = facts.value("tuned", Json::array());
  StateReader reader(path, own, backend_->ops());
  visit_state(reader);
  ++resumed_;
  observer.resumed(static_cast<std::int64_t>(epochs_.size()), iterations_);
}

void Trainer::check_same_run(const Json& saved) const {
  const std::string& path = settings_.request.checkpoint;
  const Json own = to_json(settings_, true);
  for (const auto& [key, value] : saved.at("settings").items()) {
    if (!own.contains(key) || !is_same_setting(key, own.at(key), value))
      throw InputError(path + ": was written with " + key + " " + value.dump() + ", not " +
                       (own.contains(key) ? own.at(key).dump() : "none") + "; allowed: the same settings");
  }
  if (own.contains("processes") && !saved.at("settings").contains("processes"))
    throw InputError(path + ": was written by one process, not " + own.at("processes").dump() +
                     "; allowed: the same settings");
  std::vector<std::string> digests, own_digests;
  for (const auto& entry : saved.at("inputs").items()) digests.push_back(entry.value());
  for (const auto& entry : inputs_) own_digests.push_back(entry.second);
  std::sort(digests.begin(), digests.end());
  std::sort(own_digests.begin(), own_digests.end());
  if (digests != own_digests) throw InputError(path + ": was written with other data; allowed: the same files");
}

// ---- the record ----

Json Trainer::memory() const {
  Json memory = Json::object();
  memory["parameters_bytes"] = graph_.parameter_count() * static_cast<std::int64_t>(sizeof(float));
  memory["replica_bytes"] = learners_.memory_bytes();
  memory["evaluation_bytes"] = evaluator_.memory_bytes();
  memory["activation_bytes"] = learners_.activation_bytes();
  memory["shared_bytes"] = backend_->shared_bytes();
  memory["process_peak_bytes"] = process_peak_bytes();
  memory["plan"] = memory_plan_json(graph_, settings_);
  return memory;
}

Json Trainer::data_facts() const {
  Json data = {{"name", images_.train->name()},
               {"train_images", images_.train->count()},
               {"test_images", images_.test->count()},
               {"classes", images_.test->classes()}};
  if (!images_.about.empty()) data["about"] = images_.about;
  for (const auto* part : {&images_.train, &images_.test})
    for (const std::string& line : (*part)->passed_over()) data["passed_over"].push_back(line);
  return data;
}

Json Trainer::record(const std::string& model_digest) {
  Json record = Json::object();
  record["schema"] = kRunSchema;
  record["provenance"] = provenance(argv_, "", inputs_);
  record["options"] = to_json(settings_, false);
  record["backend"] = {{"name", backend_->name()},
                       {"description", backend_->description()},
                       {"devices", backend_->devices()},
                       {"slow_paths", learners_.fallbacks()}};
  if (const std::string checked = learners_.self_check_text(); !checked.empty())
    record["backend"]["self_check"] = checked;
  if (const std::string binding = backend_->binding(); !binding.empty()) record["backend"]["binding"] = binding;
  record["model"] = {{"name", graph_.name}, {"parameters", graph_.parameter_count()}};
  record["data"] = data_facts();
  record["epochs"] = epochs_;
  if (settings_.request.evaluations_per_epoch > 1) record["evaluations"] = evaluations_;
  if (settings_.tunes_learners()) record["tuned"] = tuned_;
  record["status"] = status_;
  add_outcome(record, epochs_, evaluations_, settings_.request.target);
  add_noise_scale(record, evaluations_.empty() ? epochs_ : evaluations_, settings_.global_batch());
  record["train_s"] = train_s_;
  record["resumed"] = resumed_;
  record["parameters_sha256"] = model_digest.empty() ? Json(nullptr) : Json(model_digest);
  record["memory"] = memory();
  return record;
}

}  // namespace lockstep::train
