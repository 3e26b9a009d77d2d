#pragma once
// GPU memory of learners (Koliousis et al. 2019, "Crossbow", section 4.5), which bounds how many fit on a GPU.
//
// A learner keeps its replica, its gradients, its difference from the average model, the outputs of its operators,
// forward and backward, and a workspace. The GPU also keeps, once for all learners, the average model, the one before
// it (for momentum) and the sum of the differences. It keeps `prefetch` input batches per learner.
//
// Crossbow's learners take plain SGD steps. Here a learner may have an optimizer of its own, whose state is added.
//
// The engine's offline plan (engine/model/memory_plan.hpp) lays out the outputs of each learner separately. Learners
// could share buffers of operators that do not run at once; this is not counted, so the estimate is too high, never too
// low.
#include "engine/model/graph.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::cost {

/// Returns the bytes of the layers' outputs and their gradients in one iteration, laid out by the engine's offline
/// plan. `recomputes_blocks`: with activation checkpointing (engine/model/checkpoints.hpp).
double outputs_bytes(const model::Graph& graph, int batch, int activation_bytes, bool recomputes_blocks = false);

struct LearnerMemory {
  double model_bytes = 0;    ///< of one copy of the parameters, 4 bytes each
  double outputs_bytes = 0;  ///< by the offline plan
  double workspace_bytes = 0;
  double input_bytes = 0;            ///< batches in flight of one learner
  double optimizer_state_bytes = 0;  ///< of one learner

  /// Returns the bytes that each learner adds.
  double learner_bytes() const {
    return 3 * model_bytes + outputs_bytes + workspace_bytes + input_bytes + optimizer_state_bytes;
  }
  /// Returns the bytes that the GPU holds for any number of learners.
  double shared_bytes() const { return 3 * model_bytes; }
  double total_bytes(int learners) const { return shared_bytes() + learners * learner_bytes(); }
  /// Returns how many learners fit; 0 if not even one does.
  int most_learners(double gpu_bytes) const;
};

}  // namespace lockstep::sim::cost
