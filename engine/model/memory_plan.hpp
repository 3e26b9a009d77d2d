#pragma once
// Plans the memory of a training pass's buffers: each layer's output and its gradient. Crossbow (Koliousis et al. 2019,
// section 4.5) saves memory in two ways.
//
// Offline, within one learner. A pass is a fixed sequence of steps: forward layers 0 .. L - 1, then backward layers L -
// 1 .. 1. A buffer is live from the step that writes it to the last step that reads it. Buffers that are not live at
// the same time may share memory.
//
// Online, among the learners of a GPU. They are rarely at the same step, so a shared pool of buffers per operator needs
// fewer buffers than one per learner. The number depends on when each learner runs. The function pooled_bytes() assumes
// that learners start at equal intervals over an iteration. It assumes a time per step that is proportional to its
// elements and multiply-adds.
//
// The host uses the offline plan. Its learners take turns in arenas, one per thread that computes
// (engine/host/arena_pool.hpp). The CUDA backend places the steps of its program in the same way
// (engine/cuda/program.hpp). Every learner has its own arena there: learners compute concurrently and a captured pass
// has fixed addresses. The function pooled_bytes() estimates pools per operator; no backend uses them.
//
// Attention and experts keep more than their output (Layer::kept_elements, scratch_elements). Kept elements are a
// buffer that is live from the layer's forward step to its backward step; scratch is live at these two steps.
//
// Parameters and their gradients, workspaces, and records of single layers are not counted. (Pooling records the
// positions of maxima, dropout the dropped elements: one byte per element.)
//
// The program simulate uses the same plan (sim/program/gpu_memory.hpp).
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// Describes the output of layer `layer`, its gradient, or memory inside the layer.
struct Buffer {
  int layer;
  bool is_gradient;
  std::int64_t elements;  ///< of one image
  int first_step;         ///< the step that writes it
  int last_step;          ///< the last step that reads or writes it
  std::int64_t offset;    ///< in the arena, elements of one image
  bool is_inner = false;  ///< held inside the layer
};

struct MemoryPlan {
  int steps = 0;                       ///< 2 L: forward of layer i is step i, backward of layer i is 2 L - 1 - i
  std::vector<Buffer> buffers;         ///< in the order of first_step
  std::int64_t unshared_elements = 0;  ///< per image, if every buffer had its own memory
  std::int64_t arena_elements = 0;     ///< per image, with the offline plan
};

/// Computes the steps in which each buffer is live, without sharing memory. Outputs live until the last step that reads
/// them. The loss heads' inputs and outputs live until the end of the pass. A layer that comes before all parameters
/// has no gradient. With `blocks` (checkpoints.hpp), an output that only its block reads is live twice. First, it is
/// live in the forward pass while it is read. It is recomputed before the block's first backward step, and is live
/// again from then on.
MemoryPlan live_buffers(const Graph& graph, const std::vector<int>& blocks = {});
/// Places live_buffers() in shared memory: the largest buffers first, each at the lowest offset that is free while it
/// is live.
MemoryPlan offline_plan(const Graph& graph, const std::vector<int>& blocks = {});

/// Returns MemoryPlan::arena_elements of the offline plan, with activation checkpointing (checkpoints.hpp) if blocks are
/// recomputed. Computes it once for a graph and its copies, because predictions ask for it again and again.
std::int64_t count_arena_elements(const Graph& graph, bool recomputes_blocks);

/// The latest results of count_arena_elements() for a graph and its copies. Several threads may use it.
class ArenaSizes {
 public:
  std::int64_t find(const Graph& graph, bool recomputes_blocks);

 private:
  std::mutex mutex_;
  // A copy of the graph may have other layers. As `layers_` keeps the array, others have another address.
  SharedVector<Layer> layers_;
  Shape input_;
  int tokens_ = 0;
  std::optional<std::int64_t> elements_[2];  // without and with recomputation
};

/// Elements of all buffers live at `step`.
std::int64_t live_elements(const MemoryPlan& plan, int step);
/// The maximum of live_elements(), a lower bound for any plan.
std::int64_t least_elements(const MemoryPlan& plan);

/// Bytes of the pools that `learners` learners share, for batches of `batch` images and elements of `element_bytes`
/// bytes. Throws std::invalid_argument for fewer than one learner.
std::int64_t pooled_bytes(const Graph& graph, const MemoryPlan& plan, int learners, int batch, int element_bytes);

}  // namespace lockstep::model
