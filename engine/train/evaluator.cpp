#include "engine/train/evaluator.hpp"

#include <algorithm>

namespace lockstep::train {
namespace {

constexpr std::int64_t kImages = 100;  // per pass

}  // namespace

Evaluator::Evaluator(device::Backend& backend, const model::Graph& graph, const Settings& settings,
                     const data::ImageSource& test, sync::Processes& processes)
    : test_(test),
      processes_(processes),
      batch_(static_cast<int>(std::min(kImages, test.count()))),
      filler_(test, std::nullopt, 0, usual_input_threads(backend, processes.local_count()),
              usual_pixels(backend, test)),
      images_(1) {
  device::ReplicaOptions options;
  options.batch = batch_;
  options.precision = settings.precision;
  options.is_self_checked = settings.request.is_self_checked;
  replica_ = backend.make_replica(graph, options);
}

double Evaluator::accuracy(const sync::DeviceVector& model, const std::vector<float>& running) {
  double accuracy = processes_.rank() == 0 ? evaluate_on_all_images(model, running) : 0;
  processes_.broadcast(sizeof(accuracy), &accuracy);
  return accuracy;
}

double Evaluator::evaluate_on_all_images(const sync::DeviceVector& model, const std::vector<float>& running) {
  replica_->set_running_statistics(running);
  std::int64_t correct = 0;
  std::vector<std::vector<data::Sample>> samples{std::vector<data::Sample>(static_cast<std::size_t>(batch_))};
  for (std::int64_t first = 0; first < test_.count(); first += batch_) {
    const std::int64_t count = std::min<std::int64_t>(batch_, test_.count() - first);
    // Fills up an incomplete last batch with its first image, which is counted once.
    for (std::int64_t i = 0; i < batch_; ++i)
      samples[0][static_cast<std::size_t>(i)] = {first + (i < count ? i : 0), 0};
    filler_.fill(samples, images_);
    const BatchForDevice batch(images_[0]);
    correct += replica_->correct(model.data(), batch.get(), static_cast<int>(count));
  }
  return static_cast<double>(correct) / static_cast<double>(test_.count());
}

}  // namespace lockstep::train
