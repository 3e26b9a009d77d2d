#pragma once
// Parts of every training step: input, forward pass, backward pass.
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::schedule {

/// Consecutive layers of a pass.
struct Segment {
  double seconds = 0;
  Parts parts;
};

/// The forward pass from layer `from` up to layer `to`, both included.
Segment forward_segment(const model::Graph& graph, const ModelCost& cost, int from, int to);
/// The backward pass from layer `from` down to layer `to`, both included.
Segment backward_segment(const model::Graph& graph, const ModelCost& cost, int from, int to);

/// How batches reach a GPU.
struct Loading {
  double load_s = 0;       ///< reads, decodes and augments one batch of one GPU
  double to_device_s = 0;  ///< copies it to the GPU
  int prefetch = 2;        ///< number of batches loaded in advance (2: double buffering)
  bool blocking = false;   ///< loads only after the previous step has ended, not during it
  /// If above 0, bytes of a batch that cross the cluster's links: they are read from the file server before load_s, and
  /// copied to the GPU in place of to_device_s.
  std::int64_t read_bytes = 0;
  std::int64_t to_device_bytes = 0;

  /// True if input takes no time.
  bool is_free() const { return load_s <= 0 && to_device_s <= 0 && read_bytes <= 0 && to_device_bytes <= 0; }
};

/// Enqueues a batch's load and copy. Returns the work after which it is on the GPU. `after` is the work that frees its
/// buffer. `loading_name` is the name of the work between reading and copying.
int enqueue_batch(Enqueue& gpu, const Loading& loading, const std::string& loading_name, int load_stream,
                  int copy_stream, const std::vector<int>& after);

/// Enqueues one batch per step. Without `blocking`, a batch is loaded as soon as one of `prefetch` buffers is free,
/// which is after the forward pass `prefetch` steps earlier. (A loader process reads the next file while the GPU trains
/// on this one.)
class InputPipeline {
 public:
  InputPipeline(Enqueue& gpu, const Loading& loading, int load_stream, int copy_stream)
      : gpu_(gpu), loading_(loading), load_stream_(load_stream), copy_stream_(copy_stream) {}
  /// Returns the work after which the next step's batch is on the GPU. `step_before` is the last work of the previous
  /// step; -1: none.
  int next(int step_before);
  /// Records the forward pass that reads the batch and thus frees its buffer.
  void used_by(int forward) { used_.push_back(forward); }

 private:
  Enqueue& gpu_;
  const Loading loading_;
  const int load_stream_, copy_stream_;
  std::vector<int> used_;  // by step
};

}  // namespace lockstep::sim::schedule
