// GPU features that calibrate needs besides training: pinned memory, concurrent copies, work recorded in a graph, and
// sums that run in parallel with other work.
#include "engine/cuda/side_streams.hpp"

#include <numeric>
#include <thread>

#include "engine/cuda/cuda_backend.hpp"
#include "engine/cuda/side_kernels.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda/gpu.hpp"
#ifdef LOCKSTEP_EMULATED_GPU
#include "tests/cuda_emulated/absent.hpp"
#endif

namespace lockstep::cuda {
namespace {

constexpr std::int64_t kManyElements = 1000003;

Floats counted(float from) {
  Floats values(static_cast<std::size_t>(kManyElements));
  std::iota(values.begin(), values.end(), from);
  return values;
}

}  // namespace

TEST_CASE("Pinned memory comes as zeros, and copies go both ways between it and a GPU at once") {
  LOCKSTEP_NEEDS_GPUS(1);
  const auto backend = make_cuda_backend(1);
  const std::shared_ptr<float> out = backend->allocate_pinned(kManyElements),
                               in = backend->allocate_pinned(kManyElements);
  CHECK(std::all_of(out.get(), out.get() + kManyElements, [](float x) { return x == 0; }));
  const Floats up = counted(1), down = counted(5);
  std::copy(up.begin(), up.end(), out.get());
  sync::DeviceVector source(backend->ops(), kManyElements), sink(backend->ops(), kManyElements);
  backend->ops().upload(kManyElements, down.data(), source.data());
  backend->synchronise();
  backend->copy_at_once({{out.get(), device::kHost, sink.data(), 0, kManyElements},
                         {source.data(), 0, in.get(), device::kHost, kManyElements}});
  backend->synchronise();
  CHECK(difference(sink.to_host(), up, 0) == "");
  CHECK(difference(Floats(in.get(), in.get() + kManyElements), down, 0) == "");
  CHECK_THROWS_AS(backend->copy_at_once({{out.get(), device::kHost, sink.data(), 1, kManyElements}}),
                  std::invalid_argument);
}

TEST_CASE("Two GPUs copy to each other at once") {
  LOCKSTEP_NEEDS_GPUS(2);
  const auto backend = make_cuda_backend(2);
  sync::DeviceVector a(backend->ops(), kManyElements, 0), b(backend->ops(), kManyElements, 1);
  sync::DeviceVector into_a(backend->ops(), kManyElements, 0), into_b(backend->ops(), kManyElements, 1);
  const Floats first = counted(1), second = counted(9);
  backend->ops().upload(kManyElements, first.data(), a.data());
  backend->ops().upload(kManyElements, second.data(), b.data());
  backend->synchronise();
  backend->copy_at_once(
      {{a.data(), 0, into_b.data(), 1, kManyElements}, {b.data(), 1, into_a.data(), 0, kManyElements}});
  backend->synchronise();
  CHECK(difference(into_b.to_host(), first, 0) == "");
  CHECK(difference(into_a.to_host(), second, 0) == "");
}

// 2^3: the first call runs eagerly, the second makes the graph, and the third replays it.
TEST_CASE("Recorded work does again what it did at first") {
  LOCKSTEP_NEEDS_GPUS(1);
  const auto backend = make_cuda_backend(1);
  sync::DeviceVector x(backend->ops(), 1);
  const float one = 1;
  backend->ops().upload(1, &one, x.data());
  int handed_in = 0;
  const std::function<void()> twice = backend->recorded(0, [&] {
    ++handed_in;
    backend->ops().scale(1, 2, x.data());
  });
  for (int i = 0; i < 3; ++i) twice();
  CHECK(x.to_host() == Floats{8});
  CHECK(handed_in == 2);  // the third call replayed what the second recorded
}

TEST_CASE("Sums go on beside other work of two GPUs and leave it as it is") {
  LOCKSTEP_NEEDS_GPUS(2);
  const auto backend = make_cuda_backend(2);
  const auto sums = backend->repeat_sums(kManyElements);
  REQUIRE(sums);
  sync::DeviceVector x(backend->ops(), kManyElements, 0), y(backend->ops(), kManyElements, 1);
  const Floats values = counted(1);
  backend->ops().upload(kManyElements, values.data(), x.data());
  backend->ops().copy(kManyElements, x.data(), y.data());  // once before, so that kernels are loaded
  backend->ops().scale(kManyElements, 1, y.data());
  backend->synchronise();
  for (int round = 0; round < 3; ++round) {
    sums->start();
    for (int i = 0; i < 20; ++i) {
      backend->ops().copy(kManyElements, x.data(), y.data());
      backend->ops().scale(kManyElements, 1, y.data());
    }
    float last = 0;
    backend->ops().download(1, y.data() + kManyElements - 1, &last);
    CHECK(last == values.back());
    CHECK(sums->rounds() >= 1);
    sums->stop();
  }
  CHECK(difference(y.to_host(), values, 0) == "");
}

// The other process votes to continue (its vote is zero), or votes like this one.
TEST_CASE("Sums over processes go on until all have had enough, and stop after the same one") {
  LOCKSTEP_NEEDS_AN_EMULATED_GPU();
#ifdef LOCKSTEP_EMULATED_GPU
  struct Two final : sync::Processes {
    int count() const override { return 2; }
  };
  Two processes;
  const auto sums = make_repeated_sums({0, 1}, 1000, processes);
  for (int time = 0; time < 3; ++time) {
    emulated::absent = emulated::Absent::have_zeros;
    sums->start();
    std::thread stops([&] { sums->stop(); });
    const std::int64_t before = sums->rounds();
    while (sums->rounds() < before + 6 * kSumsUnderWay) std::this_thread::yield();
    emulated::absent = emulated::Absent::have_the_same;
    stops.join();
    CHECK(sums->rounds() % kSumsUnderWay == 0);  // every fourth sum is a vote
  }
  emulated::absent = emulated::Absent::none;
#endif
}

TEST_CASE("One GPU emulates sums beside its other work") {
  LOCKSTEP_NEEDS_GPUS(1);
  const auto backend = make_cuda_backend(1);
  const auto sums = backend->repeat_sums(kManyElements);
  REQUIRE(sums);
  sync::DeviceVector x(backend->ops(), kManyElements);
  const Floats values = counted(1);
  backend->ops().upload(kManyElements, values.data(), x.data());
  backend->ops().scale(kManyElements, 1, x.data());
  backend->synchronise();
  for (int round = 0; round < 3; ++round) {
    sums->start();
    for (int i = 0; i < 20; ++i) backend->ops().scale(kManyElements, 1, x.data());
    float last = 0;
    backend->ops().download(1, x.data() + kManyElements - 1, &last);
    CHECK(last == values.back());
    sums->stop();
  }
  CHECK(difference(x.to_host(), values, 0) == "");
}

// 5 elements: one group of four and a rest; 70007: more than all threads take at once.
TEST_CASE("The emulated sum adds every element once") {
  LOCKSTEP_NEEDS_GPUS(1);
  const auto backend = make_cuda_backend(1);
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{5}, std::int64_t{70007}}) {
    sync::DeviceVector x(backend->ops(), n), y(backend->ops(), n);
    const Floats ones(static_cast<std::size_t>(n), 1), twos(static_cast<std::size_t>(n), 2);
    backend->ops().upload(n, ones.data(), x.data());
    backend->ops().upload(n, twos.data(), y.data());
    const Stream stream;
    launch_side_sum(stream, n, x.data(), y.data());
    stream.synchronise();
    CHECK(difference(y.to_host(), Floats(static_cast<std::size_t>(n), 3), 0) == "");
  }
}

TEST_CASE("A GPU says by which name NVML knows it, and its clock is not above its highest") {
  LOCKSTEP_NEEDS_GPUS(1);
  const auto backend = make_cuda_backend(1);
  REQUIRE(backend->device_ids().size() == 1);
  CHECK(backend->device_ids()[0].substr(0, 4) == "GPU-");
  CHECK(backend->clock_ratio() > 0);
  CHECK(backend->clock_ratio() <= 1);
}

}  // namespace lockstep::cuda
