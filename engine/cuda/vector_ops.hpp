#pragma once
// sync::VectorOps on GPUs: our own kernels, and NCCL for sums over all GPUs.
//
// Every device has one stream for these operations, `updates`, which keeps their order. A second stream, `beside`, runs
// the work of beside_gradients(). `updates` waits for it before its next operation, but a learner's gradient does not.
// An operation with arrays on several devices runs on the device of its output. Other arrays are copied there first
// (and back, if they are written), and the devices wait for each other by events. All calls must come from one thread.
//
// Buffers may also be a replica's gradients or other device memory. Device numbers from devices() on start again at 0,
// so that an algorithm with more learners than GPUs assigns them round-robin.
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

/// Lets replicas of one device compute concurrently. A replica makes the stream of its DeviceStreams wait for its work,
/// and starts after the work in that stream. On the device's own stream, each replica would therefore wait for the
/// previous one. So every replica gets the stream of a gate. The function open() puts the device's work so far before
/// the gate's stream; close() makes the device's next operation wait for the gate's stream.
struct ReplicaGate {
  explicit ReplicaGate(int of_device) : device(of_device) {}  ///< its GPU must be current
  int device;
  Stream stream;
  Event closed;
  GradientParts parts;  ///< of the replica's gradient
};

class CudaVectorOps final : public sync::VectorOps {
 public:
  /// Device d is GPU gpus[d]. One GPU may serve as several devices. That is slower and without NCCL, but lets tests on
  /// one GPU show that devices wait for each other. Throws std::runtime_error if CUDA fails. With `processes`, which
  /// must outlive this object, sum_all() and average_all() include all processes, each with the same number of GPUs.
  explicit CudaVectorOps(const std::vector<int>& gpus, sync::Processes* processes = nullptr);
  ~CudaVectorOps() override;

  int devices() const { return static_cast<int>(devices_.size()); }
  int gpu(int device) const;
  /// The stream of the device's next operation, which comes after all closed gates and all previous operations.
  cudaStream_t stream_of(int device);
  /// The operations for which a replica's work waits: all so far, or all except those of beside_gradients().
  enum class After { all, all_but_beside };
  void open(ReplicaGate& gate, After after = After::all);
  void close(ReplicaGate& gate);
  /// From now on, averages the gate's gradient over all GPUs in its parts, each as soon as it is complete.
  void know(const ReplicaGate& gate);
  /// Call before the gate is destroyed; afterwards no operation waits for it.
  void forget(const ReplicaGate& gate);

  float* allocate(std::int64_t n, int device) override;
  void release(float* x) override;
  /// upload() and download() return when the copy is done.
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
  /// See guarded_updates.cpp. The update kernels read |g|^2 from device memory; the host gets the verdict later.
  std::shared_ptr<sync::Verdict> update_where_finite(std::int64_t n, const std::vector<const float*>& gradients,
                                                     const std::function<void()>& work) override;
  bool judges_on_devices() const override { return true; }
  /// Over all GPUs, NCCL chooses the order of summation; otherwise it is the order of the buffers.
  void sum_all(std::int64_t n, const std::vector<float*>& buffers) override;
  /// See vector_averages.cpp. If every GPU has one input, uses NCCL's mean, or scaled inputs and NCCL's sum if the
  /// switches can add. Averages in half precision if set_wire() selects that (wire.hpp). Gradients with known parts are
  /// averaged part by part on the stream `beside`, during the passes. On one GPU, or on several devices of one, the
  /// inputs are summed in order and then scaled, as on the host.
  void average_all(std::int64_t n, const std::vector<const float*>& inputs,
                   const std::vector<float*>& outputs) override;
  /// See vector_averages.cpp. Across GPUs of several processes, NCCL does one reduction or broadcast per part, all in
  /// one group. Within a process, parts are copied between GPUs and summed in the host's order.
  void average_parts(std::int64_t n, const std::vector<const float*>& inputs,
                     const std::vector<float*>& outputs) override;
  void gather_parts(std::int64_t n, const std::vector<float*>& buffers) override;
  /// Implements device::Backend::set_gradient_wire().
  void set_wire(device::Precision wire) { wire_ = wire; }
  /// Implements device::Backend::exchange(). Throws std::runtime_error if two devices are the same GPU.
  void exchange(device::Collective collective, device::Precision element, std::int64_t n,
                const std::vector<const void*>& send, const std::vector<void*>& receive);
  /// Implements device::Backend::recorded(). The second call creates the graph, and throws std::runtime_error if that
  /// fails.
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
  /// As stream_of(), but may be the stream of an operation in progress.
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
  /// Copies the first buffer of every device to its other buffers.
  void copy_firsts(std::int64_t n, const std::vector<std::vector<float*>>& by_device);
  void average_everywhere(std::int64_t n, const std::vector<std::vector<const float*>>& inputs,
                          const std::vector<std::vector<float*>>& outputs, float share);
  /// Holds one source and one target array per device.
  struct Ends {
    std::vector<const float*> from;
    std::vector<float*> to;
  };
  /// For elements [begin, begin + n): to <- the sum over all GPUs of scale * from.
  void sum_scaled(std::int64_t begin, std::int64_t n, const Ends& ends, float scale,
                  const std::vector<cudaStream_t>& streams);
  /// to <- the mean over all GPUs.
  void mean_of_all(std::int64_t begin, std::int64_t n, const Ends& ends, float share,
                   const std::vector<cudaStream_t>& streams);
  std::vector<const GradientParts*> parts_of(std::int64_t n, const std::vector<const float*>& gradients) const;
  void average_in_parts(const std::vector<const GradientParts*>& parts, const Ends& ends, float share);

  std::vector<std::unique_ptr<Device>> devices_;
  bool are_distinct_;  ///< no two devices are the same GPU
  std::map<const float*, Allocation> allocations_;
  bool is_beside_ = false;  ///< true during beside_gradients()
  std::vector<const ReplicaGate*> gates_;
  std::vector<std::shared_ptr<VerdictSlot>> verdicts_;  ///< of steps whose verdict was not yet read, and free ones
  device::Precision wire_ = device::Precision::fp32;
  sync::Processes alone_;
  sync::Processes* processes_;
  std::unique_ptr<Communicator> communicator_;  ///< created at its first use
};

}  // namespace lockstep::cuda
