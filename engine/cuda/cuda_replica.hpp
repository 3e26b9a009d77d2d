#pragma once
// The replica behind make_cuda_replica(): its memory, the steps of a program, and the passes over them.
//
// A pass copies the batch in, packs the parameters, runs the steps forward and backward, and unpacks the gradients. All
// but the copy is captured in one CUDA graph per bucket of the gradient (gradient_buckets.hpp). Values that change
// between passes (parameters' address, step number, loss scale) are read from device memory.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/cuda/gradient_buckets.hpp"
#include "engine/cuda/input_staging.hpp"
#include "engine/cuda/layer_operation.hpp"
#include "engine/cuda/layer_timer.hpp"
#include "engine/cuda/pass_graph.hpp"
#include "engine/cuda/program.hpp"
#include "engine/cuda/segments.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

class CudaReplica final : public device::Replica {
 public:
  CudaReplica(const model::Graph& graph, const device::ReplicaOptions& options, const DeviceStreams& streams);
  ~CudaReplica() override;
  CudaReplica(const CudaReplica&) = delete;
  CudaReplica& operator=(const CudaReplica&) = delete;

  const float* gradient(const float* parameters, const device::HostBatch& batch, std::uint64_t step) override;
  std::function<void()> until_input_is_read() const override { return staging_.until_copied(); }
  double loss() override;
  int correct(const float* parameters, const device::HostBatch& batch, int count) override;
  /// Sets a fixed loss scale; fp16 starts with an automatic one (see PassState).
  void set_loss_scale(double scale) override;
  std::vector<float> running_statistics() override;
  void set_running_statistics(const std::vector<float>& statistics) override;
  std::int64_t memory_bytes() const override;
  std::int64_t activation_bytes() const override { return arena_.bytes(); }
  /// Measured by CUDA events around the kernels of each step (layer_timer.hpp).
  std::vector<device::LayerTime> time_layers(const float* parameters, const device::HostBatch& batch,
                                             std::uint64_t step) override;
  std::vector<std::string> fallbacks() const override;
  std::string self_check_text() const override;

  /// From now on, passes are launched kernel by kernel.
  void disable_graphs();
  /// Whether the last training pass was the replay of a graph.
  bool replayed() const;

 private:
  void allocate();
  void connect();
  Connections connections_of(const Step& step, int head);
  Tensor values_of(int layer) const;
  void* gradient_of(int layer) const;
  void allocate_working_memory();
  void upload_segments();
  void check_labels(const std::int32_t* labels, int count) const;
  void bring_in(const float* parameters, const device::HostBatch& batch, int count, std::uint64_t step);
  void pack();
  void training_pass(LayerTimer* timer = nullptr);
  /// Runs the pass from the end of the previous bucket to the end of this one. The first begins with the forward pass.
  void training_section(std::size_t bucket, LayerTimer* timer = nullptr);
  class Snapshot;
  /// Verifies the captured graph (first_replay.cpp): runs the first replayed pass eagerly as well and compares the two.
  /// If they differ, the graph is never replayed. Costs a pass, a copy of the gradient, and a wait, once.
  void run_first_replay();
  bool captures_training();
  void disable_training_graphs(const std::string& why);
  void backward(std::size_t step, LayerTimer* timer);
  void evaluation_pass();

  model::Graph graph_;
  device::ReplicaOptions options_;
  DeviceStreams streams_;
  Element element_;
  Program program_;
  Packing packing_;

  Stream stream_;
  Event started_, finished_;
  std::unique_ptr<CudnnHandle> cudnn_;
  std::unique_ptr<CublasHandle> cublas_;
  std::unique_ptr<ConvolutionSolvers> convolutions_;
  InputStaging staging_;
  Machine machine_{};

  DeviceBuffer<char> arena_;                         ///< values of all steps and their gradients, placed by the program
  DeviceBuffer<char> elements_, element_gradients_;  ///< packed weights
  DeviceBuffer<float> reals_, real_gradients_;       ///< packed vectors
  DeviceBuffer<float> gradient_;                     ///< flat, as returned
  DeviceBuffer<float> running_;
  std::vector<std::int64_t> running_offsets_;  ///< by layer
  DeviceBuffer<float> losses_;                 ///< by head and image
  DeviceBuffer<std::int32_t> labels_;
  DeviceBuffer<PassState> state_;
  DeviceBuffer<Segment> pack_segments_, unpack_segments_;
  DeviceBuffer<char> workspace_, scratch_;
  DeviceBuffer<float> partials_;

  std::map<int, OutputSums> sums_;             ///< by the layer whose outputs are summed
  std::vector<LayerOperationPtr> operations_;  ///< by step
  std::vector<GradientBucket> buckets_;
  std::vector<PassGraph> bucket_graphs_;  ///< of the training pass, one per gradient bucket
  PassGraph evaluation_;
  std::unique_ptr<TimedPass> timed_;  ///< created at its first use
};

}  // namespace lockstep::cuda
