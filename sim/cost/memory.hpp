#pragma once
// GPU memory of learners (Koliousis et al. 2019, "Crossbow", section 4.5), which limits their number on a GPU.
//
// A learner keeps its replica, its gradients, its difference from the average model, the outputs of its operators,
// forward and backward, and a workspace. Once for all learners, the GPU keeps the average model, the previous one (for
// momentum) and the sum of the differences. It keeps `prefetch` input batches per learner.
//
// Crossbow's learners take plain SGD steps. Here a learner may have an optimizer of its own, whose state is added.
//
// The engine's offline plan (engine/model/memory_plan.hpp) lays out the outputs of each learner separately. Learners
// could share buffers of operators that do not run at the same time. This is not counted, so the estimate is too high,
// never too low.
#include "engine/model/graph.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::cost {

/// Returns the bytes of the layers' outputs and their gradients in one iteration, by the engine's offline plan.
/// `recomputes_blocks`: with activation checkpointing (engine/model/checkpoints.hpp).
double activation_arena_bytes(const model::Graph& graph, int batch, int activation_bytes,
                              bool recomputes_blocks = false);

struct LearnerMemory {
  double model_bytes = 0;    ///< one copy of the parameters, 4 bytes each
  double outputs_bytes = 0;  ///< by the engine's offline plan
  double workspace_bytes = 0;
  double input_bytes = 0;            ///< batches in flight, per learner
  double optimizer_state_bytes = 0;  ///< per learner

  /// Returns the bytes that each learner adds.
  double learner_bytes() const {
    return 3 * model_bytes + outputs_bytes + workspace_bytes + input_bytes + optimizer_state_bytes;
  }
  /// Returns the bytes that the GPU holds once for all learners.
  double shared_bytes() const { return 3 * model_bytes; }
  double total_bytes(int learners) const { return shared_bytes() + learners * learner_bytes(); }
  /// Returns how many learners fit; 0 if none does.
  int most_learners(double gpu_bytes) const;
};

}  // namespace lockstep::sim::cost
