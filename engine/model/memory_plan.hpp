#pragma once
// Memory of the buffers of a training pass: each layer's output and the gradient of it. Crossbow (Koliousis et al.
// 2019, section 4.5) saves in two ways.
//
// Offline, within one learner: a pass is a fixed sequence of steps, forward layers 0 .. L - 1 and then backward layers
// L - 1 .. 1. A buffer is live from the step that writes it to the last step that reads it (its reference count is then
// 0), and buffers that are not live together may share memory.
//
// Online, among the learners of a GPU: they are seldom at the same step, so that a pool of buffers per operator, shared
// by all, holds fewer than one per learner. How many depends on when each learner runs; pooled_bytes() counts for
// learners that follow each other at even distances over an iteration, steps taking time in proportion to the elements
// and multiply-adds that they touch.
//
// The host runs the offline plan, and its learners take turns in as many arenas as threads compute at once
// (engine/host/arena_pool.hpp): pools at the grain of a pass. The CUDA backend lays out the steps of its program in the
// same way (engine/cuda/program.hpp); there every learner has its own arena, since learners compute side by side and a
// captured pass has fixed addresses. pooled_bytes() is what pools per operator would take, and no backend runs them.
//
// Attention and experts keep more than they put out (Layer::kept_elements, scratch_elements): buffers of their own, live
// from the layer's forward step to its backward step, and at these two steps.
//
// Not counted: parameters and their gradients, workspaces, what single layers note for themselves (which input of a
// pooling was the largest, what dropout left out: a byte an element).
//
// simulate counts by the same plan (sim/program/gpu_memory.hpp).
#include <cstdint>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// An output (of layer `layer`), its gradient, or what the layer holds inside.
struct Buffer {
  int layer;
  bool is_gradient;
  std::int64_t elements;  ///< of one image
  int first_step;         ///< writes it
  int last_step;          ///< the last to read or write it
  std::int64_t offset;    ///< in the arena, elements of one image
  bool is_inner = false;  ///< held inside the layer
};

struct MemoryPlan {
  int steps = 0;                       ///< 2 L: forward of layer i is step i, backward of layer i is 2 L - 1 - i
  std::vector<Buffer> buffers;         ///< in the order of first_step
  std::int64_t unshared_elements = 0;  ///< every buffer by itself, of one image
  std::int64_t arena_elements = 0;     ///< with the offline plan
};

/// Buffers with the steps in which they are live, each by itself in memory. With `blocks` (checkpoints.hpp) outputs that only
/// their block reads are live within the forward pass as long as it reads them, and once more from the first backward step of
/// the block on, before which it is computed again. Outputs live until the last step that reads
/// them; what the loss heads read, and their outputs, until the end of the pass. A layer before which there are no
/// parameters has no gradient.
MemoryPlan live_buffers(const Graph& graph, const std::vector<int>& blocks = {});
/// The same laid out by reuse: the largest buffers first, each at the lowest offset at which it overlaps none that is
/// live at the same time.
MemoryPlan offline_plan(const Graph& graph, const std::vector<int>& blocks = {});

/// Elements of all buffers live at `step`.
std::int64_t live_elements(const MemoryPlan& plan, int step);
/// The largest live_elements(): no plan needs less.
std::int64_t least_elements(const MemoryPlan& plan);

/// Bytes of the pools that `learners` learners share, for batches of `batch` and elements of `element_bytes`.
/// Throws std::invalid_argument for fewer than one learner.
std::int64_t pooled_bytes(const Graph& graph, const MemoryPlan& plan, int learners, int batch, int element_bytes);

}  // namespace lockstep::model
