#pragma once
// The training that probes of whole models run: learners with their own parameters, on learnable images, so that
// activations and gradients keep the magnitudes of real training.
#include <memory>
#include <string>
#include <vector>

#include "engine/data/augment.hpp"
#include "engine/data/synthetic.hpp"
#include "engine/device/backend.hpp"
#include "engine/train/pipeline.hpp"

namespace lockstep::calib {

struct TrainingOptions {
  model::Graph model;
  std::string precision;
  int learners = 1;  ///< per device
  int batch = 1;
  /// Runs as `train` does: its input pipeline prepares the next batches in threads in parallel with the learners. The
  /// learners exchange nothing, because the average of their gradients is a `collective`.
  bool has_input = false;
};

class Training {
 public:
  Training(device::Backend& backend, const TrainingOptions& options);

  /// Every learner of every device computes a gradient and applies it with momentum. The rate is so low that parameters
  /// of any model keep reasonable values.
  void iterate();
  /// Waits until all learners are done, but for no other work.
  void wait();
  /// Times the parts of one pass of device 0's first learner.
  std::vector<device::LayerTime> time_layers();
  /// Prepares every learner's next batch as the input pipeline would.
  void prepare_batches();

  const model::Graph& graph() const { return graph_; }

 private:
  struct Learner {
    std::unique_ptr<device::Replica> replica;
    sync::DeviceVector parameters, velocity;
  };

  void make_learner(int device);

  device::Backend& backend_;
  TrainingOptions options_;
  model::Graph graph_;
  sync::Layout layout_;
  std::vector<float> initial_;
  data::SyntheticImages images_;
  data::BatchOrder order_;
  train::BatchReader reader_;
  std::vector<Learner> learners_;
  std::vector<data::Batch> fixed_;  ///< batches without a pipeline
  const std::vector<data::Batch>* batches_ = &fixed_;
  std::unique_ptr<train::InputPipeline> pipeline_;
  std::int64_t position_ = 0;
  std::uint64_t step_ = 0;
};

}  // namespace lockstep::calib
