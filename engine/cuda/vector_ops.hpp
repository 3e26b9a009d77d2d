#pragma once
// sync::VectorOps on GPUs: kernels of our own, and NCCL where all GPUs take part in a sum.
//
// Every device has one stream for these operations, `updates`, so that they follow each other. A second one, `beside`,
// has those of beside_gradients(); `updates` waits for it before its next operation, a learner's gradient does not. An
// operation with arrays on several devices runs on its output's: arrays from elsewhere are copied there first (and
// back, where they are written), and the devices wait for each other by events. Calls come from one thread.
//
// Buffers may also be a replica's gradients, or anything else in a device's memory. Device numbers from devices() on
// begin again at 0, so that an algorithm with more learners than there are GPUs lays them out in turns.
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/cuda/gradient_buckets.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"
#include "engine/sync/processes.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::cuda {

class Communicator;
struct SegmentTable;

/// Lets replicas of one device compute side by side. A replica makes the stream of its DeviceStreams wait for its work,
/// and begins after what that stream holds; were it the device's own stream, each replica would begin after the one
/// before. So every replica gets a gate's stream: open() puts what the device has been told so far before it, close()
/// notes that the device's next operation waits for it.
struct ReplicaGate {
  explicit ReplicaGate(int of_device) : device(of_device) {}  ///< its GPU is the current one
  int device;
  Stream stream;
  Event closed;
  GradientParts parts;  ///< of the replica's gradient
};

class CudaVectorOps final : public sync::VectorOps {
 public:
  /// Device d is GPU gpus[d]. One GPU may be several devices: slower, and without NCCL, but it shows on one GPU that
  /// devices wait for each other. Throws std::runtime_error where CUDA fails.
  /// With `processes`, which must outlive it, sum_all() and average_all() go over all of them: as many GPUs in each.
  explicit CudaVectorOps(const std::vector<int>& gpus, sync::Processes* processes = nullptr);
  ~CudaVectorOps() override;

  int devices() const { return static_cast<int>(devices_.size()); }
  int gpu(int device) const;
  /// The stream of the device's next operation, after all gates closed and all operations handed in so far.
  cudaStream_t stream_of(int device);
  /// What a replica's work comes after: all operations so far, or all but those that go on beside gradients.
  enum class After { all, all_but_beside };
  void open(ReplicaGate& gate, After after = After::all);
  void close(ReplicaGate& gate);
  /// From now on the mean of the gate's gradient over all GPUs goes in its parts, each as soon as it is complete.
  void know(const ReplicaGate& gate);
  /// Before the gate goes: nothing waits for it any more.
  void forget(const ReplicaGate& gate);

  float* allocate(std::int64_t n, int device) override;
  void release(float* x) override;
  /// Both return when the copy is done.
  void upload(std::int64_t n, const float* host, float* x) override;
  void download(std::int64_t n, const float* x, float* host) override;

  void zero(std::int64_t n, float* x) override;
  void copy(std::int64_t n, const float* x, float* y) override;
  void scale(std::int64_t n, double a, float* x) override;
  void axpy(std::int64_t n, double a, const float* x, float* y) override;
  double dot(std::int64_t n, const float* x, const float* y) override;
  std::vector<double> norms(const sync::Layout& layout, const float* x) override;

  void average(std::int64_t n, const std::vector<const float*>& inputs, float* y) override;
  void beside_gradients(const std::function<void()>& work) override;
  /// guarded_updates.cpp. The kernels of updates read |g|^2 from their device's memory; the host is told later.
  std::shared_ptr<sync::Verdict> update_where_finite(std::int64_t n, const std::vector<const float*>& gradients,
                                                     const std::function<void()>& work) override;
  bool judges_on_devices() const override { return true; }
  /// Over all GPUs NCCL chooses the order of the summation; otherwise it is that of the buffers.
  void sum_all(std::int64_t n, const std::vector<float*>& buffers) override;
  /// vector_averages.cpp. Where every GPU has one input, NCCL's mean in one operation, or, where switches add, scaled
  /// inputs and NCCL's sum; in half precision where set_wire() says so (wire.hpp). Gradients of replicas that tell their
  /// parts are averaged part by part on the stream `beside`, while the passes go on. On one GPU, or several devices of
  /// one, the inputs are summed in their order and then scaled, as the host does it.
  void average_all(std::int64_t n, const std::vector<const float*>& inputs,
                   const std::vector<float*>& outputs) override;
  /// vector_averages.cpp. Over GPUs of several processes by NCCL, a reduction or broadcast for every part in one group;
  /// within a process by copies between the GPUs, in the host's order of summation.
  void average_parts(std::int64_t n, const std::vector<const float*>& inputs,
                     const std::vector<float*>& outputs) override;
  void gather_parts(std::int64_t n, const std::vector<float*>& buffers) override;
  /// device::Backend::set_gradient_wire().
  void set_wire(device::Precision wire) { wire_ = wire; }
  /// device::Backend::exchange(). Throws std::runtime_error where two devices are one GPU.
  void exchange(device::Collective collective, device::Precision element, std::int64_t n,
                const std::vector<const void*>& send, const std::vector<void*>& receive);
  /// device::Backend::recorded(). The first call after the first makes the graph; throws std::runtime_error where it
  /// cannot be made.
  std::function<void()> recorded(int device, std::function<void()> work);
  bool are_distinct() const { return are_distinct_; }
  int processes() const override { return processes_->count(); }

  void sgd_update(const sync::Layout& layout, double learning_rate, double weight_decay, const float* g,
                  float* w) override;
  void momentum_update(const sync::Layout& layout, const sync::StepSize& step, const float* g, float* v,
                       float* w) override;
  void nesterov_update(const sync::Layout& layout, const sync::StepSize& step, const float* g, float* v,
                       float* w) override;
  void adam_update(const sync::Layout& layout, const sync::AdamStep& step, const float* g, float* m, float* v,
                   float* w) override;
  void lars_update(const sync::Layout& layout, const sync::StepSize& step, const sync::LarsOptions& lars,
                   const float* g, float* v, float* w) override;

  void corrected_update(const sync::Layout& layout, double learning_rate, double weight_decay, double alpha,
                        const float* g, const float* z, float* w, float* sum) override;
  void elastic_pull(std::int64_t n, double alpha, const float* z, float* w, float* sum) override;
  void average_model_update(std::int64_t n, double momentum, const float* sum, float* z, float* previous) override;

 private:
  struct Device;
  struct VerdictSlot;
  struct Allocation {
    std::int64_t count;
    int device;
  };
  class Operation;

  Device& on(int device) const { return *devices_[static_cast<std::size_t>(device)]; }
  int device_of(const float* x) const;
  /// stream_of(), where it may be that of an operation under way.
  cudaStream_t current_stream_of(int device) const;
  SegmentTable table_of(int device, const sync::Layout& layout);
  void accumulate(std::int64_t n, const float* const* inputs, std::size_t count, bool is_further, float scale,
                  float* y);
  Communicator& communicator();
  template <typename Pointer>
  std::vector<std::vector<Pointer>> by_device(const std::vector<Pointer>& buffers) const;
  template <typename Pointer>
  bool is_for_nccl(const std::vector<std::vector<Pointer>>& by_device) const;
  std::vector<cudaStream_t> streams_of_all();
  void sum_everywhere(std::int64_t n, const std::vector<std::vector<float*>>& by_device);
  /// The first buffer of every device to its others.
  void copy_firsts(std::int64_t n, const std::vector<std::vector<float*>>& by_device);
  void average_everywhere(std::int64_t n, const std::vector<std::vector<const float*>>& inputs,
                          const std::vector<std::vector<float*>>& outputs, float share);
  /// One array on every device, from and to.
  struct Ends {
    std::vector<const float*> from;
    std::vector<float*> to;
  };
  /// Of elements [begin, begin + n): to <- the sum over all GPUs of scale from.
  void sum_scaled(std::int64_t begin, std::int64_t n, const Ends& ends, float scale,
                  const std::vector<cudaStream_t>& streams);
  /// to <- the mean over all GPUs.
  void mean_of_all(std::int64_t begin, std::int64_t n, const Ends& ends, float share,
                   const std::vector<cudaStream_t>& streams);
  std::vector<const GradientParts*> parts_of(std::int64_t n, const std::vector<const float*>& gradients) const;
  void average_in_parts(const std::vector<const GradientParts*>& parts, const Ends& ends, float share);

  std::vector<std::unique_ptr<Device>> devices_;
  bool are_distinct_;  ///< the devices' GPUs
  std::map<const float*, Allocation> allocations_;
  bool is_beside_ = false;  ///< in beside_gradients()
  std::vector<const ReplicaGate*> gates_;
  std::vector<std::shared_ptr<VerdictSlot>> verdicts_;  ///< of steps that nobody has asked about yet, and free ones
  device::Precision wire_ = device::Precision::fp32;
  sync::Processes alone_;
  sync::Processes* processes_;
  std::unique_ptr<Communicator> communicator_;  ///< made when first needed
};

}  // namespace lockstep::cuda
