#include "engine/cuda/side_streams.hpp"

#include <array>
#include <stdexcept>

#include "engine/cuda/communicator.hpp"
#include "engine/cuda/side_kernels.hpp"

namespace lockstep::cuda {

// ---- copies ----

cudaStream_t CopyStreams::stream_of(std::size_t device, std::size_t index) {
  const OnDevice on_device(gpus_[device]);
  while (streams_[device].size() <= index) streams_[device].push_back(std::make_unique<Stream>());
  return *streams_[device][index];
}

void CopyStreams::check(int device) const {
  if (device < device::kHost || device >= static_cast<int>(gpus_.size()))
    throw std::invalid_argument("copy: no such device");
}

CopyStreams::Started CopyStreams::start(const device::Transfer& copy, std::vector<std::size_t>& used) {
  check(copy.from_device);
  check(copy.to_device);
  if (copy.from_device == device::kHost && copy.to_device == device::kHost)
    throw std::invalid_argument("copy: one end at least is a device's");
  const auto device = static_cast<std::size_t>(copy.from_device == device::kHost ? copy.to_device : copy.from_device);
  const cudaStream_t stream = stream_of(device, used[device]++);
  const OnDevice on_device(gpus_[device]);
  const std::size_t bytes = static_cast<std::size_t>(copy.count) * sizeof(float);
  if (copy.from_device == device::kHost) {
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(copy.to, copy.from, bytes, cudaMemcpyHostToDevice, stream));
  } else if (copy.to_device == device::kHost) {
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(copy.to, copy.from, bytes, cudaMemcpyDeviceToHost, stream));
  } else {
    const int to = gpus_[static_cast<std::size_t>(copy.to_device)];
    LOCKSTEP_CUDA_CHECK(cudaMemcpyPeerAsync(copy.to, to, copy.from, gpus_[device], bytes, stream));
  }
  return {gpus_[device], stream};
}

void CopyStreams::run(const std::vector<device::Transfer>& transfers) {
  std::vector<std::size_t> used(gpus_.size(), 0);
  std::vector<Started> started;
  for (const device::Transfer& copy : transfers) started.push_back(start(copy, used));
  for (const Started& copy : started) {
    const OnDevice on_device(copy.gpu);
    LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(copy.stream));
  }
}

// ---- sums ----

namespace {

/// What one GPU needs: memory, a stream, and the events of the sums under way.
struct Share {
  Share(int of_gpu, std::int64_t n) : gpu(of_gpu), buffer(n) {
    LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(buffer.data(), 0, static_cast<std::size_t>(buffer.bytes()), stream));
    stream.synchronise();
  }
  int gpu;
  Stream stream;
  DeviceBuffer<float> buffer;  ///< zeros, which stay zeros when summed
  std::array<Event, kSumsUnderWay> done;
};

class RepeatedSums {
 public:
  RepeatedSums(const std::vector<int>& gpus, std::int64_t n)
      : n_(n), communicator_(std::make_unique<Communicator>(gpus, alone_)) {
    for (const int gpu : gpus) {
      const OnDevice on_device(gpu);
      shares_.push_back(std::make_unique<Share>(gpu, n));
      buffers_.push_back(shares_.back()->buffer.data());
      streams_.push_back(shares_.back()->stream);
    }
  }
  ~RepeatedSums() {
    communicator_.reset();  // waits for its sums
    for (std::unique_ptr<Share>& share : shares_) {
      int before = 0;
      cudaGetDevice(&before);
      cudaSetDevice(share->gpu);
      share.reset();
      cudaSetDevice(before);
    }
  }
  RepeatedSums(const RepeatedSums&) = delete;
  RepeatedSums& operator=(const RepeatedSums&) = delete;

  /// Enqueues a sum, after the one `kSumsUnderWay` before it is done: a round is a sum's time.
  void round() {
    const auto slot = static_cast<std::size_t>(count_++ % kSumsUnderWay);
    for (const std::unique_ptr<Share>& share : shares_) {
      const OnDevice on_device(share->gpu);
      LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(share->done[slot]));  // one never recorded counts as done
    }
    communicator_->all_reduce(n_, buffers_, streams_);
    for (const std::unique_ptr<Share>& share : shares_) {
      const OnDevice on_device(share->gpu);
      share->done[slot].record(share->stream);
    }
  }
  void settle() {
    for (const std::unique_ptr<Share>& share : shares_) {
      const OnDevice on_device(share->gpu);
      share->stream.synchronise();
    }
  }

 private:
  std::int64_t n_;
  sync::Processes alone_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<std::unique_ptr<Share>> shares_;
  std::vector<float*> buffers_;
  std::vector<cudaStream_t> streams_;
  std::int64_t count_ = 0;
};

class EmulatedSums {
 public:
  /// `gpu` is the current device.
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
    LOCKSTEP_CUDA_CHECK(cudaEventSynchronize(done));  // one never recorded counts as done
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
  DeviceBuffer<float> x_, y_;  ///< zeros, which stay zeros
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

std::unique_ptr<device::Repeater> make_repeated_sums(const std::vector<int>& gpus, std::int64_t n) {
  auto sums = std::make_shared<RepeatedSums>(gpus, n);
  return std::make_unique<device::Repeater>([sums] { sums->round(); }, [sums] { sums->settle(); });
}

}  // namespace lockstep::cuda
