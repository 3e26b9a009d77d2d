#pragma once
// Computes a model's test accuracy, with its own replica on device 0.
#include <memory>
#include <vector>

#include "engine/data/augment.hpp"
#include "engine/device/backend.hpp"
#include "engine/train/batch_reader.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

class Evaluator {
 public:
  /// `test` and `processes` must outlive this object.
  Evaluator(device::Backend& backend, const model::Graph& graph, const Settings& settings,
            const data::ImageSource& test, sync::Processes& processes);

  /// The fraction of test images that are classified correctly, with batch norm's `running` statistics. All processes
  /// get process 0's result.
  double accuracy(const sync::DeviceVector& model, const std::vector<float>& running);
  std::int64_t memory_bytes() const { return replica_->memory_bytes(); }

 private:
  /// Returns the same, computed by this process alone.
  double evaluate_on_all_images(const sync::DeviceVector& model, const std::vector<float>& running);

  const data::ImageSource& test_;
  sync::Processes& processes_;
  int batch_;
  std::unique_ptr<device::Replica> replica_;
  BatchFiller filler_;
  std::vector<data::Batch> images_;  ///< holds one batch
};

}  // namespace lockstep::train
