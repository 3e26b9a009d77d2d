#include "calib/probe/training.hpp"

namespace lockstep::calib {
namespace {

constexpr std::int64_t kImages = 10000;  // size of the synthetic data set, as in `train --data synthetic`
constexpr std::uint64_t kSeed = 1;
constexpr sync::StepSize kMomentumStep{1e-6, 0.9, 0};

data::SyntheticImages synthetic_images(const model::Graph& graph) {
  return {{graph.input.channels, graph.input.height, graph.input.width},
          static_cast<int>(graph.layers.back().out.elements()),
          kImages,
          kSeed};
}

}  // namespace

Training::Training(device::Backend& backend, const TrainingOptions& options)
    : backend_(backend),
      options_(options),
      graph_(options.model),
      layout_(device::layout_of(graph_)),
      initial_(device::initial_parameters(graph_, kSeed)),
      images_(synthetic_images(graph_)),
      order_(kImages, kSeed),
      reader_(images_, order_, options.batch, std::nullopt, kSeed,
              train::usual_input_threads(backend, backend.ops().processes()), train::usual_pixels(backend, images_),
              train::pinned_memory_of(backend)) {
  for (int device = 0; device < backend.devices(); ++device)
    for (int l = 0; l < options.learners; ++l) make_learner(device);
  fixed_.resize(learners_.size());
  prepare_batches();
  if (!options.has_input) return;
  pipeline_ =
      std::make_unique<train::InputPipeline>(images_, order_, options.batch, std::nullopt, kSeed, reader_.threads(),
                                             train::usual_pixels(backend, images_), train::pinned_memory_of(backend));
  pipeline_->start(0, static_cast<int>(learners_.size()));
}

void Training::make_learner(int device) {
  device::ReplicaOptions replica;
  replica.batch = options_.batch;
  replica.device = device;
  replica.precision = device::precision_from(options_.precision);
  replica.learners = backend_.devices() * options_.learners;
  learners_.push_back({backend_.make_replica(graph_, replica),
                       sync::DeviceVector(backend_.ops(), layout_.count, device),
                       sync::DeviceVector(backend_.ops(), layout_.count, device)});
  backend_.ops().upload(layout_.count, initial_.data(), learners_.back().parameters.data());
}

void Training::prepare_batches() {
  reader_.read(position_, fixed_);
  position_ += static_cast<std::int64_t>(fixed_.size()) * options_.batch;
}

void Training::iterate() {
  if (pipeline_) batches_ = &pipeline_->take();
  std::vector<const float*> gradients;
  for (std::size_t l = 0; l < learners_.size(); ++l) {
    const train::BatchForDevice batch((*batches_)[l]);
    gradients.push_back(learners_[l].replica->gradient(learners_[l].parameters.data(), batch.get(), step_));
    batch.taken_by(*learners_[l].replica);
  }
  for (std::size_t l = 0; l < learners_.size(); ++l)
    backend_.ops().momentum_update(layout_, kMomentumStep, gradients[l], learners_[l].velocity.data(),
                                   learners_[l].parameters.data());
  ++step_;
}

void Training::wait() {
  float last = 0;
  for (Learner& learner : learners_) backend_.ops().download(1, learner.parameters.data(), &last);
}

std::vector<device::LayerTime> Training::time_layers() {
  const train::BatchForDevice batch(batches_->front());
  std::vector<device::LayerTime> times =
      learners_.front().replica->time_layers(learners_.front().parameters.data(), batch.get(), step_++);
  batch.taken_by(*learners_.front().replica);
  return times;
}

}  // namespace lockstep::calib
