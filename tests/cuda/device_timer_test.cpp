// Times by the devices' events: no work starts before all of it is enqueued, and all of it is timed.
#include "engine/cuda/device_timer.hpp"

#include <chrono>
#include <deque>
#include <numeric>

#include "engine/cuda/cuda_backend.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda/gpu.hpp"

namespace lockstep::cuda {
namespace {

constexpr std::int64_t kElements = 1003;

/// Tells whether a device has finished its work so far. Its later work waits for the mark.
class Watch {
 public:
  Watch(CudaVectorOps& ops, int device) : ops_(ops), on_device_(ops.gpu(device)), gate_(device) {}
  ~Watch() { ops_.forget(gate_); }
  void mark() {
    ops_.open(gate_);
    reached_.record(gate_.stream);
    ops_.close(gate_);
  }
  bool is_reached() const { return cudaEventQuery(reached_) == cudaSuccess; }

 private:
  CudaVectorOps& ops_;
  OnDevice on_device_;
  ReplicaGate gate_;
  Event reached_;
};

void check_held(const std::vector<int>& gpus) {
  CudaVectorOps ops(gpus);
  sync::Processes alone;
  std::deque<sync::DeviceVector> vectors;
  std::deque<Watch> watches;
  for (int d = 0; d < ops.devices(); ++d) {
    vectors.emplace_back(ops, kElements, d);
    // CUDA loads a kernel at its first launch, which may wait for all work of the device. So it must precede the hold.
    ops.scale(kElements, 2, vectors.back().data());
    ops.upload(kElements, Floats(kElements, 1).data(), vectors.back().data());
    watches.emplace_back(ops, d);
  }
  int calls = 0;
  const auto work = [&] {
    for (sync::DeviceVector& vector : vectors) ops.scale(kElements, 2, vector.data());
    for (Watch& watch : watches) {
      if (calls == 0) watch.mark();
      if (calls == 30) CHECK(!watch.is_reached());  // that of the first call, when the last is enqueued
    }
    ++calls;
  };
  const double seconds = device_seconds(ops, alone, work, 30).value();
  CHECK(calls == 31);
  CHECK(seconds > 0);
  for (const Watch& watch : watches) CHECK(watch.is_reached());
  for (const sync::DeviceVector& vector : vectors) CHECK(vector.to_host() == Floats(kElements, 2147483648.0F));
}

}  // namespace

TEST_CASE("A GPU is held back until all work that is timed is handed in") {
  LOCKSTEP_NEEDS_GPUS(1);
  check_held({0});
}

TEST_CASE("Two GPUs are held back together until all work that is timed is handed in") {
  LOCKSTEP_NEEDS_GPUS(2);
  check_held({0, 1});
}

// Without synchronise(), the timed work ends with the copies, which have streams of their own.
TEST_CASE("A time ends when copies beside each other and collectives have ended, and is within the host's") {
  LOCKSTEP_NEEDS_GPUS(2);
  const auto backend = make_cuda_backend(2);
  REQUIRE(backend->has_device_clock());
  const std::shared_ptr<float> out = backend->allocate_pinned(kElements), in = backend->allocate_pinned(kElements);
  Floats values(kElements);
  std::iota(values.begin(), values.end(), 1.0F);
  std::copy(values.begin(), values.end(), out.get());
  sync::DeviceVector there(backend->ops(), kElements, 0), back(backend->ops(), kElements, 1);
  backend->ops().upload(kElements, values.data(), back.data());
  std::vector<sync::DeviceVector> summed;
  for (int d = 0; d < 2; ++d) {
    summed.emplace_back(backend->ops(), kElements, d);
    backend->ops().upload(kElements, Floats(kElements, 1).data(), summed.back().data());
  }
  const std::vector<float*> buffers{summed[0].data(), summed[1].data()};
  backend->synchronise();
  const auto began = std::chrono::steady_clock::now();
  const std::optional<double> copies_s = backend->device_seconds(
      [&] {
        backend->copy_at_once({{out.get(), device::kHost, there.data(), 0, kElements},
                               {back.data(), 1, in.get(), device::kHost, kElements}});
      },
      2);
  CHECK(Floats(in.get(), in.get() + kElements) == values);
  const std::optional<double> sums_s = backend->device_seconds([&] { backend->ops().sum_all(kElements, buffers); }, 3);
  const double host_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  REQUIRE(copies_s);
  REQUIRE(sums_s);
  CHECK(*copies_s > 0);
  CHECK(*sums_s > 0);
  CHECK(*copies_s + *sums_s < host_s);
  CHECK(there.to_host() == values);
  for (const sync::DeviceVector& sum : summed) CHECK(sum.to_host() == Floats(kElements, 16));
}

TEST_CASE("Devices go on where work that is timed throws") {
  LOCKSTEP_NEEDS_GPUS(1);
  const auto backend = make_cuda_backend(1);
  sync::DeviceVector x(backend->ops(), kElements);
  backend->ops().upload(kElements, Floats(kElements, 3).data(), x.data());
  int calls = 0;
  const auto work = [&] {
    backend->ops().scale(kElements, 2, x.data());
    if (++calls == 2) throw std::runtime_error("no more");
  };
  CHECK_THROWS_AS(backend->device_seconds(work, 3), std::runtime_error);
  CHECK(x.to_host() == Floats(kElements, 12));
}

}  // namespace lockstep::cuda
