#pragma once
// Computes the memory of a GPU at a point, part by part. A point that does not fit is refused before it is predicted.
//
// Parameters (ZeRO, Rajbhandari et al. 2020, section 3.1: 16 bytes per parameter with Adam in mixed precision):
// * Weights and gradients have the precision of the activations. In half precision there are also master weights of 4
//   bytes. Each array of the optimizer's state (engine/model/optimizer.hpp) has 4 bytes.
// * If servers update (parameter servers, backup workers, asynchronous SGD), a GPU keeps neither master weights nor
//   state, except for fully-connected layers whose factors it applies itself.
// * Sharded data parallelism divides by the number of GPUs. Weights that are kept from forward to backward are whole.
//
// Learners (sma, ea-sgd) are counted as in Crossbow (sim/cost/memory.hpp), plus the state of their optimizer.
//
// Activations: The outputs of all layers and their gradients, including one batch of images, by the engine's offline
// plan (engine/model/memory_plan.hpp). A framework that reuses less memory needs more; recomputing activations needs
// less. A loss in single precision on half-precision logits (compute/efficiency/loss_bytes_per_logit) needs 8 more
// bytes per logit. Without these bytes, six peaks of PyTorch on an H100 had errors of up to 31 %; with them 0 to 7 %
// (results/h100/2026-11-26, autocast).
//
// Input: The batches in flight, except the one in training.
//
// Communication: The largest buffer of gradients fused by a threshold, or for PyTorch's DDP a copy of all gradients
// (pytorch/pytorch#41954). If gradients are converted for the wire: the largest tensor. With sharding: weights and
// gradients of the largest units in flight. For Theano-MPI: the received halves. For 1-bit gradients: their error.
//
// If a replica is split over GPUs (/parallel), sim/split/split_memory.hpp counts the memory of the stage that needs
// most.
//
// Reserved: The memory that driver and framework take before anything else, GpuSpec::reserved_bytes.
#include <string>
#include <vector>

#include "engine/base/json_fields.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::program {

/// Relative error that barely_fits() allows for. The median over published peaks, each predicted without its own
/// source, was 8.6 to 11.6 % in November 2026 (results/history.md).
inline constexpr double kMemoryError = 0.10;

struct MemoryPart {
  const char* name;  ///< name in result files, such as "optimizer_state"
  double bytes;
};

struct [[nodiscard]] GpuMemory {
  double weights_bytes = 0;
  double gradients_bytes = 0;
  double master_weights_bytes = 0;
  double optimizer_state_bytes = 0;
  double averages_bytes = 0;  ///< learners: differences from the average model, and the GPU's models
  double activations_bytes = 0;
  double input_bytes = 0;
  double communication_bytes = 0;
  double workspace_bytes = 0;  ///< given by the scenario; for a split: other memory of a pass at the peak
  double margin_bytes = 0;     ///< for a split: the allocator's
  double reserved_bytes = 0;
  double capacity_bytes = 0;  ///< of the GPU
  int batch_per_gpu = 1;      ///< batch for which these values were counted
  LOCKSTEP_FIELDS(weights_bytes, gradients_bytes, master_weights_bytes, optimizer_state_bytes, averages_bytes,
                  activations_bytes, input_bytes, communication_bytes, workspace_bytes, margin_bytes, reserved_bytes,
                  capacity_bytes, batch_per_gpu);

  /// Returns all parts except the capacity, in this order.
  std::vector<MemoryPart> parts() const;
  double total_bytes() const;
  double spare_bytes() const { return capacity_bytes - total_bytes(); }  ///< below 0 if it does not fit
  bool fits() const { return total_bytes() <= capacity_bytes; }
  /// True if it fits, but would not if it needed 10 % more memory than predicted.
  bool barely_fits() const { return fits() && total_bytes() * (1 + kMemoryError) > capacity_bytes; }
  MemoryPart largest_part() const;
  /// Returns the largest batch per GPU (per learner) that fits; only activations and input grow with it. 0: none fits.
  int largest_batch() const;
};

/// Counts the memory of a point; `gpus` >= 1. If the auto-tuner chooses the learners, it counts one.
GpuMemory gpu_memory(const Scenario& scenario, int gpus, int batch_per_gpu);

/// Counts the memory of every stage of a split's pipeline, in their order. Returns nothing without several stages.
std::vector<GpuMemory> stage_memories(const Scenario& scenario, int gpus);

/// Bytes of weights and optimizer state as they are kept, in single precision unless the scenario says otherwise. They
/// count once, whatever the number of GPUs that hold them.
double checkpoint_bytes(const Scenario& scenario);

/// Returns a text such as "36.7 of 79.6 GiB".
std::string memory_text(double bytes, double capacity_bytes);
std::string memory_text(const GpuMemory& memory);
/// Returns "It fits with 0.1 GiB to spare of 79.6; the error of predicted memory is 10 %, so it may not fit." if
/// barely_fits(), else an empty text.
std::string barely_fits_text(const GpuMemory& memory);
/// Returns a text such as "Memory per GPU: 12.3 of 24.0 GiB at 8 to 1024 GPUs, 6.9 of 24.0 GiB at 2048 GPUs.\n".
/// `points` must be in ascending order of GPUs.
std::string memory_line(const std::vector<std::pair<int, GpuMemory>>& points);
/// Returns "Fullest of 8 stages: stage 0, with weights 1.9, activations 20.4 GiB; the others need 20 to 30.\n" Parts
/// below a twentieth of the stage are left out. Returns an empty text without several stages.
std::string fullest_stage_line(const std::vector<GpuMemory>& stages);
/// Writes {"fullest", "each": [{"bytes", "parts"}]}; the first stage is 0. Null without several stages.
Json stages_json(const std::vector<GpuMemory>& stages);
/// Writes {"bytes", "capacity_bytes", "spare_bytes" (below 0: does not fit), "barely_fits", "parts": {name: bytes}}.
Json memory_json(const GpuMemory& memory);
/// Returns by how much the memory is exceeded, the largest part, and the largest batch that fits. Returns an empty text
/// if the point fits.
std::string why_not_in_memory(const Scenario& scenario, int gpus, const GpuMemory& memory);
/// Throws InputError for a point that does not fit, unless the scenario ignores memory: "WHERE: why; allowed:
/// ...".
void check_memory(const Scenario& scenario, int gpus, int batch_per_gpu, const std::string& where);

}  // namespace lockstep::sim::program
