// The host backend: every logical device is memory of this machine, and every learner is a host::Network<float>.
//
// A single learner computes with all threads. Several learners compute concurrently. Each gets an equal part of the
// threads, at least one, because small batches use one core more efficiently than several. Results are bit-identical
// either way. Passes take turns in as many memory arenas as can run concurrently.
//
// Half precision is emulated. Parameters are rounded to the type before a pass. The gradient of the scaled loss is
// rounded after the pass (to infinity if it overflows) and then unscaled. Activations stay float.
#include <Eigen/Core>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "engine/base/json.hpp"
#include "engine/device/backend.hpp"
#include "engine/device/host_exchange.hpp"
#include "engine/device/waiting_ops.hpp"
#include "engine/host/level.hpp"
#include "engine/host/network.hpp"

namespace lockstep::device {
namespace {

template <typename Half>
void round_to(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<Half>(values[i]));
}

void round_to(Precision precision, float* values, std::int64_t count) {
  if (precision == Precision::fp16) round_to<Eigen::half>(values, count);
  if (precision == Precision::bf16) round_to<Eigen::bfloat16>(values, count);
}

class HostReplica final : public Replica {
 public:
  HostReplica(const model::Graph& graph, const ReplicaOptions& options, int threads, Executor& executor,
              host::ArenaPool& arenas)
      : network_(graph, options.batch, threads, &arenas),
        precision_(options.precision),
        alone_(options.learners == 1),
        executor_(executor),
        images_(static_cast<std::size_t>(graph.input.elements() * options.batch)),
        labels_(static_cast<std::size_t>(options.batch)) {
    network_.start(options.seed);
  }
  ~HostReplica() override { settle(); }

  const float* gradient(const float* parameters, const HostBatch& batch, std::uint64_t step) override {
    if (busy_) executor_.wait();
    std::copy_n(batch.images, images_.size(), images_.data());
    std::copy_n(batch.labels, labels_.size(), labels_.data());
    if (alone_) {
      pass(parameters, step);
    } else {
      busy_ = true;
      executor_.submit([this, parameters, step] {
        pass(parameters, step);
        busy_ = false;
      });
    }
    return network_.gradients().data();
  }

  const float* gradient_in_parts(const float* parameters, const HostBatch& batch, std::uint64_t step,
                                 const sync::GradientFunction::ReadyFunction& ready) override {
    const bool tells = alone_ && precision_ == Precision::fp32;  // half-precision gradients are rounded after the pass
    if (tells) ready_ = &ready;
    const float* result = gradient(parameters, batch, step);
    ready_ = nullptr;
    return result;
  }

  double loss() override {
    executor_.wait();
    return loss_;
  }

  int correct(const float* parameters, const HostBatch& batch, int count) override {
    executor_.wait();
    load(parameters);
    const host::PassMemory<float> memory(network_);
    network_.forward(batch.images, false);
    const auto scores = network_.output();
    const std::int64_t classes = scores.size() / network_.batch();
    int correct = 0;
    for (int i = 0; i < count; ++i) {
      Eigen::Index best = 0;
      scores.segment(i * classes, classes).maxCoeff(&best);
      if (best == batch.labels[i]) ++correct;
    }
    return correct;
  }

  std::vector<LayerTime> time_layers(const float* parameters, const HostBatch& batch, std::uint64_t step) override {
    executor_.wait();
    load(parameters);
    network_.set_step(step);
    const host::PassMemory<float> memory(network_);
    std::vector<LayerTime> times;
    auto last = std::chrono::steady_clock::now();
    loss_ = static_cast<double>(network_.loss_and_gradients_by_layer(
        batch.images, batch.labels, [&](int layer, host::Gradients gradients, bool is_forward) {
          const auto now = std::chrono::steady_clock::now();
          if (layer > 0)
            times.push_back(
                {layer, part_of(layer, gradients, is_forward), std::chrono::duration<double>(now - last).count()});
          last = now;
        }));
    return times;
  }

  void set_loss_scale(double scale) override {
    executor_.wait();
    loss_scale_ = static_cast<float>(scale);
  }

  std::vector<float> running_statistics() override {
    executor_.wait();
    const auto running = network_.running_statistics();
    return {running.data(), running.data() + running.size()};
  }

  void set_running_statistics(const std::vector<float>& statistics) override {
    executor_.wait();
    auto running = network_.running_statistics();
    if (static_cast<Eigen::Index>(statistics.size()) != running.size())
      throw std::invalid_argument("running statistics of another model");
    std::copy(statistics.begin(), statistics.end(), running.data());
  }

  std::int64_t memory_bytes() const override {
    return network_.memory_bytes() + static_cast<std::int64_t>(images_.size() * sizeof(float));
  }
  std::int64_t activation_bytes() const override { return network_.activation_bytes(); }

 private:
  LayerPart part_of(int layer, host::Gradients gradients, bool is_forward) const {
    if (is_forward) return LayerPart::forward;
    if (gradients == host::Gradients::of_input) return LayerPart::backward_data;
    const model::LayerKind kind = network_.graph().layers[static_cast<std::size_t>(layer)].kind;
    const bool is_product = kind == model::LayerKind::conv || kind == model::LayerKind::fc;
    return is_product ? LayerPart::backward_filter : LayerPart::backward;  // the first layer computes no input gradient
  }

  /// Waits, because the pool's threads must not work on a destroyed replica.
  void settle() noexcept {
    try {
      if (busy_) executor_.wait();
    } catch (...) {
    }
  }

  void load(const float* parameters) {
    auto own = network_.parameters();
    std::copy_n(parameters, own.size(), own.data());
    round_to(precision_, own.data(), own.size());
  }

  void pass(const float* parameters, std::uint64_t step) {
    load(parameters);
    network_.set_step(step);
    const host::PassMemory<float> memory(network_);
    loss_ = static_cast<double>(network_.loss_and_gradients(images_.data(), labels_.data(), [this](int layer) {
      const std::int64_t count = network_.graph().layers[static_cast<std::size_t>(layer)].parameter_count();
      if (ready_ != nullptr && count > 0) (*ready_)(network_.gradients().data(), network_.offset(layer, 0), count);
    }));
    if (precision_ == Precision::fp32) return;
    auto gradients = network_.gradients();
    gradients *= loss_scale_;
    round_to(precision_, gradients.data(), gradients.size());
    gradients /= loss_scale_;
  }

  host::Network<float> network_;
  Precision precision_;
  bool alone_;  ///< no other learner computes concurrently, so work is not handed to other threads
  Executor& executor_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  std::atomic<bool> busy_{false};
  const sync::GradientFunction::ReadyFunction* ready_ = nullptr;  ///< set while gradient_in_parts() runs
  double loss_ = 0;
  float loss_scale_ = 1;
};

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

class HostBackend final : public Backend {
 public:
  HostBackend(int devices, int threads, sync::Processes* processes)
      : devices_(devices),
        threads_(threads),
        executor_(threads),
        processes_(processes != nullptr ? *processes : alone_),
        ops_(executor_, processes_),
        exchange_(devices, executor_, processes_) {}

  std::string name() const override { return "host"; }
  std::string description() const override {
    return processor_name() + ", " + std::to_string(threads_) + (threads_ == 1 ? " thread" : " threads") + ", Eigen " +
           std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
           std::to_string(EIGEN_MINOR_VERSION) + " (" + host::to_string(host::level_in_use()) + ")" +
           (host::uses_onednn() ? ", " + host::onednn_name() : "");
  }
  int devices() const override { return devices_; }
  sync::VectorOps& ops() override { return ops_; }

  std::unique_ptr<Replica> make_replica(const model::Graph& graph, const ReplicaOptions& options) override {
    if (options.precision == Precision::tf32)
      throw InputError("precision tf32: the host has no TF32; allowed: fp32, fp16, bf16 (emulated)");
    if (options.device < 0 || options.device >= devices_) throw std::invalid_argument("no such device");
    const int share = std::max(1, threads_ / std::max(1, options.learners));
    return std::make_unique<HostReplica>(graph, options, share, executor_, arenas_);
  }

  void synchronise() override { executor_.wait(); }
  std::int64_t shared_bytes() const override { return arenas_.bytes(); }

  void copy_at_once(const std::vector<Transfer>& transfers) override {
    for (const Transfer& copy : transfers)
      for (const int device : {copy.from_device, copy.to_device})
        if (device < kHost || device >= devices_) throw std::invalid_argument("copy: no such device");
    executor_.wait();
    for (const Transfer& copy : transfers) executor_.submit([&copy] { std::copy_n(copy.from, copy.count, copy.to); });
    executor_.wait();
  }

  bool can_repeat_sums() override { return processes_.count() > 1 ? processes_.may_change_thread() : devices_ > 1; }
  /// Sums on one thread, like sum_all(). With several processes, one additional number counts the processes that want
  /// no further sum.
  std::unique_ptr<Repeater> repeat_sums(std::int64_t n) override {
    if (!can_repeat_sums()) return nullptr;
    struct Sum {
      sync::HostVectorOps ops;
      std::vector<sync::DeviceVector> buffers;
      std::vector<float*> pointers;
    };
    auto sum = std::make_shared<Sum>();
    for (int d = 0; d < devices_; ++d) {
      sum->buffers.emplace_back(sum->ops, n + 1, d);
      sum->pointers.push_back(sum->buffers.back().data());
    }
    if (processes_.count() == 1) return std::make_unique<Repeater>([sum, n] { sum->ops.sum_all(n, sum->pointers); });
    return std::make_unique<Repeater>([this, sum, n](bool is_wanted) {
      float* const first = sum->pointers.front();
      sum->ops.sum_all(n, sum->pointers);
      first[n] = is_wanted ? 0.0F : 1.0F;
      processes_.sum(n + 1, first);
      for (std::size_t d = 1; d < sum->pointers.size(); ++d) sum->ops.copy(n, first, sum->pointers[d]);
      return first[n] < static_cast<float>(processes_.count());
    });
  }

  bool has_shared_cache() const override { return true; }
  bool has_exchange(Precision element) override { return element_bytes(element) == 4; }
  double agreed(double x) override { return sync::largest(processes_, x); }
  void exchange(Collective collective, Precision element, std::int64_t n, const std::vector<const void*>& send,
                const std::vector<void*>& receive) override {
    if (!has_exchange(element)) throw std::runtime_error("host: exchanges floats, not " + to_string(element));
    std::vector<const float*> from;
    for (const void* buffer : send) from.push_back(static_cast<const float*>(buffer));
    std::vector<float*> to;
    for (void* buffer : receive) to.push_back(static_cast<float*>(buffer));
    exchange_.run(collective, n, from, to);
  }

 private:
  int devices_;
  int threads_;
  Executor executor_;
  host::ArenaPool arenas_;
  sync::Processes alone_;
  sync::Processes& processes_;
  WaitingOps ops_;
  HostExchange exchange_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(int devices, int threads, sync::Processes* processes) {
  if (devices < 1 || threads < 0) throw std::invalid_argument("host backend: at least one device, no negative threads");
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::make_unique<HostBackend>(devices, threads, processes);
}

}  // namespace lockstep::device
