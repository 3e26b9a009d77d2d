#include "engine/cuda/side_streams.hpp"

#include <array>
#include <exception>
#include <stdexcept>

#include "engine/cuda/communicator.hpp"
#include "engine/cuda/side_kernels.hpp"

namespace lockstep::cuda {

// ---- copies ----

CopyStreams::~CopyStreams() {
  for (const auto& gates : gates_)
    for (const std::unique_ptr<ReplicaGate>& gate : gates) ops_.forget(*gate);
}

ReplicaGate& CopyStreams::gate_of(int device, std::size_t index) {
  std::vector<std::unique_ptr<ReplicaGate>>& gates = gates_[static_cast<std::size_t>(device)];
  const OnDevice on_device(ops_.gpu(device));
  while (gates.size() <= index) gates.push_back(std::make_unique<ReplicaGate>(device));
  return *gates[index];
}

void CopyStreams::check(int device) const {
  if (device < device::kHost || device >= ops_.devices()) throw std::invalid_argument("copy: no such device");
}

void CopyStreams::start(const device::Transfer& copy, std::vector<std::size_t>& used) {
  const int device = copy.from_device == device::kHost ? copy.to_device : copy.from_device;
  ReplicaGate& gate = gate_of(device, used[static_cast<std::size_t>(device)]++);
  const OnDevice on_device(ops_.gpu(device));
  const std::size_t bytes = static_cast<std::size_t>(copy.count) * sizeof(float);
  ops_.open(gate);
  if (copy.from_device == device::kHost) {
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(copy.to, copy.from, bytes, cudaMemcpyHostToDevice, gate.stream));
  } else if (copy.to_device == device::kHost) {
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(copy.to, copy.from, bytes, cudaMemcpyDeviceToHost, gate.stream));
  } else {
    LOCKSTEP_CUDA_CHECK(
        cudaMemcpyPeerAsync(copy.to, ops_.gpu(copy.to_device), copy.from, ops_.gpu(device), bytes, gate.stream));
  }
  ops_.close(gate);
}

void CopyStreams::run(const std::vector<device::Transfer>& transfers) {
  for (const device::Transfer& copy : transfers) {
    check(copy.from_device);
    check(copy.to_device);
    if (copy.from_device == device::kHost && copy.to_device == device::kHost)
      throw std::invalid_argument("copy: one end at least is a device's");
  }
  std::vector<std::size_t> used(gates_.size(), 0);
  for (const device::Transfer& copy : transfers) start(copy, used);
}

// ---- all-reduces in parallel with the timed work ----

namespace {

/// The resources of one GPU: memory, a stream, and the events of the all-reduces in progress.
struct Share {
  Share(int of_gpu, std::int64_t n) : gpu(of_gpu), buffer(n + 1) {
    LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(buffer.data(), 0, static_cast<std::size_t>(buffer.bytes()), stream));
    stream.synchronise();
  }
  int gpu;
  Stream stream;
  DeviceBuffer<float> buffer;  ///< zeros, whose sums are zeros; then the vote
  std::array<Event, kSumsUnderWay> done;
};

class RepeatedSums {
 public:
  RepeatedSums(const std::vector<int>& gpus, std::int64_t n, sync::Processes& processes)
      : n_(n), processes_(processes) {
    // Making the communicator waits for all processes. So all begin it, or none does.
    std::exception_ptr failure;
    try {
      allocate(gpus);
    } catch (...) {
      failure = std::current_exception();
    }
    const bool has_failed = sync::largest(processes, failure ? 1 : 0) > 0;
    if (failure) std::rethrow_exception(failure);
    if (has_failed) throw std::runtime_error("sums beside other work: another process has no memory for them");
    communicator_ = std::make_unique<Communicator>(gpus, processes);
  }
  ~RepeatedSums() {
    communicator_.reset();  // waits for sums in progress
    for (std::unique_ptr<Share>& share : shares_) {
      const OnDevice on_device(share->gpu, std::nothrow);
      share.reset();
    }
  }
  RepeatedSums(const RepeatedSums&) = delete;
  RepeatedSums& operator=(const RepeatedSums&) = delete;

  /// Waits for the sum `kSumsUnderWay` rounds ago, then enqueues the next one. So a round takes as long as a sum.
  /// Returns false if no process wants more; all processes return that in the same round.
  bool round(bool is_wanted) {
    const auto slot = static_cast<std::size_t>(count_ % kSumsUnderWay);
    for (const std::unique_ptr<Share>& share : shares_) {
      const OnDevice on_device(share->gpu);
      LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(share->done[slot]));  // returns at once if never recorded
    }
    const bool is_alone = processes_.count() == 1, is_vote = !is_alone && slot == 0;
    const bool all_have_enough = count_ > 0 && *counted_->data() == static_cast<float>(processes_.count());
    if (is_alone ? !is_wanted : is_vote && all_have_enough) return false;
    if (is_vote)
      vote(is_wanted);
    else
      sum(slot);
    ++count_;
    return true;
  }
  /// Waits for the sums in progress; the next round counts from 0 again.
  void settle() {
    for (const std::unique_ptr<Share>& share : shares_) {
      const OnDevice on_device(share->gpu);
      share->stream.synchronise();
    }
    count_ = 0;
  }

 private:
  void allocate(const std::vector<int>& gpus) {
    for (const int gpu : gpus) {
      const OnDevice on_device(gpu);
      shares_.push_back(std::make_unique<Share>(gpu, n_));
      buffers_.push_back(shares_.back()->buffer.data());
      streams_.push_back(shares_.back()->stream);
    }
    const OnDevice on_device(gpus.front());
    own_ = std::make_unique<PinnedBuffer<float>>(1);
    counted_ = std::make_unique<PinnedBuffer<float>>(1);
  }

  void sum(std::size_t slot) {
    communicator_->all_reduce(n_, device::Precision::fp32, buffers_, streams_);
    record(slot);
  }

  void record(std::size_t slot) {
    for (const std::unique_ptr<Share>& share : shares_) {
      const OnDevice on_device(share->gpu);
      share->done[slot].record(share->stream);
    }
  }

  /// The first GPU of each process carries its vote, its others a zero. round() reads the sum kSumsUnderWay rounds
  /// later. The previous vote has ended, so `own_` may be overwritten.
  void vote(bool is_wanted) {
    *own_->data() = is_wanted ? 0.0F : 1.0F;
    for (const std::unique_ptr<Share>& share : shares_) {
      const OnDevice on_device(share->gpu);
      LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(share->buffer.data() + n_, 0, sizeof(float), share->stream));
    }
    const Share& first = *shares_.front();
    const OnDevice on_device(first.gpu);
    LOCKSTEP_CUDA_CHECK(
        cudaMemcpyAsync(first.buffer.data() + n_, own_->data(), sizeof(float), cudaMemcpyHostToDevice, first.stream));
    communicator_->all_reduce(n_ + 1, device::Precision::fp32, buffers_, streams_);
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(counted_->data(), first.buffer.data() + n_, sizeof(float),
                                        cudaMemcpyDeviceToHost, first.stream));
    record(0);
  }

  std::int64_t n_;
  sync::Processes& processes_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<std::unique_ptr<Share>> shares_;
  std::vector<void*> buffers_;
  std::vector<cudaStream_t> streams_;
  std::unique_ptr<PinnedBuffer<float>> own_, counted_;  ///< this process's vote, and the number of votes to stop
  std::int64_t count_ = 0;
};

class EmulatedSums {
 public:
  /// `gpu` must be the current device.
  EmulatedSums(int gpu, std::int64_t n) : gpu_(gpu), n_(n), x_(n), y_(n) {
    int lowest = 0, highest = 0;
    LOCKSTEP_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    LOCKSTEP_CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest));
    for (const DeviceBuffer<float>* buffer : {&x_, &y_})
      LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(buffer->data(), 0, static_cast<std::size_t>(buffer->bytes()), stream_));
    settle();
  }
  ~EmulatedSums() { cudaStreamDestroy(stream_); }
  EmulatedSums(const EmulatedSums&) = delete;
  EmulatedSums& operator=(const EmulatedSums&) = delete;

  void round() {
    const OnDevice on_device(gpu_);
    Event& done = done_[static_cast<std::size_t>(count_++ % kSumsUnderWay)];
    LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(done));  // returns at once if never recorded
    launch_side_sum(stream_, n_, x_.data(), y_.data());
    done.record(stream_);
  }
  void settle() {
    const OnDevice on_device(gpu_);
    LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  int gpu_;
  std::int64_t n_;
  DeviceBuffer<float> x_, y_;  ///< zeros, whose sums are zeros
  std::array<Event, kSumsUnderWay> done_;
  cudaStream_t stream_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<device::Repeater> make_emulated_sums(int gpu, std::int64_t n) {
  const OnDevice on_device(gpu);
  auto sums = std::make_shared<EmulatedSums>(gpu, n);
  return std::make_unique<device::Repeater>([sums] { sums->round(); }, [sums] { sums->settle(); });
}

std::unique_ptr<device::Repeater> make_repeated_sums(const std::vector<int>& gpus, std::int64_t n,
                                                     sync::Processes& processes) {
  auto sums = std::make_shared<RepeatedSums>(gpus, n, processes);
  return std::make_unique<device::Repeater>([sums](bool is_wanted) { return sums->round(is_wanted); },
                                            [sums] { sums->settle(); });
}

}  // namespace lockstep::cuda
