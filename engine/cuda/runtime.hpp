#pragma once
// Owned CUDA resources and error checks. An error becomes std::runtime_error with the call, its place and CUDA's own
// words: a run on a GPU machine must be understood from its log alone.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace lockstep::cuda {

/// "CUDA: engine/cuda/x.cpp:12: call: why". Takes CUDA's pending error away, so that no later launch is blamed for it.
[[noreturn]] void fail(const std::string& call, const std::string& why, const char* file = nullptr, int line = 0);

inline void check(cudaError_t error, const char* call, const char* file = nullptr, int line = 0) {
  if (error == cudaSuccess) return;
  fail(call, std::string(cudaGetErrorName(error)) + ", " + cudaGetErrorString(error), file, line);
}

#define LOCKSTEP_CUDA_CHECK(call) ::lockstep::cuda::check((call), #call, __FILE__, __LINE__)

/// A library may leave CUDA's error of a launch that it gave up; no launch of ours shall be blamed for it.
inline void forget_cuda_error() {
  cudaGetLastError();
}

/// Names what was asked for and, of a device's memory, what is free.
[[noreturn]] void fail_to_allocate(const char* call, std::size_t size_bytes, cudaError_t error);

/// Makes a device current for a scope. CUDA opens a context of several hundred MiB on every device that is made current,
/// and a new thread's is device 0, whosever that is: the end of a scope goes back to the device of the scope around it,
/// and where there is none the thread stays where it is. No scope, no device that this process does not own.
class OnDevice {
 public:
  explicit OnDevice(int device) : OnDevice(device, std::nothrow) {
    if (error_ != cudaSuccess) check(error_, "cudaSetDevice", __FILE__, __LINE__);
  }
  /// For destructors.
  OnDevice(int device, std::nothrow_t) noexcept : around_(current()) {
    if (device != around_) error_ = cudaSetDevice(device);
    if (error_ == cudaSuccess) current() = device;
  }
  ~OnDevice() {
    if (around_ == kNone || around_ == current()) return;
    cudaSetDevice(around_);
    current() = around_;
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  static constexpr int kNone = -1;
  /// Of this thread, as scopes have set it. Nothing else calls cudaSetDevice().
  static int& current() {
    static thread_local int device = kNone;
    return device;
  }

  int around_;
  cudaError_t error_ = cudaSuccess;
};

/// A stream of the current device that does not wait for the default stream.
class Stream {
 public:
  Stream() { LOCKSTEP_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  enum class Priority { highest };
  /// Blocks of its kernels begin before those of other streams that wait for room.
  explicit Stream(Priority) {
    int lowest = 0, highest = 0;
    LOCKSTEP_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    LOCKSTEP_CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest));
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void synchronise() const { LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(bool timed = false) {
    LOCKSTEP_CUDA_CHECK(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming));
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) { LOCKSTEP_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  /// `stream` goes on when what was recorded is done.
  void hold(cudaStream_t stream) const { LOCKSTEP_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Memory of the current device, or pinned memory of the host; contents undefined at first.
template <typename T, bool is_pinned>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t count) : count_(count) {
    if (count == 0) return;
    const std::size_t size_bytes = static_cast<std::size_t>(count) * sizeof(T);
    void* memory = nullptr;
    const cudaError_t error = is_pinned ? cudaMallocHost(&memory, size_bytes) : cudaMalloc(&memory, size_bytes);
    if (error != cudaSuccess) fail_to_allocate(is_pinned ? "cudaMallocHost" : "cudaMalloc", size_bytes, error);
    data_ = static_cast<T*>(memory);
  }
  Buffer(Buffer&& other) noexcept : data_(other.data_), count_(other.count_) {
    other.data_ = nullptr;
    other.count_ = 0;
  }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Buffer() {
    if (!data_) return;
    if (is_pinned)
      cudaFreeHost(data_);
    else
      cudaFree(data_);
  }
  T* data() const { return data_; }
  std::int64_t size() const { return count_; }
  std::int64_t bytes() const { return count_ * static_cast<std::int64_t>(sizeof(T)); }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

template <typename T>
using DeviceBuffer = Buffer<T, false>;
template <typename T>
using PinnedBuffer = Buffer<T, true>;

/// What a device's vector operations run on. A replica runs on a stream of its own: it begins after what has been
/// enqueued here so far, and what is enqueued here later waits for it (both by events).
struct GradientParts;
struct DeviceStreams {
  int device;
  cudaStream_t updates;
  GradientParts* parts = nullptr;  ///< where the replica notes its gradient's buckets, if anybody wants them
};

}  // namespace lockstep::cuda
