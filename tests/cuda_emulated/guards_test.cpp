// Actions that the CUDA backend must avoid, and problems that it must detect. Each test sets how the devices' contexts,
// queues, driver and libraries respond.
#include <cmath>
#include <thread>

#include "calib/probe/probes.hpp"
#include "engine/cuda/communicator.hpp"
#include "engine/cuda/cuda_backend.hpp"
#include "engine/cuda/self_check.hpp"
#include "tests/cuda/both.hpp"
#include "tests/cuda/networks.hpp"
#include "tests/cuda_emulated/absent.hpp"
#include "tests/cuda_emulated/knobs.hpp"

namespace lockstep::cuda {
namespace {

using device::Precision;
using emulated::With;

/// The second of two processes on a machine.
class SecondProcess final : public sync::Processes {
 public:
  int local_rank() const override { return 1; }
  int local_count() const override { return 2; }
};

/// The first of two processes. The other one always agrees with it.
class FirstOfTwo final : public sync::Processes {
 public:
  int count() const override { return 2; }
};

Graph small_network() {
  GraphBuilder net("small", "small", {4, 6, 6});
  int at = net.relu("relu", net.conv("conv", 0, 4, window(3, 1, 1), true));
  at = net.relu("relu2", net.conv("conv2", at, 4, window(3, 1, 1), true));
  return with_loss(net, at);
}

/// Checks that training works on a thread that has not used CUDA yet.
void train_alone(sync::Processes& processes) {
  const auto backend = make_cuda_backend(1, &processes);
  device::ReplicaOptions options;
  options.batch = 2;
  const Graph graph = small_network();
  const auto replica = backend->make_replica(graph, options);
  const sync::DeviceVector parameters(backend->ops(), graph.parameter_count());
  const Floats images(static_cast<std::size_t>(2 * graph.input.elements()), 1.0F);
  const std::vector<std::int32_t> labels{0, 1};
  for (std::uint64_t step = 0; step < 3; ++step)
    replica->gradient(parameters.data(), {images.data(), labels.data()}, step);
  replica->loss();
  backend->allocate_pinned(10);
  backend->free_bytes(0);
  backend->synchronise();
}

}  // namespace

// Each context takes several hundred MiB, and in exclusive mode the second one fails.
TEST_CASE("A process opens contexts on the GPUs that are its own, and on no other") {
  std::thread([] {
    SecondProcess second;
    emulated::forget_contexts();
    train_alone(second);
  }).join();
  CHECK(emulated::has_context(1));
  CHECK_FALSE(emulated::has_context(0));
}

TEST_CASE("A GPU's memory is what the device says, its bandwidth two transfers a clock over the bus") {
  const device::MemoryFacts memory = make_cuda_backend(2)->memory();
  CHECK(memory.bytes == std::int64_t{4} << 30);
  CHECK(memory.bandwidth_bytes_per_s == Approx(3.35232e12));  // an H100's data sheet: 3.35 TB/s
}

// A ring of n GPUs has 2 (n - 1) copies in sequence, and none of them waits for events of other GPUs.
TEST_CASE("A copy from one GPU to another is timed without waits between the two") {
  const auto backend = make_cuda_backend(2);
  const std::vector<calib::Probe> probes = calib::copy_probes(*backend, 1 << 12, {});
  int timed = 0;
  for (const calib::Probe& probe : probes) {
    if (probe.key["from"] != "gpu0" || probe.key["to"] != "gpu1" || probe.key["bytes"] != 1 << 12) continue;
    const calib::Prepared prepared = probe.prepare();
    prepared.timed.run();
    const std::uint64_t before = emulated::waits_between_devices;
    prepared.timed.run();
    const std::uint64_t waits = emulated::waits_between_devices - before;
    INFO(probe.id());
    CHECK(waits <= 8);  // one for each time that the second GPU is held with the first, for up to 256 copies
    ++timed;
  }
  CHECK(timed == 2);  // one direction, and both
}

// There are at least 5 iterations between two waits for the device. In train, the start of an iteration is hidden.
TEST_CASE("Iterations are timed in windows that wait for the GPU at their ends only") {
  const auto backend = make_cuda_backend(1);
  const calib::Probe probe = calib::iteration_probe(*backend, small_network(), "tf32", 1, 2);
  const calib::Prepared prepared = probe.prepare();
  for (int i = 0; i < 2; ++i) prepared.timed.run();
  const std::uint64_t waits = emulated::device_synchronisations, launches = emulated::graph_launches;
  prepared.timed.run();
  const std::uint64_t windows = (emulated::device_synchronisations - waits) / 2;
  REQUIRE(windows >= 1);
  CHECK(emulated::graph_launches - launches >= 5 * windows);
}

TEST_CASE("GPUs that have as many peers as they can copy through the host") {
  const With<int> no_peers(emulated::most_peers, 0);
  CudaVectorOps ops({0, 1});
  const Floats values = random_floats(1003, 1);
  sync::DeviceVector x(ops, 1003, 0), y(ops, 1003, 1);
  ops.upload(1003, values.data(), x.data());
  ops.copy(1003, x.data(), y.data());
  CHECK(y.to_host() == values);
}

TEST_CASE("A driver that is too old is told with both versions") {
  const With<int> old(emulated::driver_version, 11020);
  std::string why;
  CHECK(visible_gpus(why) == 0);
  CHECK_THAT(why, Contains("CUDA 11.2") && Contains("CUDA " + std::to_string(CUDART_VERSION / 1000)));
}

// ---- times ----

TEST_CASE("The layers of a pass that is longer than a queue are timed without a wait for room in it") {
  const Pair pair(small_network(), 3, Precision::fp32);
  const Floats expected = pair.gradient(*pair.replica, 1);
  const With<std::size_t> short_queue(emulated::queue_entries, 12);
  const auto times_of = [&] { return pair.replica->time_layers(pair.device_parameters.data(), pair.host_batch(), 1); };
  times_of();  // the first time the pass also runs eagerly, so that its kernels are loaded
  const std::uint64_t before = emulated::waits_for_room;
  for (int i = 0; i < 3; ++i) {
    const std::vector<device::LayerTime> times = times_of();
    CHECK(times.size() >= 8);
    for (const device::LayerTime& part : times) CHECK(part.seconds >= 0);
  }
  CHECK(emulated::waits_for_room == before);
  CHECK(pair.gradient(*pair.replica, 1) == expected);
}

TEST_CASE("Layers are not timed where the pass can neither be captured nor held back whole") {
  const Pair pair(small_network(), 3, Precision::fp32);
  const With<bool> no_graphs(emulated::refuses_graphs, true);
  CHECK(!pair.replica->time_layers(pair.device_parameters.data(), pair.host_batch(), 1).empty());
  const With<std::size_t> short_queue(emulated::queue_entries, 12);
  CHECK_THROWS_WITH(pair.replica->time_layers(pair.device_parameters.data(), pair.host_batch(), 1),
                    Contains("layers are not timed") && Contains("cannot be captured"));
}

TEST_CASE("Work that is more than a queue holds has no time, and is timed in smaller parts") {
  const auto backend = make_cuda_backend(1);
  sync::DeviceVector x(backend->ops(), 100);
  const auto work = [&] { backend->ops().scale(100, 1, x.data()); };
  work();
  backend->synchronise();
  CHECK(backend->device_seconds(work, 20));
  const With<std::size_t> short_queue(emulated::queue_entries, 12);
  CHECK_FALSE(backend->device_seconds(work, 20));
  const calib::Prepared prepared = calib::device_timed_work(*backend, work);
  CHECK(prepared.timed.run() > 0);
}

TEST_CASE("Whether switches add is asked of the driver") {
  const With<bool> adding(emulated::can_multicast, true);
  const With<emulated::Absent> others(emulated::absent, emulated::Absent::have_zeros);
  FirstOfTwo processes;
  CHECK(Communicator({0, 1}, processes).has_adding_switches());
  emulated::can_multicast = false;
  CHECK_FALSE(Communicator({0, 1}, processes).has_adding_switches());
}

// ---- the self-check ----

namespace {

/// A 1x1 data gradient that is added to existing values, as the emulated engines do themselves.
struct Merge {
  Merge() {
    for (const DeviceBuffer<float>* buffer : {&x, &y, &weight})
      LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(buffer->data(), 0, static_cast<std::size_t>(buffer->bytes()), stream));
  }
  OnDevice on_device{0};
  Stream stream;
  CudnnHandle handle{stream};
  ConvolutionSolvers solvers{handle, stream, 0};
  ConvolutionShape shape{3, 5, 5, 12, 5, 5, 6, window(1, 1, 0)};  // a shape that no other test uses
  DeviceBuffer<float> x{3 * 25 * 12}, y{3 * 25 * 6}, weight{12 * 6};
  ConvolutionMemory memory{x.data(), y.data(), weight.data()};
};

}  // namespace

TEST_CASE("An engine that computes something else than it is asked for is not used, and is named") {
  Merge merge;
  const With<bool> broken(emulated::ignores_beta, true);
  const ConvolutionProblem problem{Direction::data_gradient, merge.shape, Precision::fp32, true};
  const auto solver = merge.solvers.solver(problem, merge.memory);
  CHECK(solver->choice.route == Route::engine_then_add);
  CHECK(merge.solvers.fallbacks().size() <= 2);  // those of the two faster ones
  for (const std::string& line : merge.solvers.fallbacks())
    CHECK_THAT(line, Contains("computes something else") && Contains("added to what is there"));
  CHECK_THAT(merge.solvers.self_check_text(), Contains("1 engines agree"));
  const DeviceBuffer<char> workspace(solver->workspace_bytes), scratch(solver->scratch_bytes);
  fill_for_check(problem, merge.memory, merge.stream);
  merge.solvers.run(*solver, merge.memory, workspace.data(), scratch.data());
  CHECK(disagreement(Precision::fp32, checked_results(problem, merge.memory, merge.stream)) == "");
}

TEST_CASE("What was checked finds its memory as it was, zeros") {
  Merge merge;
  merge.shape.images = 2;
  merge.solvers.solver({Direction::data_gradient, merge.shape, Precision::fp32, true}, merge.memory);
  for (const DeviceBuffer<float>* buffer : {&merge.x, &merge.y, &merge.weight}) {
    Floats values(static_cast<std::size_t>(buffer->size()), 1.0F);
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(values.data(), buffer->data(), static_cast<std::size_t>(buffer->bytes()),
                                        cudaMemcpyDeviceToHost, merge.stream));
    merge.stream.synchronise();
    CHECK(values == Floats(values.size(), 0.0F));
  }
}

TEST_CASE("The self-check tells rounding from another result in every precision and direction") {
  Merge merge;
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
    for (const Direction direction : {Direction::forward, Direction::data_gradient, Direction::filter_gradient}) {
      const ConvolutionProblem problem{direction, merge.shape, precision, direction == Direction::data_gradient};
      INFO(describe(problem));
      fill_for_check(problem, merge.memory, merge.stream);
      const Element element = element_of(precision);
      if (direction == Direction::forward)
        direct_forward(element, problem.shape, merge.memory.x, merge.memory.weight, merge.memory.y, merge.stream);
      else if (direction == Direction::data_gradient)
        direct_data_gradient(element, problem.shape, merge.memory.y, merge.memory.weight, merge.memory.x, true,
                             merge.stream);
      else
        direct_filter_gradient(element, problem.shape, merge.memory.x, merge.memory.y, merge.memory.weight,
                               merge.stream);
      std::vector<CheckedResult> results = checked_results(problem, merge.memory, merge.stream);
      CHECK(disagreement(precision, results) == "");
      for (CheckedResult& result : results) result.found *= 1 + 0.02F;  // small errors in all values
      CHECK_THAT(disagreement(precision, results), Contains("in the norm"));
      results = checked_results(problem, merge.memory, merge.stream);
      results[100].found += 1000;  // a large error in one value
      CHECK_THAT(disagreement(precision, results), Contains("result 100 of 256"));
      results[100].found = std::nanf("");
      CHECK_THAT(disagreement(precision, results), Contains("result 100 of 256"));
    }
  }
}

TEST_CASE("A first replay that differs from the pass it captured is not used, and is named") {
  const Pair pair(small_network(), 4, Precision::fp32);
  const auto expected = pair.make(Precision::fp32);
  expected->disable_graphs();
  const With<bool> broken(emulated::loses_graphs_end, true);
  for (std::uint64_t step = 0; step < 4; ++step) {
    CHECK(pair.gradient(*pair.replica, step) == pair.gradient(*expected, step));
    CHECK_FALSE(pair.replica->replayed());
  }
  REQUIRE(pair.replica->fallbacks().size() == 1);
  CHECK_THAT(pair.replica->fallbacks()[0], Contains("without a CUDA graph: its first replay differs"));
}

TEST_CASE("An engine that only has to run is named as slow") {
  Merge merge;
  merge.shape.in_channels = 7;  // engine 1, which is recommended, plans no odd number of channels
  const DeviceBuffer<float> weight(7 * 6);
  merge.memory.weight = weight.data();
  const auto solver = merge.solvers.solver({Direction::forward, merge.shape, Precision::fp32, false}, merge.memory);
  CHECK(solver->choice.is_fallback);
  REQUIRE(merge.solvers.fallbacks().size() == 1);
  CHECK_THAT(merge.solvers.fallbacks()[0], Contains("none of the engines that cuDNN recommends"));
}

}  // namespace lockstep::cuda
