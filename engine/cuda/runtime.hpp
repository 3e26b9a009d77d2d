#pragma once
// Owned CUDA resources and error checks. An error becomes std::runtime_error with the call, its location and CUDA's
// message, because a run on a GPU machine must be understood from its log alone.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace lockstep::cuda {

/// "CUDA: engine/cuda/x.cpp:12: call: why". Clears CUDA's pending error, so that no later launch reports it.
[[noreturn]] void fail(const std::string& call, const std::string& why, const char* file = nullptr, int line = 0);

inline void check(cudaError_t error, const char* call, const char* file = nullptr, int line = 0) {
  if (error == cudaSuccess) return;
  fail(call, std::string(cudaGetErrorName(error)) + ", " + cudaGetErrorString(error), file, line);
}

#define LOCKSTEP_CUDA_CHECK(call) ::lockstep::cuda::check((call), #call, __FILE__, __LINE__)

/// Clears the error that a library's abandoned launch may have left, so that no launch of ours reports it.
inline void forget_cuda_error() {
  cudaGetLastError();
}

/// Throws with the requested size and, for device memory, the free size.
[[noreturn]] void fail_to_allocate(const char* call, std::size_t size_bytes, cudaError_t error);

/// Makes a device current for a scope. CUDA opens a context of several hundred MiB on every device that becomes
/// current, and a new thread's device is 0, whichever process owns that. So the end of a scope restores the device of
/// the enclosing scope. The outermost scope's end leaves the device as it is. No call touches a device that this
/// process does not own.
class OnDevice {
 public:
  explicit OnDevice(int device) : OnDevice(device, std::nothrow) {
    if (error_ != cudaSuccess) check(error_, "cudaSetDevice", __FILE__, __LINE__);
  }
  /// Does not throw, for use in destructors.
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
  /// The current device of this thread as set by scopes. Nothing else calls cudaSetDevice().
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
  /// Makes a stream whose kernels' blocks are scheduled before waiting blocks of other streams.
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
  /// Makes `stream` wait until the recorded work is done.
  void hold(cudaStream_t stream) const { LOCKSTEP_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// An array in the current device's memory or in pinned host memory; its contents are undefined at first.
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

/// The stream of a device's vector operations. A replica runs on its own stream. It starts after the work that is
/// already enqueued here, and work enqueued here later waits for it; both by events.
struct GradientParts;
struct DeviceStreams {
  int device;
  cudaStream_t updates;
  GradientParts* parts = nullptr;  ///< receives the buckets of the replica's gradient; null: not needed
};

}  // namespace lockstep::cuda
