#include "engine/cuda/vector_ops.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "engine/cuda/communicator.hpp"
#include "engine/cuda/pass_graph.hpp"
#include "engine/cuda/vector_operation.hpp"
#include "engine/cuda/vector_ops_kernels.hpp"

namespace lockstep::cuda {
namespace {

float as_float(double x) {
  return static_cast<float>(x);
}

UpdateScalars scalars(const sync::StepSize& step) {
  return {step.learning_rate, step.momentum, step.weight_decay};
}

/// Enables direct copies between two devices if their link allows it. Otherwise CUDA copies through the host. That
/// includes the ninth and further peers over PCIe, because a GPU's hardware supports eight.
void enable_peer_access(int from, int to) {
  int can = 0;
  LOCKSTEP_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, from, to));
  if (can == 0) return;
  const OnDevice on_device(from);
  const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled || error == cudaErrorTooManyPeers) {
    forget_cuda_error();
    return;
  }
  check(error, "cudaDeviceEnablePeerAccess");
}

}  // namespace

CudaVectorOps::CudaVectorOps(const std::vector<int>& gpus, sync::Processes* processes)
    : processes_(processes != nullptr ? processes : &alone_) {
  for (const int gpu : gpus) {
    const OnDevice on_device(gpu);
    devices_.push_back(std::make_unique<Device>(devices(), gpu));
  }
  const std::set<int> distinct(gpus.begin(), gpus.end());
  are_distinct_ = distinct.size() == gpus.size();
  for (const int from : distinct) {
    for (const int to : distinct) {
      if (from != to) enable_peer_access(from, to);
    }
  }
}

// Selects a device first: on a thread without one, freeing memory would open a context on device 0.
CudaVectorOps::~CudaVectorOps() {
  const OnDevice on_device(gpu(0), std::nothrow);
  verdicts_.clear();
  communicator_.reset();
  devices_.clear();
}

int CudaVectorOps::gpu(int device) const {
  return on(device).gpu;
}

// ---- replicas ----

void CudaVectorOps::open(ReplicaGate& gate, After after) {
  Device& device = on(gate.device);
  device.reached.record(device.updates);  // not stream_of(), which would wait for other replicas
  device.reached.hold(gate.stream);
  if (after == After::all && device.beside_is_pending) device.beside_done.hold(gate.stream);
}

void CudaVectorOps::close(ReplicaGate& gate) {
  std::vector<ReplicaGate*>& closed = on(gate.device).closed_gates;
  if (std::find(closed.begin(), closed.end(), &gate) == closed.end()) closed.push_back(&gate);
}

void CudaVectorOps::know(const ReplicaGate& gate) {
  gates_.push_back(&gate);
}

void CudaVectorOps::forget(const ReplicaGate& gate) {
  std::vector<ReplicaGate*>& closed = on(gate.device).closed_gates;
  closed.erase(std::remove(closed.begin(), closed.end(), &gate), closed.end());
  gates_.erase(std::remove(gates_.begin(), gates_.end(), &gate), gates_.end());
}

cudaStream_t CudaVectorOps::current_stream_of(int number) const {
  const Device& device = on(number);
  return is_beside_ ? device.beside : device.updates;
}

cudaStream_t CudaVectorOps::stream_of(int number) {
  Device& device = on(number);
  if (is_beside_) return device.beside;
  if (device.beside_is_pending) device.beside_done.hold(device.updates);
  device.beside_is_pending = false;
  for (ReplicaGate* gate : device.closed_gates) {
    gate->closed.record(gate->stream);
    gate->closed.hold(device.updates);
  }
  device.closed_gates.clear();
  return device.updates;
}

void CudaVectorOps::beside_gradients(const std::function<void()>& work) {
  sync::require(!is_beside_, "vector: one thing at a time goes on beside gradients");
  for (const auto& device : devices_) {
    device->reached.record(stream_of(device->number));
    device->reached.hold(device->beside);
  }
  const auto end = [this] {
    is_beside_ = false;
    for (const auto& device : devices_) {
      device->beside_done.record(device->beside);
      device->beside_is_pending = true;
    }
  };
  is_beside_ = true;
  try {
    work();
  } catch (...) {
    end();
    throw;
  }
  end();
}

// ---- buffers ----

int CudaVectorOps::device_of(const float* x) const {
  if (devices_.size() == 1) return 0;
  const auto after = allocations_.upper_bound(x);
  if (after != allocations_.begin()) {
    const auto& [begin, allocation] = *std::prev(after);
    if (x < begin + allocation.count) return allocation.device;
  }
  cudaPointerAttributes attributes = {};
  const OnDevice on_device(gpu(0));
  LOCKSTEP_CUDA_CHECK(cudaPointerGetAttributes(&attributes, x));
  if (attributes.type != cudaMemoryTypeDevice) fail("vector operation", "a buffer is not in a device's memory");
  const auto is_there = [&](const auto& device) { return device->gpu == attributes.device; };
  const auto found = std::find_if(devices_.begin(), devices_.end(), is_there);
  if (found == devices_.end()) fail("vector operation", "a buffer lies on another GPU");
  return (*found)->number;
}

float* CudaVectorOps::allocate(std::int64_t n, int device) {
  sync::require(n > 0, "vector: a buffer needs at least one element");
  sync::require(device >= 0, "vector: no such device");
  device %= devices();
  const OnDevice on_device(gpu(device));
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes_of(n));
  if (error != cudaSuccess) fail_to_allocate("cudaMalloc", bytes_of(n), error);
  auto* x = static_cast<float*>(memory);
  allocations_[x] = {n, device};
  zero(n, x);
  return x;
}

void CudaVectorOps::release(float* x) {
  const auto found = allocations_.find(x);
  if (found == allocations_.end()) return;
  const OnDevice on_device(gpu(found->second.device), std::nothrow);
  allocations_.erase(found);
  cudaFree(x);  // waits for the device; a later CUDA call reports errors, because destructors must not throw
}

void CudaVectorOps::upload(std::int64_t n, const float* host, float* x) {
  const int device = device_of(x);
  const OnDevice on_device(gpu(device));
  const cudaStream_t stream = stream_of(device);
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(x, host, bytes_of(n), cudaMemcpyHostToDevice, stream));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void CudaVectorOps::download(std::int64_t n, const float* x, float* host) {
  const int device = device_of(x);
  const OnDevice on_device(gpu(device));
  const cudaStream_t stream = stream_of(device);
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(host, x, bytes_of(n), cudaMemcpyDeviceToHost, stream));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));
}

SegmentTable CudaVectorOps::table_of(int number, const sync::Layout& layout) {
  Device& device = on(number);
  const auto guarded = [&](SegmentTable table) {
    if (device.is_guarded) table.guard = device.guard.data();
    return table;
  };
  for (const LayoutOnDevice& known : device.layouts) {
    if (known.is_table_of(layout)) return guarded(known.table());
  }
  const OnDevice on_device(device.gpu);
  return guarded(device.layouts.emplace_back(layout, device.updates).table());
}

// ---- simple operations ----

void CudaVectorOps::zero(std::int64_t n, float* x) {
  const int device = device_of(x);
  const OnDevice on_device(gpu(device));
  LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(x, 0, bytes_of(n), stream_of(device)));
}

void CudaVectorOps::copy(std::int64_t n, const float* x, float* y) {
  Operation operation(*this, device_of(y), n);
  operation.copy(x, y);
  operation.finish();
}

void CudaVectorOps::scale(std::int64_t n, double a, float* x) {
  Operation operation(*this, device_of(x), n);
  launch_scale(operation.stream(), n, as_float(a), x);
  operation.finish();
}

void CudaVectorOps::axpy(std::int64_t n, double a, const float* x, float* y) {
  Operation operation(*this, device_of(y), n);
  launch_axpy(operation.stream(), n, as_float(a), operation.read(x), y);
  operation.finish();
}

double CudaVectorOps::dot(std::int64_t n, const float* x, const float* y) {
  const int number = device_of(x);
  Device& device = on(number);
  Operation operation(*this, number, n);
  launch_dot(operation.stream(), n, x, operation.read(y),
             {device.dot_partials.data(), device.dot_result.data(), device.dot_arrived.data()});
  operation.finish();
  double result = 0;
  LOCKSTEP_CUDA_CHECK(
      cudaMemcpyAsync(&result, device.dot_result.data(), sizeof result, cudaMemcpyDeviceToHost, operation.stream()));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(operation.stream()));
  return result;
}

std::vector<double> CudaVectorOps::norms(const sync::Layout& layout, const float* x) {
  const int device = device_of(x);
  const SegmentTable table = table_of(device, layout);
  const Operation operation(*this, device, layout.count);
  launch_squares(operation.stream(), table, x, nullptr);
  std::vector<double> squares(2 * layout.segments.size());
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(squares.data(), table.squares, squares.size() * sizeof(double),
                                      cudaMemcpyDeviceToHost, operation.stream()));
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(operation.stream()));
  std::vector<double> norms;
  for (std::size_t s = 0; s < layout.segments.size(); ++s) norms.push_back(std::sqrt(squares[2 * s]));
  return norms;
}

// ---- averages and sums ----

/// y <- scale * ((y +) inputs), in batches of two if there are several devices: each has two staging arrays.
void CudaVectorOps::accumulate(std::int64_t n, const float* const* inputs, std::size_t count, bool is_further,
                               float scale, float* y) {
  const std::size_t most = devices() == 1 ? kMostInputs : 2;
  Operation operation(*this, device_of(y), n);
  for (std::size_t begin = 0; begin < count; begin += most) {
    Inputs batch = {};
    const std::size_t end = std::min(count, begin + most);
    for (std::size_t j = begin; j < end; ++j) batch.of[batch.count++] = operation.read(inputs[j]);
    launch_accumulate(operation.stream(), n, batch, is_further || begin > 0, end == count ? scale : 1.0F, y);
    operation.reuse_staging();
  }
  operation.finish();
}

void CudaVectorOps::average(std::int64_t n, const std::vector<const float*>& inputs, float* y) {
  sync::require(!inputs.empty(), "vector: average of no buffers");
  accumulate(n, inputs.data(), inputs.size(), false, as_float(1.0 / static_cast<double>(inputs.size())), y);
}

void CudaVectorOps::sum_all(std::int64_t n, const std::vector<float*>& buffers) {
  sync::require(!buffers.empty(), "vector: sum of no buffers");
  const std::vector<std::vector<float*>> on_devices = by_device(buffers);
  if (is_for_nccl(on_devices)) return sum_everywhere(n, on_devices);
  if (buffers.size() == 1) return;
  const std::vector<const float*> others(buffers.begin() + 1, buffers.end());
  accumulate(n, others.data(), others.size(), true, 1.0F, buffers.front());
  for (std::size_t j = 1; j < buffers.size(); ++j) copy(n, buffers.front(), buffers[j]);
}

Communicator& CudaVectorOps::communicator() {
  if (!communicator_) {
    std::vector<int> gpus;
    for (const auto& device : devices_) gpus.push_back(device->gpu);
    communicator_ = std::make_unique<Communicator>(gpus, *processes_);
  }
  return *communicator_;
}

void CudaVectorOps::exchange(device::Collective collective, device::Precision element, std::int64_t n,
                             const std::vector<const void*>& send, const std::vector<void*>& receive) {
  if (!are_distinct_) throw std::runtime_error("NCCL: every device must be a GPU of its own");
  sync::require(
      n % (devices() * processes()) == 0 && send.size() == devices_.size() && receive.size() == devices_.size(),
      "exchange: a buffer per device, of a multiple of all devices' number");
  communicator().exchange(collective, element, n, send, receive, streams_of_all());
}

std::function<void()> CudaVectorOps::recorded(int device, std::function<void()> work) {
  auto graph = std::make_shared<PassGraph>();
  return [this, device, graph, work = std::move(work)] {
    const OnDevice on_device(gpu(device));
    graph->run(stream_of(device), work);
    if (!graph->refusal().empty()) throw std::runtime_error("CUDA graph: " + graph->refusal());
  };
}

std::vector<cudaStream_t> CudaVectorOps::streams_of_all() {
  std::vector<cudaStream_t> streams;
  for (int d = 0; d < devices(); ++d) streams.push_back(stream_of(d));
  return streams;
}

/// Sums on each device, then over devices, then copies the sum to all buffers.
void CudaVectorOps::sum_everywhere(std::int64_t n, const std::vector<std::vector<float*>>& by_device) {
  std::vector<float*> sums;
  for (const std::vector<float*>& on_one : by_device) {
    const std::vector<const float*> others(on_one.begin() + 1, on_one.end());
    sums.push_back(on_one.front());
    if (!others.empty()) accumulate(n, others.data(), others.size(), true, 1.0F, sums.back());
  }
  communicator().all_reduce(n, device::Precision::fp32, {sums.begin(), sums.end()}, streams_of_all());
  copy_firsts(n, by_device);
}

void CudaVectorOps::copy_firsts(std::int64_t n, const std::vector<std::vector<float*>>& by_device) {
  for (const std::vector<float*>& on_one : by_device) {
    for (std::size_t j = 1; j < on_one.size(); ++j) copy(n, on_one.front(), on_one[j]);
  }
}

// ---- updates ----

void CudaVectorOps::sgd_update(const sync::Layout& layout, double learning_rate, double weight_decay, const float* g,
                               float* w) {
  const int device = device_of(w);
  const SegmentTable table = table_of(device, layout);
  Operation operation(*this, device, layout.count);
  launch_sgd_update(operation.stream(), table, {learning_rate, 0, weight_decay}, operation.read(g), w);
  operation.finish();
}

void CudaVectorOps::momentum_update(const sync::Layout& layout, const sync::StepSize& step, const float* g, float* v,
                                    float* w) {
  const int device = device_of(w);
  const SegmentTable table = table_of(device, layout);
  Operation operation(*this, device, layout.count);
  launch_momentum_update(operation.stream(), table, scalars(step), operation.read(g), operation.write(v), w);
  operation.finish();
}

void CudaVectorOps::nesterov_update(const sync::Layout& layout, const sync::StepSize& step, const float* g, float* v,
                                    float* w) {
  const int device = device_of(w);
  const SegmentTable table = table_of(device, layout);
  Operation operation(*this, device, layout.count);
  launch_nesterov_update(operation.stream(), table, scalars(step), operation.read(g), operation.write(v), w);
  operation.finish();
}

void CudaVectorOps::adam_update(const sync::Layout& layout, const sync::AdamStep& step, const float* g, float* m,
                                float* v, float* w) {
  const int device = device_of(w);
  const SegmentTable table = table_of(device, layout);
  Operation operation(*this, device, layout.count);
  launch_adam_update(operation.stream(), table, sync::AdamScalars(step), operation.read(g), operation.write(m),
                     operation.write(v), w);
  operation.finish();
}

void CudaVectorOps::lars_update(const sync::Layout& layout, const sync::StepSize& step, const sync::LarsOptions& lars,
                                const float* g, float* v, float* w) {
  const int device = device_of(w);
  const SegmentTable table = table_of(device, layout);
  Operation operation(*this, device, layout.count);
  const float* gradient = operation.read(g);
  launch_squares(operation.stream(), table, w, gradient);
  launch_lars_update(operation.stream(), table, scalars(step), {lars.coefficient, lars.epsilon}, gradient,
                     operation.write(v), w);
  operation.finish();
}

void CudaVectorOps::corrected_update(const sync::Layout& layout, double learning_rate, double weight_decay,
                                     double alpha, const float* g, const float* z, float* w, float* sum) {
  const int device = device_of(w);
  const SegmentTable table = table_of(device, layout);
  Operation operation(*this, device, layout.count);
  launch_corrected_update(operation.stream(), table, {learning_rate, 0, weight_decay}, as_float(alpha),
                          operation.read(g), operation.read(z), w, operation.write(sum));
  operation.finish();
}

void CudaVectorOps::elastic_pull(std::int64_t n, double alpha, const float* z, float* w, float* sum) {
  Operation operation(*this, device_of(w), n);
  launch_elastic_pull(operation.stream(), n, as_float(alpha), operation.read(z), w, operation.write(sum));
  operation.finish();
}

void CudaVectorOps::average_model_update(std::int64_t n, double momentum, const float* sum, float* z, float* previous) {
  Operation operation(*this, device_of(z), n);
  launch_average_model_update(operation.stream(), n, as_float(momentum), operation.read(sum), z,
                              operation.write(previous));
  operation.finish();
}

}  // namespace lockstep::cuda
