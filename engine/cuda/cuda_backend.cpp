#include "engine/cuda/cuda_backend.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/cuda/cuda_network.hpp"
#include "engine/cuda/device_facts.hpp"
#include "engine/cuda/device_timer.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/cuda/side_streams.hpp"
#include "engine/cuda/vector_ops.hpp"
#include "engine/device/affinity.hpp"
#include "engine/nvml/nvml.hpp"

namespace lockstep::cuda {
namespace {

/// A replica with a gate of its own; see ReplicaGate.
class GatedReplica final : public device::Replica {
 public:
  GatedReplica(CudaVectorOps& ops, const model::Graph& graph, const device::ReplicaOptions& options)
      : ops_(ops), gate_(options.device) {
    ops_.open(gate_);
    const bool is_shared = ops_.are_distinct() && ops_.devices() * ops_.processes() > 1;
    replica_ =
        make_cuda_replica(graph, options, {ops_.gpu(options.device), gate_.stream, is_shared ? &gate_.parts : nullptr});
    ops_.know(gate_);
    ops_.close(gate_);
  }
  ~GatedReplica() override {
    replica_.reset();
    ops_.forget(gate_);
  }

  const float* gradient(const float* parameters, const device::HostBatch& batch, std::uint64_t step) override {
    const Passage passage(ops_, gate_, CudaVectorOps::After::all_but_beside);
    return replica_->gradient(parameters, batch, step);
  }
  std::function<void()> until_input_is_read() const override { return replica_->until_input_is_read(); }
  double loss() override { return replica_->loss(); }
  int correct(const float* parameters, const device::HostBatch& batch, int count) override {
    const Passage passage(ops_, gate_);
    return replica_->correct(parameters, batch, count);
  }
  std::vector<device::LayerTime> time_layers(const float* parameters, const device::HostBatch& batch,
                                             std::uint64_t step) override {
    const Passage passage(ops_, gate_);
    return replica_->time_layers(parameters, batch, step);
  }
  void set_loss_scale(double scale) override { replica_->set_loss_scale(scale); }
  std::vector<float> running_statistics() override { return replica_->running_statistics(); }
  void set_running_statistics(const std::vector<float>& statistics) override {
    replica_->set_running_statistics(statistics);
  }
  std::int64_t memory_bytes() const override { return replica_->memory_bytes(); }
  std::int64_t activation_bytes() const override { return replica_->activation_bytes(); }
  std::vector<std::string> fallbacks() const override { return replica_->fallbacks(); }
  std::string self_check_text() const override { return replica_->self_check_text(); }

 private:
  /// Work enqueued during its lifetime runs after the device's earlier operations and before its later ones.
  class Passage {
   public:
    Passage(CudaVectorOps& ops, ReplicaGate& gate, CudaVectorOps::After after = CudaVectorOps::After::all)
        : on_device_(ops.gpu(gate.device)), ops_(ops), gate_(gate) {
      ops_.open(gate_, after);
    }
    ~Passage() { ops_.close(gate_); }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

   private:
    OnDevice on_device_;
    CudaVectorOps& ops_;
    ReplicaGate& gate_;
  };

  CudaVectorOps& ops_;
  ReplicaGate gate_;
  std::unique_ptr<device::Replica> replica_;
};

std::string gib(std::int64_t bytes) {
  return std::to_string((bytes + (std::int64_t{1} << 29)) >> 30) + " GiB";
}

device::MemoryFacts memory_of(int gpu) {
  const DeviceFacts facts = device_facts(gpu);
  return {facts.memory_bytes, facts.memory_bandwidth_bytes_per_s()};
}

class CudaBackend final : public device::Backend {
 public:
  CudaBackend(const std::vector<int>& gpus, std::string binding, sync::Processes* processes)
      : gpus_(gpus),
        binding_(std::move(binding)),
        processes_(processes != nullptr ? *processes : alone_),
        ops_(gpus, processes),
        copies_(ops_) {}

  std::string name() const override { return "cuda"; }
  std::string description() const override {
    const DeviceFacts facts = device_facts(ops_.gpu(0));
    return std::to_string(devices()) + " x " + facts.name + " (" + std::to_string(facts.multiprocessors) + " SMs, " +
           gib(facts.memory_bytes) + "), driver for CUDA " + driver_cuda_version() + ", CUDA " + runtime_version() +
           ", cuDNN " + cudnn_version() + ", NCCL " + nccl_version();
  }
  int devices() const override { return ops_.devices(); }
  device::MemoryFacts memory() const override {
    device::MemoryFacts least = memory_of(ops_.gpu(0));
    for (int i = 1; i < devices(); ++i) {
      const device::MemoryFacts other = memory_of(ops_.gpu(i));
      least.bytes = std::min(least.bytes, other.bytes);
      least.bandwidth_bytes_per_s = std::min(least.bandwidth_bytes_per_s, other.bandwidth_bytes_per_s);
    }
    return least;
  }
  sync::VectorOps& ops() override { return ops_; }
  void exchange(device::Collective collective, device::Precision element, std::int64_t n,
                const std::vector<const void*>& send, const std::vector<void*>& receive) override {
    ops_.exchange(collective, element, n, send, receive);
  }
  bool takes_bytes() const override { return true; }
  void set_gradient_wire(device::Precision wire) override { ops_.set_wire(wire); }

  std::shared_ptr<float> allocate_pinned(std::int64_t count) override {
    const OnDevice on_device(gpus_.front());
    const auto memory = std::make_shared<PinnedBuffer<float>>(count);
    std::fill_n(memory->data(), count, 0.0F);
    return {memory, memory->data()};
  }
  void copy_at_once(const std::vector<device::Transfer>& transfers) override { copies_.run(transfers); }
  std::function<void()> recorded(int device, std::function<void()> work) override {
    return ops_.recorded(device, std::move(work));
  }
  bool can_repeat_sums() override {
    return ops_.are_distinct() && (processes_.count() == 1 || processes_.may_change_thread());
  }
  std::unique_ptr<device::Repeater> repeat_sums(std::int64_t n) override {
    if (!can_repeat_sums()) return nullptr;
    if (devices() == 1 && processes_.count() == 1) return make_emulated_sums(gpus_.front(), n);
    return make_repeated_sums(gpus_, n, processes_);
  }
  bool has_exchange(device::Precision) override { return ops_.are_distinct(); }
  bool has_device_clock() override { return true; }
  std::optional<double> device_seconds(const std::function<void()>& work, int repeats) override {
    return cuda::device_seconds(ops_, processes_, work, repeats);
  }
  double agreed(double x) override { return sync::largest(processes_, x); }

  std::int64_t free_bytes(int device) override {
    const OnDevice on_device(ops_.gpu(device));
    std::size_t free = 0;
    std::size_t total = 0;
    LOCKSTEP_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(free);
  }

  std::vector<std::string> device_ids() override {
    std::vector<std::string> ids;
    for (const int gpu : gpus_) {
      const std::string uuid = device_facts(gpu).uuid;
      ids.push_back(nvml() != nullptr ? nvml()->known_id(uuid) : uuid);
    }
    return ids;
  }
  std::vector<device::ClockState> clocks() override {
    if (nvml() == nullptr) return {};
    if (ids_.empty()) ids_ = device_ids();
    std::vector<device::ClockState> states;
    for (const std::string& id : ids_) {
      nvml::Clock clock = nvml()->clock(id);
      states.push_back({clock.now_hz, clock.highest_hz, clock.is_held_down, std::move(clock.reasons)});
    }
    return states;
  }
  std::string binding() const override { return binding_; }

  std::unique_ptr<device::Replica> make_replica(const model::Graph& graph,
                                                const device::ReplicaOptions& options) override {
    sync::require(options.batch >= 1, "replica: a batch of at least one image");
    sync::require(options.device >= 0 && options.device < devices(), "replica: no such device");
    const OnDevice on_device(ops_.gpu(options.device));
    return std::make_unique<GatedReplica>(ops_, graph, options);
  }

  void synchronise() override {
    for (int d = 0; d < devices(); ++d) {
      const OnDevice on_device(ops_.gpu(d));
      LOCKSTEP_CUDA_CHECK(cudaDeviceSynchronize());
    }
  }

 private:
  /// Null if this machine has no NVML.
  const nvml::Library* nvml() {
    std::string why;
    if (!std::exchange(has_asked_nvml_, true)) nvml_ = nvml::Library::open(why);
    return nvml_.get();
  }

  std::vector<int> gpus_;
  std::string binding_;
  sync::Processes alone_;
  sync::Processes& processes_;
  CudaVectorOps ops_;
  CopyStreams copies_;
  bool has_asked_nvml_ = false;
  std::unique_ptr<nvml::Library> nvml_;
  std::vector<std::string> ids_;
};

std::string capability(const DeviceFacts& facts) {
  return std::to_string(facts.major) + "." + std::to_string(facts.minor);
}

}  // namespace

int visible_gpus(std::string& why) {
  why.clear();
  // Every learner has its own streams. Beyond 8 connections, streams would share hardware queues and wait for each
  // other. CUDA reads this at its start. A value that the user has set is kept.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    cudaGetLastError();
    why = "no NVIDIA driver";
    return 0;
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    cudaGetLastError();
    why = cudaGetErrorString(error);
    if (error == cudaErrorInsufficientDriver)
      why = "the driver knows CUDA " + driver_cuda_version() + " at most, and this program was built with CUDA " +
            runtime_version() + ": a newer driver, or a build with CUDA " + driver_cuda_version();
    return 0;
  }
  if (count == 0) why = "no GPU";
  for (int d = 0; d < count; ++d) {
    const DeviceFacts facts = device_facts(d);
    if (facts.major >= kLowestMajor) continue;
    why = "GPU " + std::to_string(d) + " (" + facts.name + ") has compute capability " + capability(facts) +
          ", lower than 8.0";
    return d;
  }
  return count;
}

std::vector<int> gpus_of_process(int devices, int visible, int local_rank, int local_count) {
  const int first = visible >= devices * local_count ? devices * local_rank : 0;
  // Refuses a number of visible GPUs that is more than one process needs but too few for all. Otherwise processes would
  // share GPUs without knowing it.
  if (first + devices > visible || (local_count > 1 && visible > devices && visible < devices * local_count)) {
    throw std::runtime_error("CUDA: " + std::to_string(local_count) + " processes with " + std::to_string(devices) +
                             " GPUs each on this machine, " + std::to_string(visible) + " usable");
  }
  std::vector<int> gpus(static_cast<std::size_t>(devices));
  std::iota(gpus.begin(), gpus.end(), first);
  return gpus;
}

std::unique_ptr<device::Backend> make_cuda_backend(int devices, sync::Processes* processes) {
  sync::require(devices >= 1, "CUDA: at least one GPU");
  std::string why;
  const int visible = visible_gpus(why);
  if (visible == 0) throw std::runtime_error("CUDA: no usable GPU: " + why);
  if (visible < devices) {
    throw std::runtime_error("CUDA: " + std::to_string(devices) + " GPUs asked for, " + std::to_string(visible) +
                             " usable" + (why.empty() ? "" : ": " + why));
  }
  load_libraries();
  const sync::Processes alone;
  const sync::Processes& all = processes != nullptr ? *processes : alone;
  const std::vector<int> gpus = gpus_of_process(devices, visible, all.local_rank(), all.local_count());
  std::vector<std::string> addresses;
  for (const int gpu : gpus) addresses.push_back(device_facts(gpu).pci_bus_id);
  std::string binding = device::bind_near(addresses);  // first, because CUDA and NCCL start threads of their own
  return std::make_unique<CudaBackend>(gpus, std::move(binding), processes);
}

}  // namespace lockstep::cuda
